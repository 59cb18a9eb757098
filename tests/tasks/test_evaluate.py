"""`evaluate`: aligned spaces or a pair of them, and tests in any form that people have."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligned import Aligned, Reranker
from isoglot.aligners import Procrustes
from isoglot.errors import ConfigError
from isoglot.simulate import simulate_pair
from isoglot.tasks import Result, Results, WordPair, bli, evaluate, similarity, task, tasks


@pytest.fixture(scope="module")
def pair():
    return simulate_pair(300, 20, 0.6, 1)


@pytest.fixture(scope="module")
def aligned(pair):
    return Aligned.pair(Procrustes().fit(pair.src, pair.tgt, pair.lexicon.head(150)), pair.src, pair.tgt)


def test_it_is_bli_on_the_aligned_spaces(pair, aligned):
    results = evaluate(aligned, pair.lexicon)
    assert results == bli(*aligned.spaces.values(), pair.lexicon)
    assert results == evaluate(tuple(aligned.spaces.values()), pair.lexicon)
    assert 0.2 < results["P@1"] < 1
    other = evaluate(aligned, pair.lexicon, score="cosine", ks=(1,), bootstrap=0)
    assert other[0].protocol["score"] == "cosine"
    assert [result.metric for result in other] == ["P@1", "MRR"] * 2


def test_the_direction_may_be_turned(pair, aligned):
    target, source = aligned.names
    results = evaluate(aligned, pair.lexicon.invert(), source=source, bootstrap=0)
    assert results == bli(aligned.spaces[source], aligned.spaces[target], pair.lexicon.invert(), bootstrap=0)


def test_a_test_is_a_lexicon_a_file_or_pairs(pair, aligned, tmp_path):
    pair.lexicon.save(tmp_path / "test.txt")
    values = {
        evaluate(aligned, given, bootstrap=0)["MRR"]
        for given in (pair.lexicon, tmp_path / "test.txt", str(tmp_path / "test.txt"), list(pair.lexicon))
    }
    assert len(values) == 1


def test_the_re_ranker_is_used_unless_refused(pair, aligned):
    train = pair.lexicon.head(150)
    with_one = aligned.with_reranker(Reranker.train(pair.src, pair.tgt, train, [Procrustes()], candidates=10))
    results = evaluate(with_one, pair.lexicon, bootstrap=0)
    assert results[0].denominator == "in-vocabulary, re-ranked"
    assert evaluate(with_one, pair.lexicon, rerank=False) == evaluate(aligned, pair.lexicon)
    with pytest.raises(ConfigError, match="no re-ranker"):
        evaluate(aligned, pair.lexicon, rerank=True)
    with pytest.raises(ConfigError, match="`score`"):
        evaluate(with_one, pair.lexicon, score="cosine")


def test_other_tasks_over_two_spaces(aligned):
    src, tgt = aligned.spaces.values()
    judged = [WordPair(src.words[i], tgt.words[i // 2], float(i)) for i in range(12)]
    assert evaluate(aligned, judged, task="similarity", bootstrap=0) == similarity(judged, src, tgt, bootstrap=0)
    with pytest.raises(ConfigError, match="no task over two spaces"):
        evaluate(aligned, np.eye(3), task="tatoeba")
    with pytest.raises(ConfigError, match="did you mean 'bli'"):
        evaluate(aligned, judged, task="bll")
    with pytest.raises(ConfigError, match="not 3"):
        evaluate((src, tgt, src), judged)


def test_a_task_of_ones_own_file_and_of_a_decorator(pair, aligned, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from isoglot.tasks import Result, Results\n"
        "def shared(src, tgt, words):\n"
        "    known = [word in src for word in words]\n"
        "    return Results([Result('shared', 'known', sum(known) / len(known), len(known), 1.0, {})])\n"
    )
    words = [pair.src.words[0], "?"]
    assert evaluate(aligned, words, task=f"{tmp_path / 'mine.py'}:shared")["known"] == 0.5
    monkeypatch.setattr("isoglot.tasks.registry._TASKS._things", dict(tasks()))

    @task("constant", "always one")
    def constant(src, tgt, test):
        return Results([Result("constant", "one", 1.0, 1, 1.0, {})])

    assert tasks()["constant"].summary == "always one"
    assert evaluate(aligned, None, task="constant")["one"] == 1.0


def test_entry_points_bring_tasks(aligned, monkeypatch):
    """As a package would that declares one in the group `isoglot.tasks`."""
    from importlib.metadata import EntryPoint

    from isoglot.plugins import Registry

    point = EntryPoint("words", "isoglot.tasks.bli:bli", "isoglot.tasks")
    monkeypatch.setattr("isoglot.plugins.entry_points", lambda group: [point] if group == "isoglot.tasks" else [])
    monkeypatch.setattr("isoglot.tasks.registry._TASKS", Registry("task", "isoglot.tasks", "isoglot.tasks"))
    assert tasks()["words"] is bli
