"""What the catalogue reads: packages of the index and of Debian, files without a checksum, and its own cache."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isoglot.catalogue import Entry, cached, provenance
from isoglot.catalogue.packages import find_package_file  # noqa: F401 (imported before workers are forked)
from isoglot.catalogue.readers import READERS, reader
from isoglot.lexicons import Lexicon
from isoglot.progress import silent
from isoglot.spaces import load_space, save_space
from isoglot.text import ParallelText

from .target import check_space, target
from .targets_vectors import small_space

SENSES = "cat%1:05:00:: 00000001 1 18\nguy%1:18:00:: 00000002 1 4\nbig%3:00:00:: 00000003 1 9\n"
FRENCH = "# WOLF\tfra\n00000001-n\tfra:lemma\tchat\n00000002-n\tfra:lemma\ttype\n00000003-s\tlemma\tgrand\n"
DICTD = "cat /x/ <n>\n1. chat\nan animal\n"


def _zip(**files: bytes | str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def _deb(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    body = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0\n"), ("data.tar.xz", lzma.compress(stream.getvalue()))):
        body += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        body += b"\n" * (len(content) % 2)
    return body


def _entry(name: str, languages: tuple[str, ...], result: str, **settings: str) -> Entry:
    return Entry("kind/name", "kind", languages, "", "", "", (), name, settings, result)


def _reads(entry: Entry, file: str, check: Callable[[Path], Any], copies: int = 1) -> Callable[[Path], Any]:
    """Convert the file in a folder of its own, as `fetch` does, and read the result."""

    def read(folder: Path) -> None:
        place = folder / "converted"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            reader(entry.reader)(entry, [folder / file] * copies, place, silent)
        except UnicodeDecodeError:
            return  # `fetch` tells these as damaged downloads
        check(place / entry.result)

    return read


def _lexicon(path: Path) -> None:
    list(Lexicon.load(path, "en", "fr"))


def _bytes(name: str, content: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return make


_messages = _zip(
    **{
        "p/components/sun/translations/en.json": json.dumps({"a": {"b": "The sun is up now", "c": "Sun"}}),
        "p/components/sun/translations/fr.json": json.dumps({"a": {"b": "Le soleil est levé", "c": "Soleil"}}),
    }
)
_help = "usr/share/libreoffice/help"
_pages = _deb(
    **{
        f"{_help}/en-US/text/a.html": b'<p id="par_1">Open the <b>file</b> now</p><p id="par_2">Not yet</p>',
        f"{_help}/fr/text/a.html": b'<p id="par_1">Ouvre <span hidden="true" id="defaulttext">le</span> fichier</p>',
    }
)
_model = b"GGUF" + bytes(60)
_parts = _zip(**{"p/SHA256SUMS": f"{hashlib.sha256(_model).hexdigest()}  m.gguf\n", "p/m.gguf.part00": _model})
_packages: dict[str, tuple[bytes, Entry, Callable[[Path], Any]]] = {
    "wordnet": (
        _zip(**{"p/wordnet/index.sense": SENSES, "p/omw-1.4/fra/f.tab": FRENCH}),
        _entry("wordnet", ("en", "fr"), "pairs.tsv", src="", tgt="fra/f.tab"),
        _lexicon,
    ),
    "freedict": (
        _deb(**{"usr/share/dictd/x.index": b"cat\tA\tf\n", "usr/share/dictd/x.dict.dz": gzip.compress(DICTD.encode())}),
        _entry("freedict", ("en", "fr"), "pairs.tsv", files="x"),
        _lexicon,
    ),
    "messages": (_messages, _entry("messages", ("en", "fr"), "", src="en", tgt="fr"), lambda path: None),
    "help": (
        _pages,
        _entry("help_pages", ("en", "fr"), "text.en", src="en-US", tgt="fr"),
        lambda path: ParallelText.load(path, path.with_suffix(".fr")),
    ),
    "gguf": (_parts, _entry("gguf_parts", ("en",), "model.gguf", file="m.gguf", papers=""), Path.read_bytes),
}
for _name, (_body, _own, _check) in _packages.items():
    if _own.reader in READERS:
        copies = 2 if _name == "gguf" else 1  # the first tells of the parts in the others
        target(f"package-{_name}", "texts", _bytes("package", _body), _reads(_own, "package", _check, copies))


def _make_public(folder: Path) -> None:
    save_space(small_space(), folder / "x.vec.gz")


target(
    "public-vectors",
    "texts",
    _make_public,
    _reads(
        _entry("public_vectors", ("xx",), "vectors.safetensors"),
        "x.vec.gz",
        lambda path: check_space(load_space(path)),
    ),
)


def _make_provenance(folder: Path) -> None:
    place = folder / "cache" / "catalogue" / "kind" / "name"
    place.mkdir(parents=True)
    (place / "pairs.tsv").write_text("cat\tchat\n", "utf-8")
    content = {"name": "kind/name", "facts": {"pairs": 1}, "sources": [], "digest": PROVEN.digest()}
    (place / "provenance.json").write_text(json.dumps(content), "utf-8")


PROVEN = _entry("wordnet", ("en", "fr"), "pairs.tsv", src="", tgt="fra/f.tab")


def _read_provenance(folder: Path) -> None:
    previous = os.environ.get("ISOGLOT_CACHE", "")
    os.environ["ISOGLOT_CACHE"] = str(folder / "cache")
    try:
        record = provenance(PROVEN)
        if record is not None:
            str(record.get("licence"))
        path = cached(PROVEN)
        if path is not None:
            _lexicon(path)
    finally:
        os.environ["ISOGLOT_CACHE"] = previous


target("provenance", "texts", _make_provenance, _read_provenance)
