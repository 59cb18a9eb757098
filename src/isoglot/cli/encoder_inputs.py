"""What the commands that use an encoder share: how options become encoders, texts and links."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isoglot.cli.given import given, refuse

if TYPE_CHECKING:
    from isoglot.encoders import Encoder
    from isoglot.pipelines import Check
    from isoglot.progress import Progress
    from isoglot.text import ParallelText
    from isoglot.wordalign import WordLinks


def encoder_settings(context: typer.Context) -> dict[str, Any]:
    """Those options of a command that an encoder takes."""
    names = ("layer", "pooling", "prompt", "echo", "device", "dtype", "cache")
    return {name: context.params[name] for name in names if name in context.params}


def check_encoder(name: str) -> None:
    """Raise before other work if what runs this encoder is not installed."""
    from isoglot.encoders import check_encoder as check, is_aligned_folder

    folder = Path(name)
    check(folder / "encoder" if is_aligned_folder(folder) else name)


def open_encoder(name: str, progress: Progress, **settings: Any) -> Encoder:
    """One encoder for both languages, without any maps."""
    from isoglot.encoders import Encoder, is_aligned_folder
    from isoglot.errors import ConfigError

    if is_aligned_folder(Path(name)):
        raise ConfigError("is aligned already", where=name, remedy=f"name the encoder in it: {Path(name) / 'encoder'}")
    return Encoder(name, progress=progress, **settings)


def open_encoders(
    name: str, languages: tuple[str, str], progress: Progress, **settings: Any
) -> tuple[Encoder, Encoder]:
    """An encoder for each language: one and the same, or with the map of each where the folder holds an aligned one."""
    first, second = language_encoders(name, languages, progress, **settings)
    return first, second


def language_encoders(name: str, languages: Sequence[str | None], progress: Progress, **settings: Any) -> list[Encoder]:
    """The same for any number of languages; only those of an aligned encoder have to be told."""
    from isoglot.encoders import Encoder, is_aligned_folder
    from isoglot.errors import ConfigError

    if not is_aligned_folder(Path(name)):
        return [open_encoder(name, progress, **settings)] * len(languages)
    if settings.pop("layer", None) not in (None, "-1") or settings.pop("pooling", None) not in (None, "mean"):
        raise ConfigError("an aligned encoder has its own layer and pooling", where=name, remedy="leave them out")
    opened = {lang: Encoder(name, lang=lang, progress=progress, **settings) for lang in dict.fromkeys(languages)}
    return [opened[lang] for lang in languages]


def refuse_for_aligned(context: typer.Context, encoder: str) -> None:
    """An aligned encoder has its own layer, pooling and prompt: raise if others are asked for."""
    from isoglot.encoders import is_aligned_folder

    if is_aligned_folder(Path(encoder)):
        names = [name for name in ("layer", "pooling", "prompt", "echo") if name in context.params]
        refuse(context, f"with the aligned encoder {encoder}, which has its own", *names)


def refuse_for_links(context: typer.Context, *names: str) -> None:
    """Raise for options of a word alignment beside links that are given, and for --base without them."""
    if given(context, "links"):
        refuse(context, "with --links, which take the place of a word alignment", *names)
    else:
        refuse(context, "without --links", "base")


def split_word_settings(settings: Sequence[str] | None, *, main: bool = False) -> tuple[list[str], dict[str, Any]]:
    """A command's settings and those of its word alignment: `word.null=.4`, or `null=.4` where it is the main thing.

    >>> split_word_settings(["ridge=1", "word.null=.4"]), split_word_settings(["null=.4"], main=True)
    ((['ridge=1'], {'null': 0.4}), ([], {'null': 0.4}))
    """
    from isoglot.assignments import read_literals, split_groups

    groups = split_groups(settings or [], ["word"])
    if main:
        return [], read_literals([*groups[""], *groups["word"]])
    return groups[""], read_literals(groups["word"])


def open_parallel(texts: Sequence[str], progress: Progress, *, limit: int | None = None) -> ParallelText:
    """Two line-parallel files, as FILE or LANG=FILE, or parallel text of the catalogue: `parallel/en-de`."""
    from isoglot import catalogue
    from isoglot.assignments import language_and_name
    from isoglot.errors import ConfigError
    from isoglot.languages import guess_language
    from isoglot.text import ParallelText

    if len(texts) == 1 and texts[0].startswith("parallel/") and not Path(texts[0]).exists():
        text = catalogue.load_parallel(*catalogue.entry(texts[0]).languages, name=texts[0], progress=progress)
    elif len(texts) == 2:
        named = [language_and_name(name) for name in texts]
        languages = [lang or guess_language(name) for lang, name in named]
        text = ParallelText.load(named[0][1], named[1][1], *languages)
        if not all(languages) or languages[0] == languages[1]:
            # Nameless or same-named sides still need two names to be told apart by.
            text = dataclasses.replace(text, src_lang=named[0][0] or "src", tgt_lang=named[1][0] or "tgt")
    else:
        raise ConfigError(f"give two files, not {len(texts)}", remedy="or one catalogue name such as parallel/en-de")
    if limit is not None:
        text = dataclasses.replace(text, src=text.src[:limit], tgt=text.tgt[:limit])
    return text


def open_checks(parallel: Sequence[str] | None, texts: Sequence[str] | None, languages: tuple[str, str]) -> list[Check]:
    """Texts of other kinds, LANG=FILE for each language in either order; every two files are a check."""
    from isoglot.assignments import language_and_name
    from isoglot.errors import ConfigError
    from isoglot.pipelines import Check
    from isoglot.text import ParallelText, read_lines

    found = []
    for option, named in (("--check", list(parallel or [])), ("--check-text", list(texts or []))):
        for start in range(0, len(named), 2):
            files = dict(language_and_name(name) for name in named[start : start + 2])
            if set(files) != set(languages):
                wanted = " ".join(f"{lang}=FILE" for lang in languages)
                given = " ".join(named[start : start + 2])
                raise ConfigError(f"{option} {given} is not a file for each language", remedy=f"give {option} {wanted}")
            src, tgt = (files[lang] for lang in languages)
            if option == "--check":
                text = ParallelText.load(src, tgt, *languages)
                found.append(Check.of(f"{Path(src).name}, {Path(tgt).name}", text.src, text.tgt))
            else:
                first, second = (tuple(read_lines(file)) for file in (src, tgt))
                found.append(Check.of(f"{Path(src).name}, {Path(tgt).name} (apart)", first, second, parallel=False))
    return found


def open_links(path: Path | None, base: int | None) -> list[WordLinks] | None:
    """Links of a file, or None without one. The index base is never guessed."""
    from isoglot.errors import ConfigError
    from isoglot.wordalign import read_links

    if path is None:
        return None
    if base is None:
        raise ConfigError("--links needs --base", remedy="say whether its words count from 0 or from 1")
    return read_links(path, base=base)
