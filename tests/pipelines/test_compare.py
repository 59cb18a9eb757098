"""Comparisons: one table for all, resumable, and a method that cannot run is a line, not an end."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys

import numpy as np
import pytest

from isoglot.aligners import Procrustes
from isoglot.errors import ConfigError, LexiconError
from isoglot.lexicons import Lexicon, split_lexicon
from isoglot.pipelines import Row, align_pair, compare, contenders
from isoglot.report import comparison_section
from isoglot.simulate import simulate_pair


@pytest.fixture(scope="module")
def data():
    pair = simulate_pair(n_words=700, dim=20, noise=0.6, seed=2)
    return pair.src, pair.tgt, pair.lexicon


@pytest.fixture
def replace_align_pair(monkeypatch):
    # By name the function of the same name in the room's front would be found.
    return functools.partial(monkeypatch.setattr, sys.modules["isoglot.pipelines.compare"], "align_pair")


def test_rows_are_ranked_and_told_apart(data):
    src, tgt, lexicon = data
    outcome = compare(src, tgt, lexicon, ["identity", "procrustes", "least-squares,ridge=0.5"])
    means = [row.mean for row in outcome.rows]
    assert means == sorted(means, reverse=True)
    last = outcome.rows[-1]
    assert last.label == "identity"
    assert last.p_value is not None
    assert last.p_value < 0.01
    assert outcome.rows[0].p_value is None
    assert {row.label for row in outcome.rows} == {"identity", "procrustes", "least-squares,ridge=0.5"}
    json.dumps(outcome.record(), allow_nan=False)


def test_finished_runs_are_not_repeated(data, tmp_path, replace_align_pair):
    src, tgt, lexicon = data
    first = compare(src, tgt, lexicon, ["procrustes"], folder=tmp_path)

    def refuse(*_, **__):
        raise AssertionError("ran again")

    replace_align_pair(refuse)
    again = compare(src, tgt, lexicon, ["procrustes"], folder=tmp_path)
    assert again.rows[0].values == first.rows[0].values
    with pytest.raises(AssertionError, match="ran again"):
        compare(src, tgt, lexicon, ["procrustes"], most_pairs=50, folder=tmp_path)


def test_a_method_that_cannot_run_says_why(data):
    src, tgt, lexicon = data
    narrow = tgt.with_vectors(tgt.vectors[:, :10])
    outcome = compare(src, narrow, lexicon, ["procrustes", "cca"])
    failed = next(row for row in outcome.rows if row.label == "procrustes")
    assert failed.mean is None
    assert "dimensions" in failed.note
    assert next(row for row in outcome.rows if row.label == "cca").mean is not None


def test_unknown_methods_and_settings_stop_before_anything_runs():
    with pytest.raises(ConfigError, match="did you mean"):
        contenders(["procrustis"])
    with pytest.raises(ConfigError, match="did you mean"):
        contenders(["cca,kep=0.5"])
    assert contenders(["procrustes,normalise=unit,centre"])[0].aligner == Procrustes(normalise="unit,centre")


def test_methods_that_can_do_without_pairs_get_none(data, replace_align_pair):
    src, tgt, lexicon = data
    given = {}

    def look(src, tgt, chosen, *, train, **_):
        given[chosen.method.name] = train
        raise ConfigError("seen")

    replace_align_pair(look)
    compare(src, tgt, lexicon, ["procrustes", "vecmap-identical", "cognates"])
    train = split_lexicon(lexicon, src, tgt)[0]
    assert given == {"procrustes": train, "vecmap-identical": None, "cognates": None}


def test_a_verdict_is_brief_and_a_failure_is_told_in_full():
    judged = Row("a", "muse", "unsupervised", values=(0.1,), note="not aligned: below chance")
    failed = Row("b", "cca", "supervised", note="en.vec: no pairs")
    assert (judged.brief, failed.brief) == ("not aligned", "en.vec: no pairs")


def test_the_interval_belongs_to_the_mean_and_the_spread_is_shown(data, replace_align_pair):
    """Runs far apart: the first run's interval left the mean out, and nothing told that seeds differ."""
    src, tgt, lexicon = data
    real = align_pair

    def by_seed(src, tgt, chosen, **rest):
        """The second seed learns from shuffled pairs."""
        train = rest["train"]
        if chosen.seed == 1:
            train = Lexicon([(a, b) for (a, _), (_, b) in zip(train, [*train][::-1], strict=True)])
        return real(src, tgt, chosen, **{**rest, "train": train})

    replace_align_pair(by_seed)
    outcome = compare(src, tgt, lexicon, ["rcsls,iterations=1", "procrustes"], runs=2)
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


@dataclasses.dataclass(frozen=True)
class Mirror(Procrustes):
    """A method of a user's own."""

    method = dataclasses.replace(Procrustes.method, name="mirror")
    times: int = 1


def test_files_pairs_and_aligners_of_ones_own_will_do(data, tmp_path):
    src, tgt, lexicon = data
    src.save(tmp_path / "en.vec")
    tgt.save(tmp_path / "fr.vec")
    lexicon.save(tmp_path / "en-fr.txt")
    mine = [Mirror(times=2), Procrustes(seed=4), "procrustes,normalise=unit"]
    first = compare(tmp_path / "en.vec", str(tmp_path / "fr.vec"), tmp_path / "en-fr.txt", mine, held_out=100)
    assert {row.label for row in first} == {"mirror,times=2", "procrustes", "procrustes,normalise=unit"}
    assert first["mirror,times=2"].values == first["procrustes"].values
    again = compare(src, tgt, list(lexicon), Procrustes(), held_out=100)
    assert len(again) == 1
    assert again["procrustes"].mean == pytest.approx(first["procrustes"].mean, abs=0.03)
    assert (first.n, again.n) == (100, 100)
    with pytest.raises(ConfigError, match="did you mean 'procrustes'"):
        first["procrustis"]


def test_a_test_of_its_own_leaves_the_lexicon_whole(data):
    src, tgt, lexicon = data
    test = list(lexicon)[400:]
    outcome = compare(src, tgt, lexicon.head(300), "procrustes", test=test)
    assert (outcome.pairs, outcome.n) == (len(lexicon.head(300)), len({source for source, _ in test}))
    with pytest.raises(LexiconError, match="give `test`"):
        compare(src, tgt, lexicon.head(10), "procrustes")


def test_it_is_shown_as_a_small_table(data):
    src, tgt, lexicon = data
    outcome = compare(src, tgt, lexicon, ["procrustes", "identity"], missing=[("<b>", "an encoder")])
    title, head, *rows = repr(outcome).splitlines()
    assert "test words" in title
    assert head.split()[:3] == ["method", "pairs", "P@1"]
    assert [row.split()[0] for row in rows] == ["procrustes", "identity", "<b>"]
    assert "&lt;b&gt;" in outcome._repr_html_()
