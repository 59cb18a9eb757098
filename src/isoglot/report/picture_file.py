"""Pictures as files: SVG as it is, or in a page of its own where the name ends with .html."""

from __future__ import annotations

from pathlib import Path

from isoglot.errors import ConfigError
from isoglot.files import atomic_path, check_writable
from isoglot.report.labels import safe

#: What a picture's name may end with.
ENDINGS = (".svg", ".html")

_PAGE = """<!doctype html>
<html>
<head>
<meta charset="utf-8">
<title>{title}</title>
</head>
<body>
{picture}</body>
</html>
"""


def check_picture(path: Path) -> None:
    """Raise if no picture can be written there, before there is one.

    >>> check_picture(Path("pair.png"))
    Traceback (most recent call last):
    ...
    isoglot.errors.ConfigError: pair.png: pictures are written as .svg or .html; choose such a name
    """
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(
            f"pictures are written as {' or '.join(ENDINGS)}", where=str(path), remedy="choose such a name"
        )
    if path.is_dir():
        raise ConfigError("is a folder, not a file", where=str(path), remedy="name a file within it")
    check_writable(path)


def write_picture(path: Path, picture: str, title: str) -> None:
    """Write the text of an SVG picture; `title` is that of the page, if it goes into one."""
    check_picture(path)
    text = picture if path.suffix.lower() == ".svg" else _PAGE.format(title=safe(title), picture=picture)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
