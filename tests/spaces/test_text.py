"""Text files: numbers to the last bit, and every kind of dirt."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings, strategies as st

from isoglot.errors import FormatError, InputError, IsoglotError
from isoglot.spaces import Space, load_space, save_space

ROWS = "".join(f"w{i} {i}.5 -{i}.25 1e-{i}\n" for i in range(1, 31))


def load(tmp_path: Path, content: str | bytes, name: str = "x.vec", **options: object) -> Space:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_space(path, cache=False, **options)  # type: ignore[arg-type]


def problems(space: Space) -> dict[str, int]:
    assert space.report is not None
    return {problem: times for (problem, _), times in space.report.counts.items()}


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.9g}"),
    st.from_regex(r"[-+]?[0-9]{1,25}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"[-+]?\.[0-9]{1,25}", fullmatch=True),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=12))
@example(["0.1", "-0.0", "9007199254740993", "1e22", "1e-45", "3.4028235e38"])
@example(["1.00000005960464477540", "1.00000005960464477539", "1.00000017881393432617", "8388609.5"])
def test_numbers_are_exact(tmp_path: Path, tokens: list[str]) -> None:
    with np.errstate(over="ignore"):
        expected = np.array([np.float32(float(token)) for token in tokens])
    good = np.isfinite(expected)
    lines = "".join(f"w{i} {token} 1\n" for i, token in enumerate(tokens))
    if 2 * (~good).sum() > len(good) or not good.any():
        return
    try:
        space = load(tmp_path, lines)
    except FormatError:
        assert not good.all()
        return
    # The bits, so that -0.0 is not 0.0.
    assert space.vectors[:, 0].view(np.uint32).tolist() == expected[good].view(np.uint32).tolist()


def test_random_numbers_are_exact_in_bulk(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 20)) * 10.0 ** rng.integers(-12, 6, size=(400, 20))
    formats = ["%.5f", "%.17g", "%.9g", "%r", "%.20e"]
    lines = [[formats[(i + j) % 5] % float(value) for j, value in enumerate(row)] for i, row in enumerate(values)]
    text = "".join(f"w{i} {' '.join(row)}\n" for i, row in enumerate(lines))
    expected = np.array([[np.float32(float(token)) for token in row] for row in lines])
    for threads in (1, 2):
        assert np.array_equal(load(tmp_path, text, threads=threads).vectors, expected)


def test_threads_and_chunks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"w{i} {'bad ' if i % 97 == 5 else ''}{i} {i}.5\n" for i in range(1000))
    whole = load(tmp_path, text)
    assert len(whole) == 1000
    for chunk in (64, 100, 1000):
        monkeypatch.setattr("isoglot.spaces.formats.streams._BLOCK", chunk)
        for threads in (1, 2):
            parts = load(tmp_path, text, threads=threads)
            assert parts.words == whole.words
            assert np.array_equal(parts.vectors, whole.vectors)


def test_agrees_with_gensim(tmp_path: Path, space: Space) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    save_space(space, tmp_path / "x.vec")
    theirs = keyed.load_word2vec_format(str(tmp_path / "x.vec"))
    assert theirs.index_to_key == list(space.words)
    assert np.array_equal(theirs.vectors, space.vectors)
    theirs.save_word2vec_format(str(tmp_path / "y.vec"))
    assert np.array_equal(load_space(tmp_path / "y.vec").vectors, space.vectors)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstandard.compress])
def test_compressed_whatever_the_name(tmp_path: Path, compress: object) -> None:
    data = compress(ROWS.encode())  # type: ignore[operator]
    assert len(load(tmp_path, data)) == 30
    assert len(load(tmp_path, data + data)) == 30  # several streams in one file; the words repeat
    for cut in (len(data) // 2, len(data) - 1):
        with pytest.raises(FormatError, match=r"truncated|damaged"):
            load(tmp_path, data[:cut])


def test_limit_stops_reading_before_the_damage(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    text = "".join(f"w{i} {' '.join(map(str, rng.normal(size=50)))}\n" for i in range(2500))
    data = gzip.compress(text.encode(), 1)[:-1000]
    for threads in (1, 2):
        assert len(load(tmp_path, data, limit=100, threads=threads)) == 100
    with pytest.raises(FormatError, match="truncated"):
        load(tmp_path, data)


def test_header_is_optional(tmp_path: Path) -> None:
    bare, headed = load(tmp_path, ROWS), load(tmp_path, "30 3\n" + ROWS)
    assert bare.words == headed.words
    assert np.array_equal(bare.vectors, headed.vectors)
    assert problems(bare) == problems(headed) == {}


@pytest.mark.parametrize(
    ("content", "words", "noted"),
    [
        ("99 3\n" + ROWS, 30, "header says 99 words, the file has 30"),
        ("30 7\n" + ROWS, 30, "header says 7 dimensions, lines have 3"),
        (ROWS + "New York 1 2 3\n", 31, "word with spaces"),
        (ROWS + "w1 1 2 3\n", 30, "duplicate word"),
        (ROWS + "short 1 2\n", 30, "too few numbers"),
        (ROWS + "odd 1 x 3\n", 30, "too few numbers"),
        (ROWS + "long 1.5 1 2 3\n", 30, "too many numbers"),
        (ROWS + "none nan 2 3\n", 30, "NaN or infinite number"),
        (ROWS + "much 1e39 2 3\n", 30, "NaN or infinite number"),
        (ROWS + "much inf 2 3\n", 30, "NaN or infinite number"),
        (ROWS + " 1.5 2.5 3.5\n", 30, "empty word"),
        (ROWS + "\n\n", 30, "empty line"),
        ("\n" + "30 3\n" + ROWS, 30, "empty line"),
        (ROWS.encode() + b"caf\xe9 1 2 3\n", 31, "invalid UTF-8 in a word"),
        (b"\xef\xbb\xbf" + ROWS.encode(), 30, "byte order mark"),
        ("31 3\n" + ROWS + "last 1 2 3", 31, None),
        ("99 3\n" + ROWS + "last 1 2 3", 30, "last line is cut off"),
        (ROWS.replace("\n", "\r\n"), 30, None),
        (ROWS.replace(" ", "\t"), 30, None),
        (ROWS.replace("\n", " \n"), 30, None),
        (ROWS + "a\u00a0b 1 2 3\n", 31, None),
        (ROWS + "a\u2028b 1 2 3\n", 31, None),
        ("{ 1 2 3\n< 1 2 3\n" + ROWS, 32, None),
        (ROWS + "route 66 1 2 3\n", 31, "word with spaces"),
    ],
)
def test_dirt_is_repaired_and_counted(tmp_path: Path, content: str | bytes, words: int, noted: str | None) -> None:
    space = load(tmp_path, content)
    assert len(space) == words
    assert space.vector("w2").tolist() == [2.5, -2.25, np.float32(1e-2)]
    found = problems(space)
    if noted is None:
        assert found == {}
    else:
        assert noted in found


def test_reports_say_where(tmp_path: Path) -> None:
    report = load(tmp_path, "30 3\n" + ROWS + "short 1 2\n").report
    assert report is not None
    assert any(note.endswith("x.vec:32)") for note in report.notes())


def test_spaced_words_keep_their_place_and_numbers(tmp_path: Path) -> None:
    space = load(tmp_path, "a 1 2\nNew York 3 4\nb 5 6\nsão paulo city 7 8\n")
    assert space.words == ("a", "New York", "b", "são paulo city")
    assert space.vectors.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


PAGE = "<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PAGE, "web page"),
        ("  <?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "web page"),
        ('{"error": "not found"}', "JSON"),
        ('[{"a": 1}]\n', "JSON"),
        (POINTER, "git-lfs"),
        ("", "empty"),
        ("\n\n\n", "empty lines"),
        ("5 300\n", "header but no vectors"),
        ("just some words\nin a text file\n", "no line holds"),
        (bytes(range(256)) * 20, "binary data"),
        ("a 1 2\n".encode("utf-16"), "UTF-16"),
        (gzip.compress(PAGE.encode(), mtime=0), "web page"),
        (ROWS + "bad line\n" * 40, "cannot be used"),
        (b"".join(b"\xe9%d 1 2\n" % i for i in range(30)), "not UTF-8"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "bare numpy matrix"),
        (b"a" * (40 << 20), "line of more than|no line holds"),
    ],
)
def test_what_is_no_vectors_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        load(tmp_path, content)
    assert "x.vec" in str(caught.value)
    assert caught.value.remedy


def test_errors_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"x\.vec:31: .*too few numbers"):
        load(tmp_path, ROWS + "bad line\n" * 40)


def test_folders_missing_files_and_streams(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        load_space(tmp_path)
    (tmp_path / "vectors.vec").write_text(ROWS)
    with pytest.raises(InputError, match=r"no such file; did you mean 'vectors\.vec'"):
        load_space(tmp_path / "vector.vec")
    with pytest.raises(InputError, match="not a regular file"):
        load_space("/dev/zero")


def test_words_that_text_cannot_hold_are_refused_before_writing(tmp_path: Path) -> None:
    for word in ("", "a\nb", " a", "a\t", "\f", "a\v", "version 2.5", "version\f2.5"):
        with pytest.raises(InputError, match="cannot be written"):
            save_space(Space("en", ["x", word], np.ones((2, 2))), tmp_path / "x.vec")
    with pytest.raises(InputError, match="not finite"):
        save_space(Space("en", ["x"], np.array([[np.nan]])), tmp_path / "x.vec")
    assert not list(tmp_path.iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=8, unique=True))
def test_any_words_survive_or_are_refused(tmp_path: Path, words: list[str]) -> None:
    matrix = np.arange(len(words) * 3, dtype=np.float32).reshape(-1, 3) + 0.5
    space = Space("en", words, matrix)
    try:
        save_space(space, tmp_path / "x.vec")
    except IsoglotError:
        return
    back = load_space(tmp_path / "x.vec", cache=False)
    assert back.words == space.words
    assert np.array_equal(back.vectors, space.vectors)
