"""What cards are made of: sources with their licences, tables of figures, lines of code.

Much of it comes out of saved folders, whose content may be anything: what is no figure is left out, never an error.
"""

from __future__ import annotations

import dataclasses
import json
import keyword
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.plugins import late
from isoglot.printable import printable
from isoglot.small_tables import agreed

CARD = "README.md"
#: What lines of code load that stand in the folder itself: the same result has the same card wherever it lies.
HERE = "."
#: Licences as the catalogue names them, and as model hubs do.
_HUB_LICENCES = {
    "Apache-2.0": "apache-2.0",
    "MIT": "mit",
    "CC0": "cc0-1.0",
    "CC BY 3.0": "cc-by-3.0",
    "CC BY 4.0": "cc-by-4.0",
    "CC BY-SA 3.0": "cc-by-sa-3.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
    "CC BY-NC 4.0": "cc-by-nc-4.0",
    "AGPL-3.0": "agpl-3.0",
    "GPL-3.0": "gpl-3.0",
}
#: Longer values of settings are cut.
_LONGEST_VALUE = 200


@dataclasses.dataclass(frozen=True)
class Source:
    """Something that was used to make the model.

    Args:
        what: its part in it, such as "vectors of en".
        name: a file's name, a catalogue entry, a model's name; empty for what was given in memory.
        content: how much it holds.
        fingerprint: a digest of what was read.
        licence: empty if not known.
    """

    what: str
    name: str = ""
    content: str = ""
    fingerprint: str = ""
    licence: str = ""

    @classmethod
    def at(cls, what: str, place: object, content: str = "", fingerprint: object = "") -> Source:
        """Of a path or a name.

        What the catalogue has is called by its entry and has its licence; a model with a card has that of its card. Of
        other paths only the last part is told.

        >>> Source.at("encoder", "encoder/minilm").licence, Source.at("pairs", "/home/me/en-fr.txt").name
        ('model Apache-2.0; package MIT', 'en-fr.txt')
        """
        text, digest = place if isinstance(place, str) else "", fingerprint if isinstance(fingerprint, str) else ""
        entry = late("isoglot.catalogue:entry_at")(text) if text else None
        if entry is not None:
            return cls(what, entry.name, content or entry.description, digest, entry.licence)
        return cls(what, _last_part(text), content, digest, _licence_of_folder(text))


@dataclasses.dataclass(frozen=True)
class Table:
    """Figures under a caption that says on what and how they were measured."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclasses.dataclass(frozen=True)
class Usage:
    """Lines of Python that work as they stand, and a sentence before them."""

    text: str
    code: Sequence[str]


def results_table(records: object, caption: str) -> Table | None:
    """The figures of a task's results, as `Result.record` gives them; None if there are none.

    Records come out of saved folders too, so whatever is no figure is left out.

    >>> one = {"metric": "P@1", "value": 0.5, "n": 40, "coverage": 1.0, "interval": [0.35, 0.65], "protocol": {}}
    >>> results_table([one, {"metric": "P@5"}, None], "On `a.txt`.").rows
    [['P@1', '0.500', '0.350 to 0.650', '', 40, '100.0%']]
    """
    found = [one for one in as_list(records) if isinstance(one, Mapping) and is_number(one.get("value"))]
    if not found:
        return None
    protocols = [dict(as_mapping(one.get("protocol"))) for one in found]
    same = {key: value for key, value in protocols[0].items() if all(one.get(key) == value for one in protocols)}
    how = ", ".join(f"{key} {shown(value)}" for key, value in same.items() if key != "denominator")
    pairs = any("pair" in one for one in found)
    rows = []
    for one, protocol in zip(found, protocols, strict=True):
        share = f"{protocol.get('denominator', '')}{', re-ranked' if 'rerank' in protocol else ''}"
        coverage = f"{one['coverage']:.1%}" if is_number(one.get("coverage")) else ""
        row = [f"{one['value']:.3f}", _interval(one.get("interval")), share, one.get("n", ""), coverage]
        rows.append([*([one.get("pair", "")] if pairs else []), one.get("metric", ""), *row])
    head = ["metric", "value", "95% interval", "denominator", "n", "coverage"]
    whole = f"{caption} Protocol: {how}." if how else caption
    return Table(whole, ["pair", *head] if pairs else head, agreed(rows, 4 if pairs else 3))


def hub_licence(licences: Sequence[str]) -> str:
    """What a model hub is told: a licence that all sources share, "unknown" if one is not known, else "other".

    >>> hub_licence(["MIT", "MIT"]), hub_licence(["MIT", "CC BY 4.0"]), hub_licence(["MIT", ""]), hub_licence([])
    ('mit', 'other', 'unknown', 'unknown')
    """
    if not licences or not all(licences):
        return "unknown"
    found = {_HUB_LICENCES.get(licence) for licence in licences}
    return found.pop() or "other" if len(found) == 1 else "other"


def variable(lang: str) -> str:
    """A name for a variable of Python.

    >>> variable("zh-Hant"), variable("3x"), variable("is")
    ('zh_Hant', 'lang_3x', 'lang_is')
    """
    name = "".join(c if c.isalnum() else "_" for c in lang)
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"lang_{name}"


def loadable(name: str) -> str:
    """A folder's or repository's name as a literal of Python.

    >>> loadable("en-fr")
    '"en-fr"'
    """
    return json.dumps(name, ensure_ascii=not name.isprintable())


def place_note(name: str) -> str:
    """What to say before lines that load `name`."""
    return " Run it in this folder, or give its path in place of the dot." if name == HERE else ""


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one: what comes out of saved folders may be anything."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list | tuple) else ()


def shown(value: object) -> str:
    """A value in one line."""
    text = inline(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def inline(text: str) -> str:
    """Text that cannot end its line, or begin a comment or a tag."""
    return printable(text).replace("<", "&lt;")


def _interval(value: object) -> str:
    ends = as_list(value)
    return f"{ends[0]:.3f} to {ends[1]:.3f}" if len(ends) == 2 and all(map(is_number, ends)) else ""


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _last_part(place: str) -> str:
    # A name of a model hub has one slash as well, and says more than its last part.
    return place if re.fullmatch(r"[\w.-]+/[\w.-]+", place) and not Path(place).exists() else Path(place).name


def _licence_of_folder(place: str) -> str:
    """What the card in a model's folder says of its licence, if there is one."""
    try:
        text = (Path(place) / CARD).read_text("utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
    front = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    named = re.search(r"^license: *[\"']?([\w.-]+)[\"']? *$", front[1], re.MULTILINE) if front else None
    if named is None or named[1] in ("unknown", "other"):
        return ""
    return next((ours for ours, hub in _HUB_LICENCES.items() if hub == named[1]), named[1])
