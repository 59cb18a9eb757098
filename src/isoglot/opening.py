"""Opening files that a user named, without hanging on one that has no content or no end.

Opening a named pipe waits for a writer, and a device such as /dev/zero never ends. Anything but a regular file is
therefore refused; readers that need only one pass may take pipes, such as the shell's `<(zcat en-fr.gz)`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from isoglot.errors import InputError

#: Settings, recipes and tables of contents are far smaller.
_LARGEST_SMALL = 1 << 28
_WEB_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s|(html|head|body|error)[\s>]|\?xml\s)", re.IGNORECASE)


def open_source(path: Path, *, pipes: bool = False) -> BinaryIO:
    """The file, unbuffered. A pipe without a writer is empty; other special files and folders are an error."""
    try:
        file = _open(path, pipes=pipes)
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path), remedy="check the path") from error
    except IsADirectoryError as error:
        raise InputError("is a folder, not a file", where=str(path)) from error
    except (OSError, ValueError) as error:  # a ValueError: a name that holds a zero byte
        if isinstance(error, OSError) and error.errno == errno.ESPIPE:
            remedy = "save the stream to a file first"
            raise InputError("is not a regular file", where=str(path), remedy=remedy) from error
        raise InputError(f"cannot be read ({getattr(error, 'strerror', error)})", where=str(path)) from error
    return file


def check_regular(path: Path) -> None:
    """Raise OSError if the path exists and is not a regular file, before a library opens it and hangs."""
    if path.exists() and not path.is_file():
        raise OSError(errno.ESPIPE, "is not a regular file", str(path))


def read_whole(path: Path) -> bytes:
    """All bytes of a regular file; raises OSError as `Path.read_bytes` does."""
    with _open(path) as file:
        return file.read()


def read_small(path: Path) -> str:
    """The text of a small file of ours, such as JSON or TOML; raises OSError as `Path.read_text` does.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> os.mkfifo(folder / "pipe")
    >>> read_small(folder / "pipe")
    Traceback (most recent call last):
    ...
    OSError: [Errno 29] is not a regular file
    """
    with _open(path) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST_SMALL:
            raise OSError(errno.EFBIG, f"has more than {_LARGEST_SMALL >> 20} MB")
        return file.read().decode("utf-8")


def is_web_page(start: bytes) -> bool:
    """Whether a file with this start is HTML or XML: an error or login page saved in place of the file.

    >>> is_web_page(b"  <!DOCTYPE html><title>404</title>"), is_web_page(b"PK\\x03\\x04"), is_web_page(b"html 0.1")
    (True, False, False)
    """
    return _WEB_PAGE.match(start) is not None


def _open(path: Path, *, pipes: bool = False) -> BinaryIO:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file")
        if not stat.S_ISREG(mode) and not (pipes and stat.S_ISFIFO(mode)):
            raise OSError(errno.ESPIPE, "is not a regular file")
        if stat.S_ISFIFO(mode):
            os.set_blocking(handle, True)
        return os.fdopen(handle, "rb", buffering=0)
    except BaseException:
        os.close(handle)
        raise
