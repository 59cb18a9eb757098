"""The table: means, gaps, tests and the verdict, against figures worked out here."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from isoglot.errors import ConfigError, InputError
from isoglot.text import LabelledSentence
from isoglot.transfer import PairExample, Question, TransferRun, TransferTable
from isoglot.transfer.comparing import paired_figures

LABELS = ("entailment", "neutral", "contradiction")


def nli(accuracies, *, n=60, seeds=(0, 1), source="en", **rest):
    """A table of random predictions that are right for these shares: {encoder: {language: share}}."""
    random = np.random.default_rng(0)
    languages = list(next(iter(accuracies.values())))
    tests = {lang: [PairExample(f"{lang} {i}", "b", LABELS[i % 3]) for i in range(n)] for lang in languages}
    runs = []
    for (encoder, shares), seed in itertools.product(accuracies.items(), seeds):
        for lang, share in shares.items():
            right = random.permutation(n) < round(share * n)
            labels = [LABELS[i % 3] if one else LABELS[(i + 1) % 3] for i, one in enumerate(right)]
            runs.append(TransferRun(encoder, lang, seed, tuple(labels), 2.0))
    return TransferTable("nli", tests, runs, source=source, bootstrap=200, **rest)


TWO = {"raw": {"en": 0.9, "de": 0.5, "tr": 0.4}, "aligned": {"en": 0.9, "de": 0.8, "tr": 0.7}}


def test_figures_means_and_gaps():
    table = nli(TWO)
    assert table.metric == "accuracy"
    assert table["raw", "de"].value == pytest.approx(0.5)
    assert table["raw", "de"].runs == pytest.approx((0.5, 0.5))
    assert table.mean("raw").value == pytest.approx(0.6)
    assert table.mean("raw", source=False).value == pytest.approx(0.45)
    assert table.gap("raw").value == pytest.approx(0.45)
    assert table.gap("aligned").value == pytest.approx(0.15)
    low, high = table.mean("raw", source=False).interval
    assert 0.3 < low < 0.45 < high < 0.6
    assert table.secondary("raw", "de")["macro F1"] == pytest.approx(0.5, abs=0.01)


def test_the_interval_over_seeds_knows_that_runs_differ():
    tests = {"de": [PairExample(str(i), "b", "neutral") for i in range(400)]}
    right = {0: 100, 1: 200, 2: 300}
    runs = [TransferRun("a", "de", seed, ("neutral",) * n + ("entailment",) * (400 - n)) for seed, n in right.items()]
    figure = TransferTable("nli", tests, runs, bootstrap=500).mean("a")
    assert figure.runs == (0.25, 0.5, 0.75)
    (low, high), (lower, higher) = figure.interval, figure.over_seeds
    assert high - low < 0.1
    assert 0.2 < lower < 0.35
    assert 0.65 < higher < 0.8
    assert TransferTable("nli", tests, runs[:1]).mean("a").over_seeds is None


def test_the_better_encoder_is_named_with_its_significance():
    table = nli(TWO)
    assert table.ranking() == ["aligned", "raw"]
    test = table.differences["aligned", ""]
    assert test.difference == pytest.approx(0.3)
    assert test.p_value < 0.01
    assert test.interval[0] > 0
    assert table.differences["aligned", "en"].p_value > 0.5
    assert table.verdict().startswith("aligned transfers better than raw: accuracy over de, tr 75.0 against 45.0")
    assert table.verdict().endswith("in every run")


def test_encoders_that_do_not_differ_are_not_ranked_in_words():
    table = nli({"a": {"en": 0.9, "de": 0.5}, "b": {"en": 0.9, "de": 0.52}})
    assert table.verdict().startswith("b and a cannot be told apart: ")
    assert "*" not in repr(table)


def test_one_run_says_so_and_one_encoder_has_no_rival():
    assert nli(TWO, seeds=(3,)).verdict().endswith("one run each: another seed may change it")
    assert nli({"a": {"de": 0.5}}).verdict().startswith("a: accuracy over de 50.0 (")


def test_the_printed_table():
    table = nli(TWO, not_tested={"fi": "no file"})
    assert repr(table).splitlines() == [
        "inference, accuracy in %, trained on en",
        "language                raw     aligned",
        "en                     90.0        90.0",
        "de                     50.0       80.0*",
        "tr                     40.0       70.0*",
        "mean                   60.0        80.0",
        "mean without en        45.0       75.0*",
        "gap to en              45.0        15.0",
        "fi               not tested  not tested",
    ]
    assert "<table>" in table._repr_html_()
    head, rows, _ = table.tests_table()
    assert [row[:4] for row in rows][-1] == ["aligned", "raw", "all but en", "+30.0"]
    assert len(head) == len(rows[0])


def test_without_the_source_or_others_rows_are_left_out():
    assert [row[0] for row in nli({"a": {"de": 0.5, "tr": 0.5}}).table()[1]] == ["de", "tr", "mean"]
    only = nli({"a": {"en": 0.5}, "b": {"en": 0.9}})
    assert [row[0] for row in only.table()[1]] == ["en"]
    assert (only.gap("a"), only.mean("a", source=False)) == (None, None)
    assert only.verdict().startswith("b transfers better than a: accuracy over en")


def test_the_record_is_plain_data():
    record = json.loads(json.dumps(nli(TWO, settings={"epochs": 3}).record(), allow_nan=False))
    assert record["figures"]["raw"]["de"]["value"] == pytest.approx(0.5)
    assert record["means"]["aligned"]["gap"]["value"] == pytest.approx(0.15)
    assert record["best"] == "aligned"
    assert record["seconds"] == {"raw": 12.0, "aligned": 12.0}
    confusion = record["confusions"]["raw"]["de"]
    assert confusion["labels"] == sorted(LABELS)
    assert sum(map(sum, confusion["counts"])) == 120
    assert sum(confusion["counts"][i][i] for i in range(3)) == 60
    mistake = record["worst"]["tr"][0]
    assert mistake["gold"] != mistake["predicted"]["aligned"]
    assert mistake["value"] == 0


def test_names_and_answers_that_went_wrong_are_shown():
    sentences = [LabelledSentence(["Ada", "sees", "New", "York"], ["B-PER", "O", "B-LOC", "I-LOC"])] * 2
    runs = [TransferRun("a", "de", 0, (("B-PER", "O", "B-LOC", "I-LOC"), ("O", "O", "O", "B-LOC")))]
    (mistake,) = TransferTable("ner", {"de": sentences}, runs, bootstrap=0).worst("a", "de")
    assert (mistake.index, mistake.gold) == (1, "Ada (PER); New York (LOC)")
    assert mistake.predicted == {"a": "York (LOC)"}
    tags = TransferTable("pos", {"de": sentences}, runs, bootstrap=0)
    assert tags.worst("a", "de")[0].predicted == {"a": "Ada/O sees/O New/O York/B-LOC"}
    assert TransferTable("ner", {"de": sentences}, runs).confusion("a", "de").share("LOC", "O") == 0.25
    asked = [Question("1", "Where?", "in Paris", ("Paris",), (3,))]
    answers = TransferTable("qa", {"de": asked}, [TransferRun("a", "de", 0, ("",))], bootstrap=0)
    assert (answers.metric, answers["a", "de"].value, answers.confusion("a", "de")) == ("F1", 0, None)
    assert (answers.worst("a", "de")[0].gold, answers.worst("a", "de")[0].predicted) == ("Paris", {"a": "(no answer)"})


def test_what_cannot_be_tabulated():
    table = nli(TWO)
    with pytest.raises(ConfigError, match="alinged"):
        table["alinged", "de"]
    with pytest.raises(ConfigError, match="fi"):
        table["raw", "fi"]
    with pytest.raises(InputError, match="no runs"):
        TransferTable("nli", table.tests, [])
    with pytest.raises(InputError, match="same seeds"):
        TransferTable("nli", table.tests, table.runs[:-1])
    with pytest.raises(InputError, match="no test examples"):
        TransferTable("nli", {}, table.runs)


def test_the_p_value_is_that_of_all_swaps():
    """Of few examples all swaps can be tried: the random ones must come to the same share."""
    random = np.random.default_rng(5)
    a, b = ({"right": random.integers(0, 3, 8), "found": random.integers(3, 6, 8)} for _ in range(2))
    ratios = [np.stack([2 * one["right"], one["found"] + 4], axis=1)[:, None].astype(float) for one in (a, b)]
    observed = np.subtract(*(one.sum(axis=0)[0, 0] / one.sum(axis=0)[0, 1] for one in ratios))
    differences = []
    for swaps in itertools.product([False, True], repeat=8):
        mask = np.array(swaps)[:, None, None]
        sums = [np.where(mask, one, other).sum(axis=0)[0] for one, other in (ratios, ratios[::-1])]
        differences.append(sums[0][0] / sums[0][1] - sums[1][0] / sums[1][1])
    exact = np.mean(np.abs(differences) >= abs(observed) - 1e-9)
    test = paired_figures("F1", [ratios[0]], [ratios[1]], repeats=20_000)
    assert test.p_value == pytest.approx(exact, abs=0.015)
    assert test.difference == pytest.approx(observed)


def test_only_results_on_the_same_examples_are_compared():
    with pytest.raises(InputError, match="same test sets"):
        paired_figures("F1", [np.ones((3, 1, 2))], [np.ones((4, 1, 2))])
