"""Learning once more from what re-ranking is sure of."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from isoglot.aligned import Aligned, Reranker
from isoglot.aligners import Procrustes
from isoglot.lexicons import Lexicon
from isoglot.pipelines import feedback
from isoglot.progress import silent
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space


@dataclasses.dataclass(frozen=True)
class Job:
    """Few pairs between two languages that a map of so few finds only in part; half of the words are cognates."""

    src: Space
    tgt: Space
    train: Lexicon
    gold: dict[str, set[str]]
    aligned: Aligned
    reranker: Reranker

    def again(self) -> Any:
        (alignment,) = self.aligned.alignments.values()
        return feedback.learn_from_confident(
            self.src, self.tgt, self.train, Procrustes(), alignment, self.reranker, silent
        )

    def p_at_1(self, aligned: Aligned) -> float:
        asked = [word for word in self.gold if word not in self.train.by_source]
        rows = aligned.retriever(*aligned.names).top(1, rows=self.src.rows(asked)).indices[:, 0]
        return float(np.mean([self.tgt.words[r] in self.gold[w] for w, r in zip(asked, rows.tolist(), strict=True)]))


@pytest.fixture(scope="module")
def job() -> Job:
    pair = simulate_pair(n_words=1200, dim=40, noise=0.8, seed=8, synonyms=0.0)
    sounds = {t: f"{s}o" for number, (s, t) in enumerate(pair.lexicon.pairs) if number % 2}
    tgt = dataclasses.replace(pair.tgt, words=[sounds.get(word, word) for word in pair.tgt.words])
    pairs = [(s, sounds.get(t, t)) for s, t in pair.lexicon.pairs]
    drawn = np.random.default_rng(0).permutation(len(pairs))[:120]
    train = Lexicon([pairs[i] for i in drawn], "north", "south")
    aligned = Aligned.pair(Procrustes().fit(pair.src, tgt, train), pair.src, tgt)
    reranker = Reranker.train(pair.src, tgt, train, [Procrustes()], candidates=15, folds=3, threads=1)
    gold: dict[str, set[str]] = {}
    for source, target in pairs:
        gold.setdefault(source, set()).add(target)
    return Job(pair.src, tgt, train, gold, aligned, reranker)


def test_confident_translations_better_the_map_of_few_pairs(job):
    alignment, facts = job.again()
    assert facts["pairs"] > 200
    before, after = job.p_at_1(job.aligned), job.p_at_1(Aligned.pair(alignment, job.src, job.tgt))
    assert after > before + 0.1
    assert facts["held_out"]["n"] == 40
    assert facts["held_out"]["after"] >= facts["held_out"]["before"]


def test_no_word_of_the_seeds_is_learned_again_and_no_target_twice(job, monkeypatch):
    learned: list[Lexicon] = []
    joined = feedback._joined

    def watch(lexicon: Lexicon, more: list[tuple[str, str]]) -> Lexicon:
        learned.append(Lexicon(more))
        assert not {source for source, _ in more} & set(lexicon.by_source)
        assert len({target for _, target in more}) == len(more)
        return joined(lexicon, more)

    monkeypatch.setattr(feedback, "_joined", watch)
    job.again()
    held_out = set(job.reranker.unseen[0])
    assert len(learned) == 2
    # In the trial the words held out may only be met by what re-ranking says of them.
    assert held_out & set(learned[0].by_source)
    assert not held_out & set(learned[1].by_source)


def test_what_makes_held_out_words_worse_is_not_used(job, monkeypatch):
    found = feedback._confident

    def mixed(*given: Any) -> list[tuple[str, str]]:
        pairs = found(*given)
        targets = np.random.default_rng(0).permutation([target for _, target in pairs]).tolist()
        return [(source, target) for (source, _), target in zip(pairs, targets, strict=True)]

    monkeypatch.setattr(feedback, "_confident", mixed)
    assert job.again() is None


def test_large_spaces_are_tried_on_their_first_words(job, monkeypatch):
    monkeypatch.setattr(feedback, "NEAR", 700)
    small = feedback.near(job.tgt)
    assert list(small.words) == list(job.tgt.words[:700])
    assert job.again() is None or job.again()[1]["pairs"] < 700
