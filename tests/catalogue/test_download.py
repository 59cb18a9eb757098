from __future__ import annotations

import errno
import hashlib
import http.server
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from isoglot.catalogue.download import Connection
from isoglot.errors import DownloadError, InputError, OfflineError

BODY = bytes(range(256)) * 2000
DIGEST = hashlib.sha256(BODY).hexdigest()


def test_the_file_arrives_with_its_digest_and_progress(server: Any, connection: Connection, tmp_path: Path) -> None:
    calls: list[tuple[str, float, float | None]] = []
    digest = connection.save(
        server.file("/f", BODY),
        tmp_path / "f",
        "vectors/xx",
        size=len(BODY),
        sha256=DIGEST,
        progress=lambda *call: calls.append(call),
    )
    assert digest == DIGEST
    assert (tmp_path / "f").read_bytes() == BODY
    assert calls[-1] == ("downloading vectors/xx", len(BODY), len(BODY))
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)


@pytest.mark.parametrize(
    ("body", "headers", "size", "sha256", "message"),
    [
        (BODY[:-1] + b"x", {}, len(BODY), DIGEST, "checksum"),
        (BODY[:1000], {}, len(BODY), DIGEST, "1,000 bytes instead of 512,000"),
        (BODY + b"x", {}, len(BODY), DIGEST, "longer than"),
        (BODY[:1000], {"Content-Length": str(len(BODY))}, 0, "", "only 1,000 of 512,000 bytes"),
        (b"<!DOCTYPE html><html>sorry</html>", {}, len(BODY), DIGEST, "web page"),
        (b"\xef\xbb\xbf\n<HTML><body>Log in</body>", {}, 0, "", "web page"),
        (b"", {}, 0, "", "empty"),
    ],
)
def test_what_is_not_the_file_is_refused_and_removed(
    server: Any,
    connection: Connection,
    tmp_path: Path,
    body: bytes,
    headers: dict[str, str],
    size: int,
    sha256: str,
    message: str,
) -> None:
    url = server.file("/f", body, **headers)
    with pytest.raises(DownloadError, match=message) as caught:
        connection.save(url, tmp_path / "f", "vectors/xx", size=size, sha256=sha256)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("vectors/xx: ")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_and_a_forbidden_one_are_not_offline(
    server: Any, connection: Connection, tmp_path: Path
) -> None:
    with pytest.raises(DownloadError, match="no such file"):
        connection.save(server.address + "/missing", tmp_path / "f", "x")
    server.answers["/forbidden"] = (403, {}, b"no")
    with pytest.raises(DownloadError, match="403"):
        connection.save(server.address + "/forbidden", tmp_path / "f", "x")
    assert len(server.requests) == 2, "neither is tried again"
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_and_a_broken_connection_are_tried_again(
    server: Any, connection: Connection, tmp_path: Path
) -> None:
    bad = iter([(503, {}, b"busy"), (200, {"Content-Length": str(len(BODY))}, BODY[:500])])
    server.answers["/f"] = lambda handler: next(bad, (200, {}, BODY))
    patient = Connection(timeout=5, attempts=3, pause=0.01)
    assert patient.save(server.address + "/f", tmp_path / "f", "x", sha256=DIGEST) == DIGEST
    assert len(server.requests) == 3


def test_a_server_that_stays_busy_is_an_offline_error(server: Any, connection: Connection, tmp_path: Path) -> None:
    server.answers["/f"] = (503, {}, b"busy")
    with pytest.raises(OfflineError, match="503"):
        connection.save(server.address + "/f", tmp_path / "f", "x")
    assert len(server.requests) == 2


def test_refused_connections_end_in_one_line(connection: Connection, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        OfflineError, match=r"vectors/xx: cannot reach 127\.0\.0\.1 \(it refuses connections\)"
    ) as caught:
        connection.save(f"http://127.0.0.1:{port}/f", tmp_path / "f", "vectors/xx")
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_not_tried_again(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def unknown(*args: object, **options: object) -> object:
        asked.append(args)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(OfflineError, match="offline"):
        connection.save("http://data.example/f", tmp_path / "f", "muse/en-fr")
    assert len(asked) == 1


def test_a_silent_server_does_not_hold_us(server: Any, tmp_path: Path) -> None:
    released = []

    def silent(handler: http.server.BaseHTTPRequestHandler) -> None:
        time.sleep(0.5)
        released.append(True)

    server.answers["/f"] = silent
    hasty = Connection(timeout=0.1, attempts=5, patience=0.05, pause=0.01)
    with pytest.raises(OfflineError, match="no answer in time"):
        hasty.save(server.address + "/f", tmp_path / "f", "x")
    assert len(server.requests) == 1, "after the patience is used up no attempt begins"


def test_a_password_is_sent_to_its_host_only_and_never_shown(
    server: Any, connection: Connection, tmp_path: Path
) -> None:
    server.answers["/f"] = (302, {"Location": "/g"}, b"")
    server.file("/g", BODY)
    url = server.address.replace("//", "//me:s%40cret@") + "/f"
    connection.save(url, tmp_path / "f", "x")
    assert server.requests[0][1]["Authorization"] == "Basic bWU6c0BjcmV0"
    assert "Authorization" not in server.requests[1][1]
    with pytest.raises(DownloadError) as caught:
        connection.save(url + "missing", tmp_path / "f", "x")
    assert "cret" not in str(caught.value)


def test_a_full_disk_is_not_called_offline(
    server: Any, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **options: object) -> object:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(InputError, match=r"No space left.*ISOGLOT_CACHE"):
        connection.save(server.file("/f", BODY), tmp_path / "f", "x")
    assert len(server.requests) == 1


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    broken = Connection(cert=str(tmp_path / "none.pem"))
    with pytest.raises(DownloadError, match=r"none\.pem"):
        broken.save("http://127.0.0.1:9/", tmp_path / "f", "x")
