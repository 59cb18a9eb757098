"""How this copy of Isoglot was installed, so that a message can name the command that adds an extra to it.

Most people have it from a package index, some from a clone, a wheel or a repository; `pip install 'isoglot[flows]'`
would replace the last three by another copy, or fail where no index has the package.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_NAME = "isoglot"


def install_command(extra: str) -> str:
    """The command that installs this extra for the copy of Isoglot that is running."""
    clone = _clone(Path(__file__))
    if clone is not None:
        return _command("pip", "-e", f"{'.' if _here() == clone else clone}[{extra}]")
    try:
        distribution = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:
        return _command("pip", f"{_NAME}[{extra}]")
    tool = "uv pip" if (distribution.read_text("INSTALLER") or "").strip() == "uv" else "pip"
    return _command(tool, _requirement(_origin(distribution), extra))


def _clone(module: Path) -> Path | None:
    """The clone that this module is run from, if it is one."""
    root = module.resolve().parents[2]
    return root if module.resolve().parents[1].name == "src" and (root / "pyproject.toml").is_file() else None


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the working folder was removed
        return None


def _origin(distribution: metadata.Distribution) -> Mapping[str, Any]:
    """What the installer wrote down of where the package came from; nothing if it was an index."""
    try:
        content = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) and isinstance(content.get("url"), str) else {}


def _requirement(origin: Mapping[str, Any], extra: str) -> str:
    """What pip has to be told.

    >>> _requirement({}, "flows")
    'isoglot[flows]'
    >>> _requirement({"url": "https://a.org/isoglot.git", "vcs_info": {"vcs": "git"}}, "flows")
    'isoglot[flows] @ git+https://a.org/isoglot.git'
    >>> _requirement({"url": "file:///home/me/isoglot", "dir_info": {}}, "flows")
    '/home/me/isoglot[flows]'
    """
    if not origin:
        return f"{_NAME}[{extra}]"
    url = str(origin["url"])
    if "dir_info" in origin:
        return f"{unquote(urlsplit(url).path)}[{extra}]"
    vcs = origin.get("vcs_info")
    prefix = f"{vcs['vcs']}+" if isinstance(vcs, dict) and "vcs" in vcs else ""
    return f"{_NAME}[{extra}] @ {prefix}{url}"


def _command(tool: str, *arguments: str) -> str:
    return f"{tool} install {shlex.join(arguments)}"
