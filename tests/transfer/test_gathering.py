"""Examples from files: taken together, split, and thinned out."""

from __future__ import annotations

import pytest

from isoglot.errors import InputError
from isoglot.transfer import Few, gather_examples


@pytest.fixture
def files(tmp_path):
    for name, n in (("a", 30), ("b", 10), ("c", 8), ("one", 1)):
        text = "".join(f"{name}{i}\tx\tneutral\n" for i in range(n))
        (tmp_path / f"{name}.tsv").write_text(text, "utf-8")
    return tmp_path


def firsts(examples):
    return [one.first for one in examples]


def test_files_are_taken_together_and_the_last_tenth_is_held_out(files):
    found = gather_examples("nli", [files / "a.tsv", files / "b.tsv"], None, {"de": files / "c.tsv", "fi": None})
    assert firsts(found.train) == [f"a{i}" for i in range(30)] + [f"b{i}" for i in range(6)]
    assert firsts(found.dev) == ["b6", "b7", "b8", "b9"]
    assert len(found.tests["de"]) == 8
    assert found.tests["fi"] is None


def test_with_a_development_set_all_is_learned_from(files):
    found = gather_examples("nli", [files / "a.tsv"], files / "b.tsv", {"de": files / "c.tsv"})
    assert (len(found.train), len(found.dev)) == (30, 10)


def test_few_are_spread_over_the_whole(files):
    found = gather_examples("nli", [files / "a.tsv"], files / "b.tsv", {"de": files / "c.tsv"}, few=Few(3, 20, 4))
    assert firsts(found.train) == ["a0", "a10", "a20"]
    assert len(found.dev) == 10
    assert firsts(found.tests["de"]) == ["c0", "c2", "c4", "c6"]


def test_one_example_cannot_be_split(files):
    with pytest.raises(InputError, match="one example cannot be learned from and chosen on; give `dev`"):
        gather_examples("nli", [files / "one.tsv"], None, {"de": files / "c.tsv"})
