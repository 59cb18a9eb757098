"""`KEY=VALUE` and `LANG=FILE`: the two ways to write settings and files as text."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigError, InputError
from isoglot.languages import guess_language
from isoglot.suggest import hint

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def split_assignments(texts: Iterable[str]) -> dict[str, str]:
    """Values by key; dashes in keys become underscores, and a repeated key is an error.

    >>> split_assignments(["ridge=0.5", "match-dimensions = yes"])
    {'ridge': '0.5', 'match_dimensions': 'yes'}
    """
    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise ConfigError(f"a setting must be key=value, not {text!r}")
        key = key.replace("-", "_")
        if key in values:
            raise ConfigError(f"{key} is given twice", remedy="give it once")
        values[key] = value
    return values


def split_method(text: str) -> tuple[str, list[str]]:
    """Name and settings of `rcsls,epochs=5`; a comma within a value begins no setting.

    >>> split_method("vecmap,normalise=unit,centre,unit,rounds=3")
    ('vecmap', ['normalise=unit,centre,unit', 'rounds=3'])
    """
    name, *settings = re.split(r",(?=\s*[\w-]+\s*=)", text)
    return name, settings


def split_groups(texts: Iterable[str], groups: Collection[str]) -> dict[str, list[str]]:
    """Settings by what they belong to: `word.null=0.4` to the group "word", those without a point to "".

    >>> split_groups(["ridge=0.5", "word.null=0.4"], ["word"])
    {'': ['ridge=0.5'], 'word': ['null=0.4']}
    """
    settings: dict[str, list[str]] = {"": [], **{group: [] for group in groups}}
    for text in texts:
        group, point, rest = text.partition("=")[0].partition(".")
        if not point:
            settings[""].append(text)
        elif group.strip() in settings and group.strip():
            settings[group.strip()].append(text.partition(".")[2])
        else:
            known = [f"{one}.{rest.strip()}" for one in groups]
            raise ConfigError(
                f"there is no setting {group}.{rest}",
                remedy=hint(f"{group}.{rest}", known, None if known else "leave it out"),
            )
    return settings


def read_assignments(texts: Iterable[str], types: Mapping[str, str], *, owner: str | None = None) -> dict[str, Any]:
    """Settings by name, each converted to its type; if `owner` (for messages) is given, unknown ones are an error.

    >>> read_assignments(["rounds=3"], {"rounds": "int"})
    {'rounds': 3}
    """
    values = split_assignments(texts)
    if owner is not None:
        check_known(values, types, owner)
    return {key: value_of(key, text, types.get(key, "str")) for key, text in values.items()}


def read_literals(texts: Iterable[str], *, as_text: Collection[str] = ()) -> dict[str, Any]:
    """Settings whose types are checked later: what looks like a number or boolean becomes one, except for `as_text`.

    >>> read_literals(["batch=8", "rate=1e-4", "whole-words=yes", "train=1-3", "seed=07"], as_text=["seed"])
    {'batch': 8, 'rate': 0.0001, 'whole_words': True, 'train': '1-3', 'seed': '07'}
    """
    return {key: text if key in as_text else _literal(text) for key, text in split_assignments(texts).items()}


def _literal(text: str) -> Any:
    if text.lower() in ("true", "yes", "false", "no"):
        return _TRUTH[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def split_languages(
    texts: Iterable[str], *, kind: str = "FILE", known: Collection[str] | None = None
) -> dict[str, str]:
    """Files by language, from texts such as `en=FILE`; if `known` is given, other languages are an error.

    >>> split_languages(["en=a.vec", "fr=b.vec"])
    {'en': 'a.vec', 'fr': 'b.vec'}
    """
    files: dict[str, str] = {}
    for text in texts:
        match = re.fullmatch(r"([\w.@-]{1,64})=(.+)", text, re.DOTALL)
        if match is None or (known is not None and match[1] not in known):
            remedy = None if known is None else f"the languages are: {', '.join(known)}"
            raise ConfigError(f"must be LANGUAGE={kind}, not {text!r}", remedy=remedy)
        if match[1] in files:
            raise ConfigError(f"{match[1]} is given twice", remedy="put both texts into one file")
        files[match[1]] = match[2]
    return files


def check_known(names: Iterable[str], known: Iterable[str], owner: str, *, where: str | None = None) -> None:
    """Raise for the first name that is not a setting of `owner`, and suggest the nearest one."""
    known = sorted(known)
    for name in names:
        if name not in known:
            remedy = hint(name, known, f"known settings: {', '.join(known)}")
            raise ConfigError(f"{owner} has no setting {name!r}", where=where, remedy=remedy)


def setting_types(settings: Any) -> dict[str, str]:
    """The type of each field of a dataclass, as written in its definition."""
    return {field.name: str(getattr(field.type, "__name__", field.type)) for field in dataclasses.fields(settings)}


def value_of(key: str, text: str, kind: str) -> Any:
    """Convert a text to this type ("int", "float", "bool", "str"; "int | None" takes "none" too)."""
    if text.lower() in ("none", "null") and "None" in kind:
        return None
    try:
        if "bool" in kind:
            return _TRUTH[text.lower()]
        if "int" in kind:
            return int(text)
        if "float" in kind:
            return float(text)
    except (KeyError, ValueError):
        raise ConfigError(f"{key} takes {kind}, not {text!r}") from None
    return text


def language_and_name(text: str) -> tuple[str, str]:
    """Language and name of `fr=presse.vec`; without a language, or if there is a file of that very name, "" and all.

    >>> language_and_name("fr=vectors/fr"), language_and_name("news.fr.vec")
    (('fr', 'vectors/fr'), ('', 'news.fr.vec'))
    """
    match = re.fullmatch(r"([\w.@-]{1,64})=(.+)", text, re.DOTALL)
    if match is None or Path(text).exists():
        return "", text
    return match[1], match[2]


def places_by_language(text: str) -> dict[str, str]:
    """The places of `en:one,de:two,*:third` by language; empty if the text is one place only.

    A language has two characters or more, as one before a colon is a drive.

    >>> places_by_language("en:one,de:D:\\\\two,more,*:org/third")
    {'en': 'one', 'de': 'D:\\\\two,more', '*': 'org/third'}
    >>> places_by_language("C:\\\\models,two")
    {}
    """
    lang = r"(?:[\w.@-]{2,64}|\*):"
    if not re.match(lang, text) or Path(text).exists():
        return {}
    places: dict[str, str] = {}
    for part in re.split(rf",(?={lang})", text):
        name, _, place = part.partition(":")
        if name in places:
            raise ConfigError(f"{name} is given twice", where=text, remedy="give one place for each language")
        if not place:
            raise ConfigError(f"{name} has no place", where=text, remedy=f"write {name}:PLACE")
        places[name] = place
    return places


def language_file(text: str | Path) -> tuple[str, Path]:
    """Language and file of `fr=presse.txt`, or of a file whose name shows its language, such as `news.fr.txt`."""
    lang, equals, name = str(text).partition("=")
    if not equals or Path(text).exists():
        lang, name = guess_language(text), str(text)
    path = Path(name)
    if not path.exists():
        raise InputError("no such file", where=name, remedy="check the path")
    if not lang:
        raise ConfigError("cannot tell the language from the file name", where=name, remedy=f"add it: en={name}")
    return lang, path
