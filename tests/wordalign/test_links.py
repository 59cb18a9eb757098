"""Word links and their Pharaoh files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.wordalign import WordLinks, check_links, read_links, write_links

LINK = st.tuples(st.integers(0, 200), st.integers(0, 200))
LINKS = st.builds(WordLinks, st.frozensets(LINK, max_size=6), st.frozensets(LINK, max_size=6))


def test_links_know_themselves():
    links = WordLinks({(0, 1)}, {(0, 1), (2, 0)}, {(2, 0): 1})
    assert links.possible == {(2, 0)}
    assert links.all == {(0, 1), (2, 0)}
    assert links.invert().invert() == links
    assert links.invert().scores == {(0, 2): 1.0}
    assert hash(links) == hash(WordLinks({(0, 1)}, {(2, 0)}))
    with pytest.raises(InputError, match="below 0"):
        WordLinks({(-1, 0)})
    with pytest.raises(InputError, match="no link"):
        WordLinks({(0, 0)}, scores={(0, 1): 0.5})
    with pytest.raises(InputError, match="nan"):
        WordLinks({(0, 0)}, scores={(0, 0): float("nan")})


@given(links=st.lists(LINKS, min_size=1, max_size=5), base=st.sampled_from([0, 1]))
def test_writing_and_reading(tmp_path_factory, links, base):
    path = tmp_path_factory.mktemp("links") / "links"
    write_links(path, links, base=base)
    assert read_links(path, base=base) == links


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_scores_and_packing(tmp_path: Path, suffix: str):
    path = tmp_path / f"links{suffix}"
    links = [WordLinks({(0, 0), (2, 1)}, {(1, 1)}, {(2, 1): 0.83, (1, 1): 1e-7}), WordLinks()]
    write_links(path, links, base=1, scores=True)
    assert read_links(path, base=1) == links
    write_links(path, links, base=1)
    assert read_links(path, base=1)[0].scores == {}


def test_the_syntax(tmp_path: Path):
    path = tmp_path / "links"
    path.write_bytes(b"1-1 2p3 4:5 2-3/0.5\r\n\r\n  3-1/-1e-3\t3-1 \r\n")
    first, second, third = read_links(path, base=1)
    assert first == WordLinks({(0, 0), (1, 2)}, {(3, 4)}, {(1, 2): 0.5})
    assert second == WordLinks()
    assert third == WordLinks({(2, 0)}, scores={(2, 0): -0.001})
    write_links(path, [first], base=0, scores=True)
    assert path.read_text() == "0-0 1-2/0.5 3p4\n"


def test_a_file_of_blank_lines_is_sound(tmp_path: Path):
    path = tmp_path / "links"
    write_links(path, [WordLinks()] * 3, base=0)
    assert path.read_text() == "\n\n\n"
    assert read_links(path, base=0) == [WordLinks()] * 3
    path.write_bytes(gzip.compress(b"\r\n \r\n"))
    assert len(read_links(path, base=1)) == 2
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="empty"):
        read_links(path, base=0)


@pytest.mark.parametrize("base", [2, -1, True, None, "0"])
def test_the_base_is_0_or_1(tmp_path: Path, base):
    with pytest.raises(ConfigError, match="must be 0 or 1"):
        read_links(tmp_path / "links", base=base)
    with pytest.raises(ConfigError, match="must be 0 or 1"):
        write_links(tmp_path / "links", [], base=base)


@pytest.mark.parametrize(
    "item", ["a-b", "1", "1-", "1--2", "-1-2", "1-2-3", "1s2", "1-2/", "1-2/x", "1-2/nan", "1-2:0.5", "٣-١", "9" * 5000]
)
def test_junk_is_an_error_with_its_line(tmp_path: Path, item: str):
    path = tmp_path / "links"
    path.write_text(f"1-1\n\n1-2 {item}\n", "utf-8")
    with pytest.raises(FormatError, match=r"links:3: .* is no link; items are i-j"):
        read_links(path, base=0)


def test_a_wrong_base_is_noticed(tmp_path: Path):
    path = tmp_path / "links"
    path.write_text("1-1\n0-1\n")
    with pytest.raises(FormatError, match=r"links:2: '0-1' has a 0.*is the file 0-based\?"):
        read_links(path, base=1)
    with pytest.raises(InputError, match="no such file"):
        read_links(tmp_path / "nothing", base=1)


def test_links_must_fit_the_sentences():
    links = [WordLinks({(1, 1)}), WordLinks({(1, 2)}, {(2, 1)})]
    check_links(links, [2, 3], [2, 3], "f")
    with pytest.raises(FormatError, match=r"f:2: the link 2-1 .* sentences of 2 and 3 words; is the file 1-based"):
        check_links(links, [2, 2], [2, 3], "f")
    with pytest.raises(FormatError, match=r"f:2: the link 1-2 .*; was the text tokenised"):
        check_links([WordLinks({(0, 0)}), links[1]], [2, 3], [2, 2], "f")
    with pytest.raises(FormatError, match="f: 2 lines of links for 1 source and 2 target"):
        check_links(links, [2], [2, 3], "f")
