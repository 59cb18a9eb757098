"""A small web server and package index on this machine, so that fetching is tested without any network."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard

from isoglot.catalogue import Artefact, fetching
from isoglot.catalogue.download import Connection
from isoglot.catalogue.pipconfig import PipSettings


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `network` run only when asked for: `pytest -m network`."""
    if "network" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("network")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


class Server:
    """Serves `answers`: a path gives (status, headers, body), or something to call with the request."""

    def __init__(self) -> None:
        self.answers: dict[str, object] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append((self.path, dict(self.headers)))
                answer = server.answers.get(self.path, (404, {}, b"nothing here"))
                if callable(answer):
                    answer = answer(self)
                if answer is None:
                    return
                status, headers, body = answer
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def file(self, path: str, body: bytes, **headers: str) -> str:
        self.answers[path] = (200, headers, body)
        return self.address + path

    def package(self, package: str, filename: str, body: bytes) -> Artefact:
        """Put a file into the index; give the artefact that expects exactly it."""
        self.file(f"/files/{filename}", body)
        page = f'<html><a href="../../files/{filename}#sha256=0">{filename}</a></html>'
        self.file(f"/simple/{package}/", page.encode(), **{"Content-Type": "text/html"})
        return Artefact("package", filename, package, "1.0", len(body), hashlib.sha256(body).hexdigest())

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def connection() -> Connection:
    return Connection(timeout=5, attempts=2, pause=0.01)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, as the only package index that fetching knows."""
    settings = PipSettings((server.address + "/simple",))
    monkeypatch.setattr(fetching, "pip_settings", lambda: settings)
    return server


@pytest.fixture
def make_zip() -> Callable[[dict[str, bytes]], bytes]:
    def make(files: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return buffer.getvalue()

    return make


@pytest.fixture
def make_tar() -> Callable[..., bytes]:
    def make(files: dict[str, bytes], packing: str = "gz") -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=f"w:{packing}") as archive:  # type: ignore[call-overload]
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()

    return make


@pytest.fixture
def json_bytes() -> Callable[[object], bytes]:
    return lambda value: json.dumps(value).encode()


@pytest.fixture
def make_deb() -> Callable[..., bytes]:
    packings: dict[str, Callable[[bytes], bytes]] = {
        ".xz": lzma.compress,
        ".gz": gzip.compress,
        ".zst": zstandard.ZstdCompressor().compress,
        "": bytes,
    }

    def make(tar: bytes, packing: str = ".xz") -> bytes:
        body = b"!<arch>\n"
        data = packings[packing](tar)
        for name, content in (("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), (f"data.tar{packing}", data)):
            head = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
            body += head.encode() + content + b"\n" * (len(content) % 2)
        return body

    return make
