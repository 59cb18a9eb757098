"""Write the site's sources: the pages of docs/, those of the repository's root, and those made from the code.

Generated pages exist in the build folder only: nothing has to be kept up to date by hand, and a changed help text or
docstring needs no second commit. Committed pages mark the place of a generated table with a comment, so that they read
well in the repository too. What comes out is plain Markdown and an mkdocs.yml, so any tool that reads these can build
the site.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

from . import api, commands, methods

ROOT = Path(__file__).resolve().parents[2]
#: Pages of the repository's root that the site has too.
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
#: What takes the place of `<!-- generated: NAME -->`.
GENERATED = {
    "methods": methods.overview,
    "commands": commands.overview,
    "front door": api.front_door_entries,
    "rooms": api.overview,
}
#: Overviews: in the navigation, generated pages stand below them.
OVERVIEWS = ("methods.md", "commands.md", "python.md")
_MARK = re.compile(r"<!-- generated: ([a-z ]+) -->")
_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")


def write_sources(folder: Path) -> Path:
    """Everything the site is built from, in `folder`; returns the path of its mkdocs.yml."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("*.md", "pages", "__pycache__"))
    pages = site_pages(config["repo_url"])
    for path, text in pages.items():
        target = folder / "docs" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    config["nav"] = site_nav(config["nav"], pages)
    config["site_dir"] = str(ROOT / "site")
    for plugin in config["plugins"]:
        if isinstance(plugin, dict) and "mkdocstrings" in plugin:
            python = plugin["mkdocstrings"]["handlers"]["python"]
            python["paths"] = [str(ROOT / "src")]
            python["options"]["extensions"] = [str(ROOT / "docs" / "pages" / "doctests.py")]
    target = folder / "mkdocs.yml"
    target.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), "utf-8")
    return target


def site_pages(repository: str) -> dict[str, str]:
    """All pages by their path in the site."""
    pages = {}
    for source in (ROOT / "docs").glob("*.md"):
        text = _MARK.sub(lambda match: GENERATED[match[1]](), source.read_text("utf-8"))
        pages[source.name] = site_links(text, in_root=False, repository=repository)
    for name, path in ROOT_PAGES.items():
        pages[path] = site_links((ROOT / name).read_text("utf-8"), in_root=True, repository=repository)
    return {**pages, **methods.pages(), **commands.pages(), **api.pages()}


def site_nav(nav: list[dict[str, Any]], pages: dict[str, str]) -> list[dict[str, Any]]:
    """The navigation with generated pages below their overviews.

    >>> site_nav([{"Methods": "methods.md"}], {"methods.md": "", "methods/cca.md": "# cca\\n"})
    [{'Methods': ['methods.md', {'cca': 'methods/cca.md'}]}]
    """
    whole = []
    for entry in nav:
        ((title, target),) = entry.items()
        if target in OVERVIEWS:
            folder = target.removesuffix(".md") + "/"
            below = sorted(path for path in pages if path.startswith(folder))
            target = [target, *({Path(path).stem: path} for path in below)]
        whole.append({title: target})
    return whole


def site_links(text: str, *, in_root: bool, repository: str) -> str:
    """Relative links of the repository as links of the site.

    >>> site_links("[a](../CONTRIBUTING.md#rules)", in_root=False, repository="https://example.org")
    '[a](contributing.md#rules)'
    >>> site_links("[a](docs/guide.md)", in_root=True, repository="https://example.org")
    '[a](guide.md)'
    >>> site_links("[a](../examples)", in_root=False, repository="https://example.org")
    '[a](https://example.org/tree/main/examples)'
    """
    return _LINK.sub(lambda match: _site_link(match[1], in_root=in_root, repository=repository), text)


def _site_link(target: str, *, in_root: bool, repository: str) -> str:
    below = "docs/" if in_root else ""
    if target.startswith(below) and not target.startswith("../"):
        return target.removeprefix(below)
    inside = target.removeprefix("../")
    if inside == "README.md":
        return "index.md"
    if inside in ROOT_PAGES:
        return ROOT_PAGES[inside]
    kind = "blob" if Path(inside).suffix else "tree"
    return f"{repository.rstrip('/')}/{kind}/main/{inside}"
