"""One page for each method of alignment, from its class: row of the table, docstring, settings."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
import sys
from collections.abc import Mapping

from isoglot.aligners import Aligner, methods

from .markdown import code, prose, table

DIFFERS = "Differs from the paper:"
_NEEDS = {"supervised": "yes", "unsupervised": "no", "optional": "can use them"}
_FAMILIES = {
    "closed_form": "Closed form, and baselines",
    "tuned": "Tuned for retrieval",
    "self_learning": "Self-learning",
    "adversarial": "Adversarial",
    "transport": "Optimal transport",
    "flows": "Densities and flows",
}
#: "name: text" or "one, other: text" within "Args:".
_ARGUMENT = re.compile(r"(?P<names>\w+(?:, \w+)*): (?P<text>.*)")


@dataclasses.dataclass(frozen=True)
class Doc:
    """A docstring in parts.

    Args:
        text: what stands before the first section.
        settings: by name, from "Args:".
        differs: the list of differences from the paper; None where the docstring has none.
        example: the doctest.
    """

    text: str
    settings: Mapping[str, str]
    differs: tuple[str, ...] | None
    example: str


def parse(docstring: str) -> Doc:
    """The parts of a method's docstring.

    >>> doc = parse("Turn.\\n\\nDiffers from the paper:\\n    - Quick.\\n\\nArgs:\\n    a, b: both\\n        of it.")
    >>> doc.text, doc.differs, doc.settings
    ('Turn.', ('Quick.',), {'a': 'both of it.', 'b': 'both of it.'})
    """
    body, _, example = inspect.cleandoc(docstring).partition(">>> ")
    text: list[str] = []
    section: dict[str, list[str]] = {}
    lines = text
    for line in body.splitlines():
        if line in ("Args:", DIFFERS):
            lines = section.setdefault(line, [])
        elif line.strip() and not line.startswith(" ") and lines is not text:
            lines = text
            lines.append(line)
        else:
            lines.append(line)
    differs = section.get(DIFFERS)
    return Doc(
        text="\n".join(text).strip(),
        settings=_settings(section.get("Args:", [])),
        differs=None if differs is None else tuple(_items(differs)),
        example=f">>> {example.strip()}" if example else "",
    )


def _settings(lines: list[str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc("\n".join(lines)).splitlines():
        match = None if line.startswith(" ") else _ARGUMENT.fullmatch(line)
        if match:
            names = match["names"].split(", ")
            settings |= dict.fromkeys(names, match["text"])
        elif line.strip():
            settings |= {name: f"{settings[name]} {line.strip()}" for name in names}
    return settings


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in (one.strip() for one in lines if one.strip()):
        if line.startswith("- ") or not items:
            items.append(line.removeprefix("- "))
        else:
            items[-1] += f" {line}"
    return items


def described(cls: type[Aligner]) -> dict[str, str]:
    """What the docstrings of a method and of its bases say of its settings."""
    settings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            settings |= parse(base.__doc__ or "").settings
    return {field.name: settings[field.name] for field in dataclasses.fields(cls) if field.name in settings}


def own_methods() -> dict[str, type[Aligner]]:
    """Our methods by name, without those of other packages that happen to be installed."""
    return {name: cls for name, cls in methods().items() if cls.__module__.startswith("isoglot.")}


def pages() -> dict[str, str]:
    """By path below docs/."""
    return {f"methods/{name}.md": page(cls) for name, cls in own_methods().items()}


def page(cls: type[Aligner]) -> str:
    """The page of one method."""
    row, doc = cls.method, parse(cls.__doc__ or "")
    pairs = "" if row.supervision == "unsupervised" else ", pairs"
    facts = [
        ["Needs pairs", _NEEDS[row.supervision]],
        ["Paper", prose(row.paper) if row.paper != "-" else "none"],
        ["Cost", prose(row.cost)],
        ["Map", "linear" if row.linear else "not linear"],
        ["Different dimensions", "yes" if row.any_dimensions else "no; `match_dimensions` reduces the larger side"],
        ["Resumes after a kill", "yes" if row.iterative else "no need: it takes one step"],
    ]
    if row.requires:
        facts.append(["Needs the extra", ", ".join(f"`isoglot[{extra}]`" for extra in row.requires)])
    parts = [
        f"# {row.name}",
        prose(row.summary[0].upper() + row.summary[1:]) + ".",
        table(facts[0], facts[1:]),
        "## What it does",
        *_paragraphs(inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "")),
        *_paragraphs(doc.text),
        "## Use",
        code(f'import isoglot as ig\n\nalignment = ig.aligner("{row.name}").fit(src, tgt{pairs})', "python"),
        f'On the command line it is `--method {row.name}`; in `ig.align`, `method="{row.name}"`.',
        "## Settings",
        table(["setting", "default", "what it is"], _setting_rows(cls)),
        "## Differs from the paper",
        "\n".join(f"- {prose(item)}" for item in doc.differs or ()),
    ]
    if doc.example:
        parts += ["## Example", code(doc.example, "pycon")]
    parts.append("Figures of all methods on the same words: [results](../results.md).")
    return "\n\n".join(parts) + "\n"


def overview() -> str:
    """All methods in families, with links."""
    parts = []
    for family, title in _FAMILIES.items():
        rows = [
            [f"[`{name}`](methods/{name}.md)", _NEEDS[row.supervision], prose(row.summary), prose(row.paper)]
            for name, row in ((name, cls.method) for name, cls in own_methods().items() if _family(cls) == family)
        ]
        parts += [f"### {title}", table(["method", "needs pairs", "what it does", "paper"], rows)]
    return "\n\n".join(parts)


def _family(cls: type[Aligner]) -> str:
    return cls.__module__.split(".")[2]


def _setting_rows(cls: type[Aligner]) -> list[list[str]]:
    texts = described(cls)
    own = [field for field in dataclasses.fields(cls) if field.name not in Aligner.__dataclass_fields__]
    shared = [field for field in dataclasses.fields(cls) if field.name in Aligner.__dataclass_fields__]
    rows: list[list[str]] = []
    for text, group in itertools.groupby((*own, *shared), key=lambda field: texts.get(field.name, "")):
        fields = list(group)
        names = ", ".join(f"`{one.name}`" for one in fields)
        defaults = ", ".join(f"`{one.default!r}`" for one in fields)
        rows.append([names, defaults, prose(text)])
    return rows


def _paragraphs(text: str) -> list[str]:
    """Paragraphs, and numbered lists as they are; a page of docs/ that is named becomes a link."""
    parts = [prose(part) for part in text.split("\n\n") if part.strip()]
    return [re.sub(r"docs/(\w+\.md)", r"[\1](../\1)", part) for part in parts]
