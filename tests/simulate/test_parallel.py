"""Generated parallel text."""

from __future__ import annotations

from collections import Counter

import pytest

from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.simulate import simulate_parallel
from isoglot.text import ParallelText
from isoglot.wordalign import check_links, read_links


def test_links_are_what_the_lexicon_says():
    corpus = simulate_parallel(sentences=200, words=80)
    check_links(corpus.links, [len(s) for s in corpus.src], [len(t) for t in corpus.tgt], "links")
    for src, tgt, links in zip(corpus.src, corpus.tgt, corpus.links, strict=True):
        # No meaning is said twice, so words that translate each other are linked, and no others.
        assert links.sure == {(i, j) for i, a in enumerate(src) for j, b in enumerate(tgt) if (a, b) in corpus.lexicon}
    assert not {w for s in corpus.src for w in s} & {w for t in corpus.tgt for w in t}


def test_each_knob_does_its_part():
    plain = {"reorder": 0.0, "distant": 0.0, "fertility": 0.0, "nulls": 0.0}
    corpus = simulate_parallel(sentences=100, **plain)
    assert all(pair.sure == {(i, i) for i in range(len(s))} for pair, s in zip(corpus.links, corpus.src, strict=True))
    swapped = simulate_parallel(sentences=100, **{**plain, "reorder": 0.3})
    assert {abs(i - j) for pair in swapped.links for i, j in pair.sure} == {0, 1}
    carried = simulate_parallel(sentences=100, **{**plain, "distant": 1.0})
    assert max(abs(i - j) for pair in carried.links for i, j in pair.sure) > 5
    twofold = simulate_parallel(sentences=100, **{**plain, "fertility": 0.3})
    for side in (0, 1):
        most = [Counter(link[side] for link in pair.sure).most_common(1)[0][1] for pair in twofold.links]
        assert set(most) == {1, 2}
    unlinked = simulate_parallel(sentences=300, **{**plain, "nulls": 0.2})
    alone = sum(len(s) - len(pair.sure) for pair, s in zip(unlinked.links, unlinked.src, strict=True))
    assert 0.15 < alone / sum(len(pair.sure) for pair in unlinked.links) < 0.25


def test_words_follow_zipf_and_topics():
    corpus = simulate_parallel(sentences=2000, words=200, nulls=0.0)
    counts = Counter(word for sentence in corpus.src for word in sentence)
    ranked = [count for _, count in counts.most_common()]
    assert ranked[0] > 5 * ranked[50] > 0
    assert len(ranked) >= 200  # every meaning is spoken of
    # Pairs of words: by topic, some come together much more often than chance would have it.
    together = Counter((a, b) for s in corpus.src for a in s for b in s if a < b)
    chance = {pair: counts[pair[0]] * counts[pair[1]] / 2000 for pair in together}
    assert max(together[pair] / chance[pair] for pair in together if chance[pair] > 5) > 3


def test_saving(tmp_path):
    corpus = simulate_parallel(sentences=30)
    corpus.save(tmp_path / "new")
    text = ParallelText.load(tmp_path / "new/north.txt", tmp_path / "new/south.txt", "north", "south")
    assert text == corpus.text
    assert tuple(tuple(line.split()) for line in text.src) == corpus.src
    assert read_links(tmp_path / "new/links.pharaoh", base=0) == corpus.links
    assert Lexicon.load(tmp_path / "new/north-south.tsv", "north", "south") == corpus.lexicon


def test_seeds():
    one, same, other = (simulate_parallel(sentences=20, seed=seed) for seed in (1, 1, 2))
    assert (one.src, one.tgt, one.links) == (same.src, same.tgt, same.links)
    assert one.src != other.src


@pytest.mark.parametrize("wrong", [{"sentences": 0}, {"words": 5}, {"length": 1}, {"nulls": -0.1}, {"reorder": 2}])
def test_impossible_languages_are_an_error(wrong):
    with pytest.raises(ConfigError):
        simulate_parallel(**wrong)
