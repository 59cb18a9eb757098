"""The catalogue as a page, so that `docs/data.md` never differs from the table.

To write it anew: `python -m isoglot.catalogue.document docs/data.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from isoglot.catalogue.record import Entry
from isoglot.catalogue.table import entries, families

BEGIN = "<!-- catalogue: written by isoglot.catalogue.document, do not edit by hand -->"
END = "<!-- end of catalogue -->"


def catalogue_markdown() -> str:
    """All entries as one table a kind, then the families."""
    parts = []
    for kind in dict.fromkeys(entry.kind for entry in entries()):
        members = [entry for entry in entries() if entry.kind == kind]
        parts += [f"### {kind}", "", "| name | what | holds | from | MB | licence |", "|---|---|---|---|---|---|"]
        parts += [_row(entry) for entry in members]
        parts.append("")
    parts += ["### Families", "", "| name | what |", "|---|---|"]
    parts += [f"| `{family.pattern}` | {family.about} |" for family in families()]
    return "\n".join(parts) + "\n"


def with_catalogue(page: str) -> str:
    """The page with its part between the marks written anew.

    >>> with_catalogue(f"a\\n{BEGIN}\\nold\\n{END}\\nb\\n").startswith(f"a\\n{BEGIN}\\n\\n### vectors")
    True
    """
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{catalogue_markdown()}\n{END}{after}"


def _row(entry: Entry) -> str:
    asked = f" (opt-in: {entry.accept})" if entry.opt_in else ""
    cells = [
        f"`{entry.name}`{asked}",
        f"[{entry.description}]({entry.homepage})",
        entry.holds,
        entry.source,
        f"{entry.size / 1e6:.1f}",
        entry.licence,
    ]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(with_catalogue(page.read_text(encoding="utf-8")), encoding="utf-8")
