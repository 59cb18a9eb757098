"""Comparisons: one table for all, resumable, and a method that cannot run is a line, not an end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.pipelines import align_pair, compare, contenders, split_lexicon
from isoglot.pipelines.compare import Row
from isoglot.report import comparison_section
from isoglot.simulate import simulate_pair


@pytest.fixture(scope="module")
def data():
    pair = simulate_pair(n_words=700, dim=20, noise=0.6, seed=2)
    train, test = split_lexicon(pair.lexicon, pair.src, pair.tgt)
    return pair.src, pair.tgt, train, test


def test_rows_are_ranked_and_told_apart(data):
    src, tgt, train, test = data
    chosen = contenders(["identity", "procrustes", "least-squares,ridge=0.5"])
    outcome = compare(src, tgt, chosen, train=train, test=test)
    means = [row.mean for row in outcome.rows]
    assert means == sorted(means, reverse=True)
    last = outcome.rows[-1]
    assert last.label == "identity"
    assert last.p_value is not None
    assert last.p_value < 0.01
    assert outcome.rows[0].p_value is None
    assert {row.label for row in outcome.rows} == {"identity", "procrustes", "least-squares,ridge=0.5"}
    json.dumps(outcome.record(), allow_nan=False)


def test_finished_runs_are_not_repeated(data, tmp_path, monkeypatch):
    src, tgt, train, test = data
    first = compare(src, tgt, contenders(["procrustes"]), train=train, test=test, folder=tmp_path)

    def refuse(*_, **__):
        raise AssertionError("ran again")

    monkeypatch.setattr("isoglot.pipelines.compare.align_pair", refuse)
    again = compare(src, tgt, contenders(["procrustes"]), train=train, test=test, folder=tmp_path)
    assert again.rows[0].values == first.rows[0].values
    with pytest.raises(AssertionError, match="ran again"):
        compare(src, tgt, contenders(["procrustes"]), train=train.head(50), test=test, folder=tmp_path)


def test_a_method_that_cannot_run_says_why(data):
    src, tgt, train, test = data
    narrow = tgt.with_vectors(tgt.vectors[:, :10])
    outcome = compare(src, narrow, contenders(["procrustes", "cca"]), train=train, test=test)
    failed = next(row for row in outcome.rows if row.label == "procrustes")
    assert failed.mean is None
    assert "dimensions" in failed.note
    assert next(row for row in outcome.rows if row.label == "cca").mean is not None


def test_unknown_methods_and_settings_stop_before_anything_runs():
    with pytest.raises(ConfigError, match="did you mean"):
        contenders(["procrustis"])
    with pytest.raises(ConfigError, match="did you mean"):
        contenders(["cca,kep=0.5"])
    assert contenders(["procrustes,normalise=unit+centre"])[0].settings == {"normalise": "unit,centre"}


def test_methods_that_can_do_without_pairs_get_none(data, monkeypatch):
    src, tgt, train, test = data
    given = {}

    def look(src, tgt, chosen, *, train, **_):
        given[chosen.method.name] = train
        raise ConfigError("seen")

    monkeypatch.setattr("isoglot.pipelines.compare.align_pair", look)
    compare(src, tgt, contenders(["procrustes", "vecmap-identical", "cognates"]), train=train, test=test)
    assert given == {"procrustes": train, "vecmap-identical": None, "cognates": None}


def test_a_verdict_is_brief_and_a_failure_is_told_in_full():
    judged = Row("a", "muse", "unsupervised", values=(0.1,), note="not aligned: below chance")
    failed = Row("b", "cca", "supervised", note="en.vec: no pairs")
    assert (judged.brief, failed.brief) == ("not aligned", "en.vec: no pairs")


def test_the_interval_belongs_to_the_mean_and_the_spread_is_shown(data, monkeypatch):
    """Runs far apart: the first run's interval left the mean out, and nothing told that seeds differ."""
    src, tgt, train, test = data
    real = align_pair

    def by_seed(src, tgt, chosen, **rest):
        """The second seed learns from shuffled pairs."""
        train = rest["train"]
        if chosen.seed == 1:
            train = Lexicon([(a, b) for (a, _), (_, b) in zip(train, [*train][::-1], strict=True)])
        return real(src, tgt, chosen, **{**rest, "train": train})

    monkeypatch.setattr("isoglot.pipelines.compare.align_pair", by_seed)
    outcome = compare(src, tgt, contenders(["rcsls,iterations=1", "procrustes"]), train=train, test=test, seeds=2)
    row = next(row for row in outcome.rows if row.method == "rcsls")
    assert row.spread == (min(row.values), max(row.values))
    assert row.spread[1] - row.spread[0] > 0.3
    assert row.interval[0] < row.mean < row.interval[1]
    assert row.interval[1] - row.interval[0] < 0.2
    record = row.record()
    assert record["spread"] == [min(row.values), max(row.values)]
    assert record["deviation"] == pytest.approx(np.std(row.values, ddof=1))
    single = next(row for row in outcome.rows if row.label == "procrustes")
    assert (single.spread, single.record()["deviation"]) == (None, None)
    page = comparison_section("Methods", [one.record() for one in outcome.rows], "P@1").body
    assert "lowest to highest run" in page
