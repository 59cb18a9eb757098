"""A model hub on this machine, for tests: the few requests that huggingface_hub makes to store and fetch a repository.

Files are committed in the request itself (`regular`): the hub's own ways for large files are not part of this.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

#: What the hub puts into each new repository.
GITATTRIBUTES = b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n"


class StandIn(ThreadingHTTPServer):
    """Repositories by name, each a table of files. Whoever has not the token may only read."""

    token = "a-token"
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: set[str] = set()
        self.requests: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = self._parts()
        if parts[:2] == ["api", "models"]:
            files = self._files("/".join(parts[2:4]))
            if files is not None and parts[4:5] == ["tree"]:
                return self._answer([_entry(path, content) for path, content in files.items()])
            if files is not None:
                siblings = [{"rfilename": path} for path in files]
                return self._answer({"id": "/".join(parts[2:4]), "sha": _commit(files), "siblings": siblings})
        elif parts[2:3] == ["resolve"]:
            files = self._files("/".join(parts[:2]))
            content = None if files is None else files.get("/".join(parts[4:]))
            if files is not None and content is not None:
                return self._send(200, content, {"ETag": f'"{_digest(content)}"', "X-Repo-Commit": _commit(files)})
            return self._missing("Repo" if files is None else "Entry")
        return self._missing()

    def do_POST(self) -> None:
        parts, body = self._parts(), self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != f"Bearer {self.server.token}":
            return self._send(401, b'{"error": "Invalid credentials"}', {"X-Error-Message": "Invalid credentials"})
        if parts == ["api", "repos", "create"]:
            asked = json.loads(body)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            new = name not in self.server.repositories
            self.server.repositories.setdefault(name, {".gitattributes": GITATTRIBUTES})
            if asked.get("visibility") == "private":
                self.server.private.add(name)
            return self._answer({"url": f"{self.server.address}/{name}"}, 200 if new else 409)
        if parts == ["api", "validate-yaml"]:
            return self._answer({"errors": [], "warnings": []})
        files = self._files("/".join(parts[2:4]))
        if files is not None and parts[4] == "preupload":
            asked = json.loads(body)["files"]
            return self._answer({"files": [{**one, "uploadMode": "regular", "shouldIgnore": False} for one in asked]})
        if files is not None and parts[4] == "commit":
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "deletedFile":
                    del files[line["value"]["path"]]
            address = f"{self.server.address}/{'/'.join(parts[2:4])}/commit/{_commit(files)}"
            return self._answer({"success": True, "commitOid": _commit(files), "commitUrl": address})
        return self._missing()

    def _parts(self) -> list[str]:
        self.server.requests.append(f"{self.command} {self.path}")
        return [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]

    def _files(self, name: str) -> dict[str, bytes] | None:
        allowed = name not in self.server.private or "Authorization" in self.headers
        return self.server.repositories.get(name) if allowed else None

    def _answer(self, content: object, status: int = 200) -> None:
        self._send(status, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _missing(self, what: str = "Repo") -> None:
        self._send(404, b"{}", {"X-Error-Code": f"{what}NotFound", "X-Error-Message": f"{what} not found"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _digest(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def _commit(files: dict[str, bytes]) -> str:
    return _digest(repr(sorted(files.items())).encode())


def _entry(path: str, content: bytes) -> dict[str, object]:
    return {"type": "file", "path": path, "size": len(content), "oid": _digest(content)}
