"""The binary cache: hits, misses, limits, damage, and machines where nothing can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from isoglot.spaces import Space, load_space, save_space

TEXT = "".join(f"w{i} {i} {i}.5\n" for i in range(50))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "x.vec"
    path.write_text(TEXT)
    time.sleep(0.025)  # its times are trusted only when they are that old
    return path


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that were hashed as a whole."""
    from isoglot.files import sha256_of_file

    calls: list[Path] = []

    def counted(path: Path, *rest: object) -> str:
        calls.append(path)
        return sha256_of_file(path)

    monkeypatch.setattr("isoglot.spaces.cache.sha256_of_file", counted)
    return calls


def cached(space: Space) -> bool:
    assert space.report is not None
    return space.report.from_cache


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.safetensors"))


def test_second_load_is_a_memory_map_without_hashing(source: Path, hashing: list[Path]) -> None:
    first, second = load_space(source), load_space(source)
    assert (cached(first), cached(second)) == (False, True)
    assert first.words == second.words
    assert np.array_equal(first.vectors, second.vectors)
    assert not hashing


def test_second_load_does_not_parse(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_space(source)
    monkeypatch.setattr("isoglot.spaces.formats.text.read", None)
    assert cached(load_space(source))


def test_touched_file_is_hashed_and_found(source: Path, hashing: list[Path]) -> None:
    load_space(source)
    os.utime(source, (1_100_000_000, 1_100_000_000))
    time.sleep(0.025)
    assert cached(load_space(source))
    assert len(hashing) == 1
    assert cached(load_space(source))
    assert len(hashing) == 1


def test_changed_content_is_read_again(source: Path) -> None:
    load_space(source)
    source.write_text(TEXT.replace("w7 7 7.5", "w7 7 8.5"))  # of the same size
    space = load_space(source)
    assert not cached(space)
    assert space.vector("w7").tolist() == [7, 8.5]


def test_same_content_under_another_name(source: Path, tmp_path: Path) -> None:
    source.write_text(TEXT + "short 1\n")
    load_space(source)
    shutil.copy(source, tmp_path / "other.vec")
    space = load_space(tmp_path / "other.vec")
    assert cached(space)
    assert space.report is not None
    assert "other.vec:51" in space.report.notes()[0]


def test_repairs_are_reported_again(source: Path) -> None:
    source.write_text("50 2\n" + TEXT + "w3 1 2\nshort 1\nNew York 1 2\n")
    first, second = load_space(source), load_space(source)
    assert first.report is not None
    assert second.report is not None
    assert cached(second)
    assert first.report.notes() == second.report.notes()
    assert len(first.report.notes()) == 4


def test_limits(source: Path, cache_folder: Path) -> None:
    assert len(load_space(source, limit=5)) == 5
    assert cached(load_space(source, limit=5))
    assert cached(load_space(source, limit=3))
    assert len(load_space(source, limit=3)) == 3
    six = load_space(source, limit=6)
    assert not cached(six)
    assert len(six) == 6
    assert len(entries(cache_folder)) == 1  # the larger one took the place of the smaller
    whole = load_space(source)
    assert not cached(whole)
    assert len(whole) == 50
    for limit in (1, 49, 50, 51):
        part = load_space(source, limit=limit)
        assert cached(part)
        assert part.words == whole.words[:limit]


def test_limit_beyond_the_end_counts_as_whole(source: Path) -> None:
    assert len(load_space(source, limit=1000)) == 50
    assert cached(load_space(source))


@pytest.mark.parametrize("damage", ["cut", "empty", "header", "junk"])
def test_damaged_entries_are_rebuilt(damage: str, source: Path, cache_folder: Path) -> None:
    whole = load_space(source)
    (entry,) = entries(cache_folder)
    data = bytearray(entry.read_bytes())
    if damage == "cut":
        del data[-5:]
    elif damage == "empty":
        data.clear()
    elif damage == "header":
        data[8:12] = b"????"
    else:
        data[:] = b"junk" * 100
    entry.unlink()  # `whole` still maps it
    entry.write_bytes(data)
    space = load_space(source)
    assert not cached(space)
    assert np.array_equal(space.vectors, whole.vectors)
    assert cached(load_space(source))


@pytest.mark.parametrize("damage", ["a float", "NaN", "a repeated word", "the report"])
def test_a_changed_byte_is_noticed_though_times_are_restored(damage: str, source: Path, cache_folder: Path) -> None:
    load_space(source)
    (entry,) = entries(cache_folder)
    data = bytearray(entry.read_bytes())
    before = entry.stat()
    at, new = {
        "a float": (16384 + 12, b"\0\0\x80\x3f"),
        "NaN": (16384, b"\0\0\xc0\x7f"),
        "a repeated word": (data.rindex(b"w48"), b"w47"),
        "the report": (data.index(b'"report"') + 12, b"1"),
    }[damage]
    data[at : at + len(new)] = new
    with entry.open("r+b") as file:
        file.write(data)
    os.utime(entry, ns=(before.st_atime_ns, before.st_mtime_ns))
    space = load_space(source)
    assert not cached(space)
    assert len(space) == 50
    assert space.vector("w1").tolist() == [1, 1.5]
    assert space.report is not None
    assert space.report.notes() == [
        f"1 x damaged cache entry: made again (first at {entry})",
    ]
    again = load_space(source)
    assert cached(again)
    assert again.report is not None
    assert again.report.notes() == []


def test_an_entry_is_hashed_only_when_its_times_changed(
    source: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoglot.files import sha256_of_file

    load_space(source)
    (entry,) = entries(cache_folder)
    time.sleep(0.05)
    load_space(source)
    hashed: list[Path] = []
    monkeypatch.setattr(
        "isoglot.verified.sha256_of_file", lambda path, *rest: hashed.append(path) or sha256_of_file(path)
    )
    assert cached(load_space(source))
    assert not hashed
    os.utime(entry)
    time.sleep(0.05)
    assert cached(load_space(source))
    assert cached(load_space(source))
    assert hashed == [entry]


def test_damaged_records_are_ignored(source: Path, cache_folder: Path) -> None:
    load_space(source)
    (record,) = cache_folder.rglob("*.json")
    for content in (b"", b"[]", b"\xff", b'{"stat": 5}', b'{"stat": [1], "full": 3, "saved": "x"}'):
        record.write_bytes(content)
        assert len(load_space(source)) == 50


def test_unwritable_cache_is_noted_and_does_no_harm(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "file"))
    space = load_space(source)
    assert len(space) == 50
    assert space.report is not None
    assert "cache cannot be written" in space.report.notes()[0]


def test_disk_that_fills_up(source: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("isoglot.spaces.cache.NativeWriter.append", full)
    space = load_space(source)
    assert len(space) == 50
    assert space.report is not None
    assert len(space.report.notes()) == 1
    assert "No space left" in space.report.notes()[0]
    assert not [path for path in cache_folder.rglob("*") if path.is_file()]


def test_failed_reading_leaves_nothing(source: Path, cache_folder: Path) -> None:
    from isoglot.errors import FormatError

    source.write_text(TEXT + "bad\n" * 100)
    with pytest.raises(FormatError):
        load_space(source)
    assert not [path for path in cache_folder.rglob("*") if path.is_file()]


def test_cache_can_be_switched_off(source: Path, cache_folder: Path) -> None:
    load_space(source, cache=False)
    assert not list(cache_folder.iterdir())


def test_two_processes_at_once(source: Path, cache_folder: Path) -> None:
    script = "import sys; from isoglot.spaces import load_space; print(len(load_space(sys.argv[1])))"
    command = [sys.executable, "-c", script, str(source)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [child.communicate(timeout=120)[0].strip() for child in children] == ["50"] * 3
    assert all(child.returncode == 0 for child in children)
    assert len(entries(cache_folder)) == 1
    assert not list(cache_folder.rglob("*.part"))
    assert cached(load_space(source))


def test_killed_writer_leaves_nothing_that_is_used(source: Path, cache_folder: Path) -> None:
    script = (
        "import os, sys; from isoglot.spaces import cache, load_space;"
        "cache.CacheSink.finish = lambda self, content: (self._file.flush(), os._exit(9));"
        "load_space(sys.argv[1])"
    )
    assert subprocess.run([sys.executable, "-c", script, str(source)], check=False).returncode == 9
    (part,) = cache_folder.rglob("*.part")
    assert not entries(cache_folder)
    os.utime(part, (1_000_000_000, 1_000_000_000))
    assert not cached(load_space(source))
    assert not part.exists()  # swept up a day later


def test_fasttext_ngrams_stay_in_the_source(subword_space: Space, tmp_path: Path, cache_folder: Path) -> None:
    path = tmp_path / "x.bin"
    save_space(subword_space, path)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    first, second = load_space(path), load_space(path)
    assert cached(second)
    assert np.array_equal(first.vectors, second.vectors)
    assert np.array_equal(first.vector("unseen"), second.vector("unseen"))
    assert second.subwords is not None
    assert second.subwords.offset is not None
