"""Both BLI protocols against an evaluation written down independently, in float64 and without cleverness."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from isoglot.errors import ConfigError, LexiconError, ShapeError
from isoglot.lexicons import Lexicon
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space
from isoglot.tasks import Result, bli


def brute_force(
    src: Space, tgt: Space, lexicon: Lexicon, *, score: str, neighbourhood: int = 10
) -> dict[tuple[str, str], tuple[float, int]]:
    """{(denominator, metric): (value, n)} from the definitions alone."""
    X = src.vectors.astype(np.float64)
    Y = tgt.vectors.astype(np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    similarity = X @ Y.T
    if score == "csls":
        k = min(neighbourhood, len(X), len(Y))
        of_src = np.sort(similarity, axis=1)[:, -k:].mean(axis=1)
        of_tgt = np.sort(similarity, axis=0)[-k:].mean(axis=0)
        similarity = 2 * similarity - of_src[:, None] - of_tgt[None, :]
    ranked = np.argsort(-similarity, axis=1)
    kept: list[float] = []
    everything: list[float] = []
    for source in dict.fromkeys(s for s, _ in lexicon.pairs):
        gold = {t for s, t in lexicon.pairs if s == source}
        if source not in src.words:
            everything.append(1 if source in gold else np.inf)
            continue
        order = [tgt.words[i] for i in ranked[src.words.index(source)]]
        ranks = [order.index(word) + 1 for word in gold if word in tgt.words]
        best = min(ranks, default=np.inf)
        everything.append(best)
        if ranks:
            kept.append(best)
    figures = {}
    for name, ranks_ in (("in-vocabulary", np.array(kept)), ("full", np.array(everything))):
        for k in (1, 5, 10):
            figures[name, f"P@{k}"] = (float((ranks_ <= k).mean()), len(ranks_))
        figures[name, "MRR"] = (float(np.where(ranks_ <= 100, 1 / ranks_, 0).mean()), len(ranks_))
    return figures


def world(seed: int = 0) -> tuple[Space, Space, Lexicon]:
    """A mapped pair with words missing on either side, several targets and copies of unknown words."""
    pair = simulate_pair(400, 20, 0.8, seed)
    mapped = pair.src.with_vectors(pair.src.vectors @ pair.rotation)
    # Cutting the vocabularies leaves sources without a row, and sources all of whose targets are gone.
    src, tgt = mapped.most_frequent(300), pair.tgt.most_frequent(330)
    extra = [("zzz", "zzz"), ("qqq", "rrr"), (src.words[0], "nowhere")]
    return src, tgt, Lexicon([*pair.lexicon.pairs, *extra], "north", "south")


def figures(results: list[Result]) -> dict[tuple[str, str], tuple[float, int]]:
    return {(str(r.protocol["denominator"]), r.metric): (r.value, r.n) for r in results}


@pytest.mark.parametrize("score", ["csls", "cosine"])
@pytest.mark.parametrize("identical", ["keep", "remove"])
def test_both_protocols_agree_with_brute_force(score: str, identical: Literal["keep", "remove"]) -> None:
    src, tgt, lexicon = world()
    got = figures(bli(src, tgt, lexicon, score=score, identical=identical, bootstrap=0))
    gold = lexicon if identical == "keep" else Lexicon([(s, t) for s, t in lexicon.pairs if s != t])
    expected = brute_force(src, tgt, gold, score=score)
    assert got.keys() == expected.keys()
    for key, (value, n) in expected.items():
        assert got[key][1] == n
        # One source in three hundred may fall the other way where two float32 scores tie.
        assert got[key][0] == pytest.approx(value, abs=1.01 / n)
    assert 0.2 < expected["in-vocabulary", "P@1"][0] < expected["in-vocabulary", "P@10"][0] < 1


def test_the_first_result_is_the_primary_figure() -> None:
    src, tgt, lexicon = world()
    results = bli(src, tgt, lexicon, bootstrap=200)
    assert [(r.protocol["denominator"], r.metric) for r in results] == [
        (name, metric) for name in ("in-vocabulary", "full") for metric in ("P@1", "P@5", "P@10", "MRR")
    ]
    first = results[0]
    assert first.coverage == pytest.approx(first.n / len(lexicon.by_source))
    assert first.protocol["candidates"] == len(tgt)
    for result in results:
        assert result.interval is not None
        assert result.interval[0] <= result.value <= result.interval[1]
        assert result.interval[1] - result.interval[0] < 0.2
        assert result.value == pytest.approx(np.mean([item["value"] for item in result.per_item]))
        assert len(result.per_item) == result.n


def tiny() -> tuple[Space, Space, Lexicon]:
    """Worked by hand: cat is right at 1, dog at 2, bird's targets are unknown, taxi and zebra have no vector."""
    src = Space("en", ["dog", "cat", "bird"], [[0.9, 0.1], [0, 1], [1, 1]], [5, 9, 1])  # type: ignore[arg-type]
    tgt = Space("fr", ["os", "chat", "chien"], [[1, 0.1], [0, 1], [0.5, 0.4]])  # type: ignore[arg-type]
    gold = [
        ("cat", "chat"),
        ("cat", "minou"),
        ("dog", "chien"),
        ("bird", "oiseau"),
        ("taxi", "taxi"),
        ("zebra", "zèbre"),
    ]
    return src, tgt, Lexicon(gold, "en", "fr")


def test_a_case_worked_by_hand() -> None:
    src, tgt, lexicon = tiny()
    results = bli(src, tgt, lexicon, score="cosine", ks=(1, 2), bootstrap=0)
    assert figures(results) == {
        ("in-vocabulary", "P@1"): (1 / 2, 2),
        ("in-vocabulary", "P@2"): (1.0, 2),
        ("in-vocabulary", "MRR"): (3 / 4, 2),
        ("full", "P@1"): (2 / 5, 5),
        ("full", "P@2"): (3 / 5, 5),
        ("full", "MRR"): (pytest.approx(2.5 / 5), 5),
    }
    assert results[0].coverage == 2 / 5
    assert results[0].interval is None
    items: dict[str, Any] = {str(item["source"]): item for item in results[3].per_item}
    assert {source: item["status"] for source, item in items.items()} == {
        "cat": "asked",
        "dog": "asked",
        "bird": "targets missing",
        "taxi": "source missing, copied",
        "zebra": "source missing",
    }
    assert items["cat"]["gold"] == ["chat", "minou"]
    assert [word for word, _ in items["dog"]["predictions"]] == ["os", "chien"]
    assert (items["dog"]["rank"], items["dog"]["hit"], items["dog"]["frequency_rank"]) == (2, False, 1)
    assert (items["taxi"]["rank"], items["taxi"]["hit"], items["taxi"]["frequency_rank"]) == (None, True, None)
    removed = bli(src, tgt, lexicon, score="cosine", ks=(1, 2), identical="remove", bootstrap=0)
    assert figures(removed)["full", "P@1"] == (1 / 4, 4)


def test_row_order_of_the_target_does_not_matter() -> None:
    src, tgt, lexicon = world(seed=5)
    shuffled = tgt.take(np.random.default_rng(0).permutation(len(tgt)))
    before, after = (figures(bli(src, space, lexicon, bootstrap=0)) for space in (tgt, shuffled))
    for key, (value, n) in before.items():
        assert after[key] == (pytest.approx(value, abs=1.01 / n), n)


def test_the_same_seed_gives_the_same_interval() -> None:
    src, tgt, lexicon = tiny()
    first, again = (bli(src, tgt, lexicon, ks=(1,), bootstrap=100, seed=7)[0] for _ in range(2))
    assert first == again


def test_a_ready_retriever_is_used() -> None:
    from isoglot.retrieval import Retriever

    src, tgt, lexicon = tiny()
    ready = Retriever(src.vectors, tgt.vectors, score="cosine")
    fresh = bli(src, tgt, lexicon, score="cosine", bootstrap=0)
    assert bli(src, tgt, lexicon, retriever=ready, bootstrap=0) == fresh
    with pytest.raises(ShapeError, match="retriever was built on"):
        bli(src.most_frequent(2), tgt, lexicon, retriever=ready)


def test_the_protocol_names_what_was_used() -> None:
    src, tgt, lexicon = tiny()
    used = {
        score: bli(src, tgt, lexicon, score=score, bootstrap=0)[0].protocol for score in ("csls", "inverted_softmax")
    }
    assert used["csls"]["neighbourhood"] == 10
    assert used["inverted_softmax"]["temperature"] == 30
    assert "neighbourhood" not in used["inverted_softmax"]
    assert used["csls"]["backend"] == "exact"


def test_what_cannot_be_evaluated_is_a_clear_error() -> None:
    src, tgt, lexicon = tiny()
    with pytest.raises(LexiconError, match=r"none of the 1 pairs \(x - y.*1 of 1 source words are missing"):
        bli(src, tgt, Lexicon([("x", "y")]))
    with pytest.raises(LexiconError, match="no pairs to test"):
        bli(src, tgt, Lexicon([("taxi", "taxi")]), identical="remove")
    with pytest.raises(ShapeError, match="2 dimensions"):
        bli(src, Space("fr", ["chat"], np.ones((1, 3))), lexicon)
    with pytest.raises(ConfigError, match="positive"):
        bli(src, tgt, lexicon, ks=(0,))
    with pytest.raises(ConfigError, match="identical"):
        bli(src, tgt, lexicon, identical="maybe")  # type: ignore[arg-type]
