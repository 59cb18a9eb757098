"""The re-ranker as users meet it: trained, saved with the spaces, used by translation, induction and BLI."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from isoglot.aligned import Aligned, Reranker, induce, translate
from isoglot.aligners import CCA, Identity, Procrustes
from isoglot.errors import ConfigError, FormatError, InputError, LexiconError
from isoglot.lexicons import Lexicon
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space
from isoglot.tasks import bli, paired_test


@dataclasses.dataclass(frozen=True)
class Related:
    """Two languages with cognates: half of the translations are the source word, pronounced another way."""

    src: Space
    tgt: Space
    train: Lexicon
    test: Lexicon


def respell(words: Any, sounds: dict[str, str]) -> list[str]:
    return [sounds.get(word, word) for word in words]


@pytest.fixture(scope="module")
def related() -> Related:
    pair = simulate_pair(n_words=900, dim=24, noise=1.1, seed=3, synonyms=0.1)
    taken = {*pair.src.words, *pair.tgt.words}
    sounds: dict[str, str] = {}
    for number, (source, target) in enumerate(pair.lexicon.pairs):
        cognate = source.replace("k", "c").replace("w", "v").replace("oo", "u") + "o"
        if number % 2 and target not in sounds and cognate not in taken:
            sounds[target] = cognate
            taken.add(cognate)
    tgt = dataclasses.replace(pair.tgt, words=respell(pair.tgt.words, sounds))
    lexicon = Lexicon([(s, sounds.get(t, t)) for s, t in pair.lexicon.pairs], "north", "south")
    # Seeds and test words of the same frequencies, so that figures on both can be compared.
    sources = list(lexicon.by_source)[:500]
    seeds, asked = sources[::2], sources[1::2]
    return Related(pair.src, tgt, *(Lexicon([p for p in lexicon.pairs if p[0] in set(w)]) for w in (seeds, asked)))


@pytest.fixture(scope="module")
def aligned(related: Related) -> Aligned:
    return Aligned.pair(Procrustes().fit(related.src, related.tgt, related.train), related.src, related.tgt)


def train(related: Related, *aligners: Any, **settings: Any) -> Reranker:
    settings = {"candidates": 15, "folds": 3, "threads": 1, **settings}
    return Reranker.train(related.src, related.tgt, related.train, aligners or (Procrustes(),), **settings)


@pytest.fixture(scope="module")
def reranker(related: Related) -> Reranker:
    return train(related)


def test_it_beats_the_plain_order_and_says_so_in_the_protocol(related, aligned, reranker):
    spaces = aligned.spaces["north"], aligned.spaces["south"]
    plain = bli(*spaces, related.test, threads=1)[0]
    ranked = bli(*spaces, related.test, retriever=reranker.retriever(aligned, threads=1))[0]
    gain = paired_test(ranked, plain)
    assert gain.difference > 0.1
    assert gain.p_value < 0.01
    assert ranked.protocol["rerank"] == {"candidates": 15, "aligners": ["procrustes"], "words": True}
    assert "rerank" not in plain.protocol


def test_the_held_out_figure_is_near_the_tested_one(related, aligned, reranker):
    told = reranker.info["held_out"]
    assert told["n"] == 250
    spaces = aligned.spaces["north"], aligned.spaces["south"]
    tested = bli(*spaces, related.test, retriever=reranker.retriever(aligned, threads=1))[0].value
    assert told["reranked"] > told["plain"]
    assert told["reranked"] == pytest.approx(tested, abs=0.08)


def test_without_words_only_vectors_count(related):
    vectors = train(related, words=False)
    assert all(name.startswith("1: ") for name in vectors.model.names)
    ids = Space("south", [f"id{i}" for i in range(len(related.tgt))], related.tgt.vectors)
    renamed = dict(zip(related.tgt.words, ids.words, strict=True))
    lexicon = Lexicon([(s, renamed[t]) for s, t in related.train.pairs])
    by_ids = Reranker.train(related.src, ids, lexicon, [Procrustes()], candidates=15, folds=3, threads=1, words=False)
    np.testing.assert_array_equal(by_ids.model.weights, vectors.model.weights)


def test_same_seed_same_model(related, reranker):
    again = train(related)
    assert again.model.record() == reranker.model.record()
    assert again.info == reranker.info
    other = train(related, seed=1)
    assert other.model.record() != reranker.model.record()


def test_no_aligner_sees_the_words_it_is_asked(related):
    fitted: list[set[str]] = []

    @dataclasses.dataclass(frozen=True)
    class Watched(Procrustes):
        def fit(self, src: Any, tgt: Any, pairs: Any = None, **rest: Any) -> Any:
            fitted.append(set(pairs.by_source))
            return super().fit(src, tgt, pairs, **rest)

    train(related, Watched(), folds=5)
    everything = set(related.train.by_source)
    left_out = [everything - seen for seen in fitted]
    assert len(fitted) == 5
    assert [len(words) for words in left_out] == [50] * 5
    assert set().union(*left_out) == everything


def test_several_aligners_are_heard_and_saved(related, aligned, tmp_path):
    both = train(related, Procrustes(), CCA(), Identity())
    assert [view.names for view in both.further] == [["north", "south"]] * 2
    assert both.describe()["aligners"] == ["procrustes", "cca", "identity"]
    both.save(tmp_path / "kept")
    loaded = Reranker.load(tmp_path / "kept")
    rows = np.arange(40)
    before, after = (r.retriever(aligned, threads=1).top(20, rows=rows) for r in (both, loaded))
    np.testing.assert_array_equal(before.indices, after.indices)
    np.testing.assert_array_equal(before.scores, after.scores)


def test_neighbours_are_well_formed(aligned, reranker):
    found = reranker.retriever(aligned, threads=1).top(100, rows=[0, 5, 700])
    plain = aligned.retriever("north", "south", threads=1).top(100, rows=[0, 5, 700])
    assert found.indices.shape == (3, 100)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    np.testing.assert_allclose(found.scores.sum(axis=1), 1, atol=1e-5)
    for ours, theirs in zip(found.indices, plain.indices, strict=True):
        assert set(ours[:15]) == set(theirs[:15])
        assert ours[15:].tolist() == theirs[15:].tolist()


def test_words_and_rows_are_one(aligned, reranker):
    retriever = reranker.retriever(aligned, threads=1)
    words = [aligned.spaces["north"].words[row] for row in (3, 44)]
    by_words, by_rows = retriever.top_words(5, words), retriever.top(5, rows=[3, 44])
    np.testing.assert_array_equal(by_words.indices, by_rows.indices)
    with pytest.raises(InputError, match="no vector for 'nosuchword'"):
        retriever.top_words(5, ["nosuchword"])


def test_translation_and_induction_use_it_where_it_is(aligned, reranker, tmp_path):
    aligned.with_reranker(reranker).save(tmp_path / "out")
    assert json.loads((tmp_path / "out/rerank/north-south/rerank.json").read_text("utf-8"))["format"]
    loaded = Aligned.load(tmp_path / "out")
    words = list(loaded.spaces["north"].words[300:340])
    plain, ranked = translate(aligned, words), translate(loaded, words)
    assert translate(loaded, words, rerank=False) == plain
    assert translate(loaded, words, rerank=True) == ranked
    assert translate(aligned.with_reranker(reranker), words) == ranked
    assert [t.candidates[0][0] for t in ranked] != [t.candidates[0][0] for t in plain]
    assert all(0 < score <= 1 for t in ranked for _, score in t.candidates)
    assert not translate(loaded, ["nosuchword"])[0].known

    pairs = induce(loaded, limit=340)
    assert [pair.target for pair in pairs.entries[300:]] == [t.candidates[0][0] for t in ranked]
    assert all(pair.confidence == pair.score for pair in pairs.entries)
    assert induce(loaded, limit=340, rerank=False) == induce(aligned, limit=340)


def test_it_serves_its_direction_only(aligned, reranker):
    both = aligned.with_reranker(reranker)
    word = [aligned.spaces["south"].words[10]]
    backwards = {"source": "south", "target": "north"}
    assert translate(both, word, **backwards) == translate(aligned, word, **backwards)
    with pytest.raises(ConfigError, match="no re-ranker for south-north"):
        translate(both, word, **backwards, rerank=True)
    with pytest.raises(ConfigError, match="goes by CSLS"):
        translate(both, ["x", aligned.spaces["north"].words[0]], score="cosine", rerank=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"candidates": 1}, "candidates: must be at least 2"),
        ({"folds": 1}, "folds: must be at least 2"),
        ({"penalty": 0.0}, "penalty: must be above 0"),
        ({"folds": 150}, "needs at least 300 seed words"),
    ],
)
def test_bad_settings_are_refused(related, settings, message):
    with pytest.raises(InputError, match=message):
        train(related, **settings)


def test_bad_input_is_refused(related, tmp_path):
    with pytest.raises(ConfigError, match="at least one aligner"):
        Reranker.train(related.src, related.tgt, related.train, [])
    with pytest.raises(InputError, match="needs Spaces"):
        Reranker.train(related.src.vectors, related.tgt.vectors, related.train, [Procrustes()])  # type: ignore[arg-type]
    nothing = Lexicon([("nosuchword", "neither")])
    with pytest.raises(LexiconError, match="has 0"):
        Reranker.train(related.src, related.tgt, nothing, [Procrustes()])
    # Pairs that are all wrong: no candidate is ever right.
    far = Lexicon([(related.src.words[i], related.tgt.words[-1 - i]) for i in range(20)])
    with pytest.raises(LexiconError, match="too few to learn"):
        Reranker.train(related.src, related.tgt, far, [Procrustes()], candidates=2, threads=1)
    with pytest.raises(InputError, match="not a re-ranker"):
        Reranker.load(tmp_path)


def test_a_damaged_folder_is_refused(reranker, tmp_path):
    reranker.save(tmp_path / "kept")
    file = tmp_path / "kept/rerank.json"
    content = json.loads(file.read_text("utf-8"))
    for damage, message in [
        ("{", "not JSON"),
        ("[]", "not a re-ranker"),
        (json.dumps({**content, "model": content["model"][1:]}), "features are not those"),
        (json.dumps({**content, "model": None}), "not a list"),
        (json.dumps({**content, "further": 2}), "features are not those"),
    ]:
        file.write_text(damage, "utf-8")
        with pytest.raises(FormatError, match=message):
            Reranker.load(tmp_path / "kept")


def test_a_word_with_a_vector_but_outside_the_vocabulary_is_ranked_too(aligned, reranker):
    known = aligned.spaces["north"].words[3]

    class WithSubwords(Aligned):
        def vector(self, name: str, word: str) -> Any:
            return super().vector(name, known if word == "madeup" else word)

    opened = WithSubwords(aligned.spaces, aligned.alignments, means=aligned.means)
    retriever = reranker.retriever(opened, threads=1)
    found, of_known = retriever.top_words(15, ["madeup"]), retriever.top_words(15, [known, known.upper()])
    # The same vector gives the same candidates; frequency and spelling then order them differently.
    assert set(found.indices[0]) == set(of_known.indices[0])
    assert found.scores[0].tolist() != of_known.scores[0].tolist()
    assert np.isfinite(found.scores).all()
