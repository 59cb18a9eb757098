"""Downloading one file over HTTP(S) or from a local index: bytes counted, retried, checked, or removed.

A download that is not what it should be never stays on disk: web pages in place of a file, short files and
wrong checksums are refused. A source that cannot be reached ends in one `OfflineError`, within seconds.
"""

from __future__ import annotations

import base64
import dataclasses
import errno
import functools
import hashlib
import http.client
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from isoglot.errors import DownloadError, InputError, OfflineError
from isoglot.opening import is_web_page
from isoglot.progress import Progress, silent

_T = TypeVar("_T")
# What urllib opens: an HTTP response or a local file, with the same few methods; typeshed knows no common type.
_Answer = Any

_BLOCK = 1 << 18
_DISK_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
_USER_AGENT = "isoglot (data catalogue)"
#: Largest page of an index that we read into memory.
_PAGE_LIMIT = 64 << 20


@dataclasses.dataclass(kw_only=True)
class Connection:
    """How to reach the outside: proxy, certificates, patience.

    Args:
        cert, proxy: as in pip's configuration; without them the system's certificates and proxy variables.
        timeout: seconds without a sign of life after which one attempt is given up.
        patience: no new attempt begins after so many seconds without success.
        attempts: at most so many.
        pause: seconds before the second attempt; doubles with each.
    """

    cert: str | None = None
    proxy: str | None = None
    timeout: float = 15.0
    patience: float = 20.0
    attempts: int = 4
    pause: float = 0.5

    def page(self, url: str, what: str, *, accept: str = "*/*") -> tuple[str, str, str] | None:
        """(content type, text, final address) of a small page; None if there is no such page."""
        return self._retrying(lambda: self._page(url, accept), url, what)

    def save(
        self,
        url: str,
        path: Path,
        what: str,
        *,
        size: int = 0,
        sha256: str = "",
        progress: Progress = silent,
    ) -> str:
        """Download `url` to `path`; give its sha256. `size` and `sha256`, if given, must be met.

        On any failure nothing stays at `path`.
        """
        try:
            digest = self._retrying(lambda: self._save(url, path, what, size, progress), url, what)
            if digest is None:
                raise DownloadError("the server has no such file", where=what, remedy=without_password(url))
            _check(path, what, size, sha256, digest)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error.__cause__, _ShortError):
                raise DownloadError(str(error.__cause__), where=what, remedy="it was removed") from error
            raise
        return digest

    def _retrying(self, action: Callable[[], _T], url: str, what: str) -> _T:
        started = time.monotonic()
        for attempt in range(1, self.attempts + 1):
            try:
                return action()
            except _Refused as refused:
                raise DownloadError(str(refused), where=what, remedy=without_password(url)) from None
            except (OSError, http.client.HTTPException) as error:
                if getattr(error, "errno", None) in _DISK_TROUBLE:
                    remedy = "free some space, or set ISOGLOT_CACHE to another folder"
                    raise InputError(f"cannot keep the download ({error})", where=what, remedy=remedy) from error
                reason, again = _explain(error)
                waited = time.monotonic() - started
                if not again or attempt == self.attempts or waited > self.patience:
                    raise OfflineError(
                        f"cannot reach {_host(url)} ({reason})",
                        where=what,
                        remedy="connect to the internet (or check proxy and index settings) and try again",
                    ) from error
            time.sleep(self.pause * 2 ** (attempt - 1))
        raise AssertionError("unreachable")

    def _page(self, url: str, accept: str) -> tuple[str, str, str] | None:
        answer = self._open(url, accept)
        if answer is None:
            return None
        with answer:
            body = answer.read(_PAGE_LIMIT)
            return answer.headers.get_content_type(), body.decode("utf-8", "replace"), answer.geturl()

    def _save(self, url: str, path: Path, what: str, size: int, progress: Progress) -> str | None:
        answer = self._open(url, "*/*")
        if answer is None:
            return None
        digest = hashlib.sha256()
        done = 0
        step = f"downloading {what}"
        with answer, path.open("wb") as out:
            announced = answer.headers.get("Content-Length")
            total = size or (int(announced) if announced and announced.isdigit() else 0)
            progress(step, 0, total or None)
            while block := answer.read(_BLOCK):
                if not done and is_web_page(block):
                    raise _Refused("a web page came instead of the file (an error or login page?)")
                done += len(block)
                if size and done > size:
                    raise _Refused(f"the file is longer than the {size:,} bytes it should have")
                out.write(block)
                digest.update(block)
                progress(step, done, total or None)
        if announced and announced.isdigit() and done < int(announced):
            # A broken connection looks like the end of the file; the next attempt may do better.
            raise _ShortError(f"only {done:,} of {int(announced):,} bytes came")
        progress(step, done, done)
        return digest.hexdigest()

    def _open(self, url: str, accept: str) -> _Answer | None:
        """None where the server says that there is no such thing."""
        address, password = _split_password(url)
        request = urllib.request.Request(address, headers={"User-Agent": _USER_AGENT, "Accept": accept})
        if password:
            # Unredirected, so that it is never sent on to another host.
            request.add_unredirected_header("Authorization", password)
        try:
            return self._opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            with error:
                if error.code in (404, 410):
                    return None
                if error.code in (408, 425, 429) or error.code >= 500:
                    raise _BusyError(f"the server answered {error.code} {error.reason}") from None
                raise _Refused(f"the server answered {error.code} {error.reason}") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, FileNotFoundError) or "No such file" in str(error.reason):
                return None
            raise

    @functools.cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        context = ssl.create_default_context()
        if self.cert:
            try:
                place = Path(self.cert).expanduser()
                context.load_verify_locations(**{"capath" if place.is_dir() else "cafile": str(place)})
            except OSError as error:
                raise _Refused(f"the certificate file {self.cert} cannot be read ({error})") from error
        handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
        if self.proxy:
            handlers.append(urllib.request.ProxyHandler({"http": self.proxy, "https": self.proxy}))
        return urllib.request.build_opener(*handlers)


class _Refused(Exception):
    """Trying again would not help."""


class _BusyError(OSError):
    """The server asks to come back later."""


class _ShortError(OSError):
    """The connection broke before the end."""


def without_password(url: str) -> str:
    """An address that may be shown.

    >>> without_password("https://me:secret@example.org/simple")
    'https://example.org/simple'
    """
    return _split_password(url)[0]


def _split_password(url: str) -> tuple[str, str | None]:
    """The address without user and password, and the header that carries them."""
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    token = base64.b64encode(urllib.parse.unquote(user).encode()).decode("ascii")
    return urllib.parse.urlunsplit(parts._replace(netloc=host)), f"Basic {token}"


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).hostname or without_password(url)


def _explain(error: BaseException) -> tuple[str, bool]:
    """(why, whether another attempt makes sense)."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, socket.gaierror):
        # Only "temporary failure" is worth a second look; an unknown name stays unknown.
        return "its name is not known here: offline?", cause.errno == socket.EAI_AGAIN
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}", False
    if isinstance(cause, TimeoutError):
        return "no answer in time", True
    if isinstance(cause, ConnectionRefusedError):
        return "it refuses connections", True
    return str(cause) or type(cause).__name__, True


def _check(path: Path, what: str, size: int, sha256: str, digest: str) -> None:
    have = path.stat().st_size
    if size and have != size:
        raise DownloadError(
            f"the file has {have:,} bytes instead of {size:,}", where=what, remedy="it was removed; try again"
        )
    if sha256 and digest != sha256:
        raise DownloadError(
            "the file's checksum is not the expected one",
            where=what,
            remedy="it was removed; the index or a proxy gives another file under this name",
        )
    if not have:
        raise DownloadError("the file is empty", where=what, remedy="it was removed; try again later")
