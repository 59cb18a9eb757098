"""Metrics against independent computations: seqeval, scikit-learn, and answers worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import accuracy_score, f1_score as label_f1

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.text import LabelledSentence
from isoglot.transfer import PairExample, Question, score
from isoglot.transfer.answers import answer_f1, exact_match
from isoglot.transfer.entities import entities

LABELS = ("O", *(f"{tag}-{kind}" for tag in "BIES" for kind in ("PER", "LOC")))
sequences = st.lists(st.sampled_from(LABELS), max_size=12)


@given(sequences)
def test_names_are_those_that_seqeval_finds(labels):
    assert entities(labels) == get_entities(labels)


@settings(max_examples=50)
@given(st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_f1_of_names_agrees_with_seqeval(data):
    words = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=6)
    pairs = [[("B-PER", "O")], *data.draw(st.lists(words, max_size=5))]
    gold = [[right for right, _ in one] for one in pairs]
    given_labels = [[found for _, found in one] for one in pairs]
    sentences = [LabelledSentence(["w"] * len(one), one) for one in gold]
    results = score("ner", sentences, given_labels, bootstrap=0)
    assert [one.metric for one in results] == ["F1", "precision", "recall"]
    expected = [metric(gold, given_labels) for metric in (f1_score, precision_score, recall_score)]
    assert [one.value for one in results] == pytest.approx(expected)


@pytest.mark.parametrize("task", ["nli", "pos"])
def test_labels_agree_with_scikit_learn(task):
    random = np.random.default_rng(0)
    gold = random.choice(["a", "b", "c"], size=60).tolist()
    predicted = random.choice(["a", "b", "d"], size=60).tolist()
    if task == "nli":
        results = score(task, [PairExample("x", "y", label) for label in gold], predicted)
    else:
        cut = [0, 1, 20, 41, 60]
        parts = [slice(a, b) for a, b in itertools.pairwise(cut)]
        sentences = [LabelledSentence(["w"] * len(gold[part]), gold[part]) for part in parts]
        results = score(task, sentences, [predicted[part] for part in parts])
    assert results["accuracy"] == pytest.approx(accuracy_score(gold, predicted))
    assert results["macro F1"] == pytest.approx(label_f1(gold, predicted, average="macro", zero_division=0.0))
    low, high = results[0].interval
    assert low <= results["accuracy"] <= high


#: Worked out by hand from the definition: lower case, no punctuation, no articles; F1 = 2 * common / (words of both).
@pytest.mark.parametrize(
    ("answer", "right", "language", "f1", "exact"),
    [
        ("the Eiffel Tower!", ["Eiffel tower"], "en", 1, 1),
        ("An owl, a cat", ["owl cat"], "en", 1, 1),
        ("theatre", ["atre"], "en", 0, 0),
        ("tower in Paris", ["the Eiffel Tower"], "en", 2 / 5, 0),
        # A word counts as often as both sides have it.
        ("new new york", ["new york"], "en", 4 / 5, 0),
        # The best of several answers.
        ("Paris", ["London", "Paris, France", "in Paris"], "en", 2 / 3, 0),
        ("Paris", ["London", "paris."], "en", 1, 1),
        # Hyphens and dots vanish, so that words grow together.
        ("twenty-one", ["twenty one"], "en", 0, 0),
        ("U.S.", ["us"], "en", 1, 1),
        ("$5", ["5"], "en", 1, 1),
        ("„Der Spiegel“", ["spiegel"], "de", 1, 1),
        ("der Spiegel", ["Spiegel"], "en", 2 / 3, 0),
        ("the Spiegel", ["Spiegel"], "de", 2 / 3, 0),
        ("¿El gato?", ["un gato"], "es", 1, 1),
        ("la casa de las flores", ["casa de flores"], "es", 1, 1),
        ("những con mèo", ["con mèo"], "vi", 1, 1),
        ("الكتاب", ["كتاب"], "ar", 1, 1),
        ("चाँद।", ["चाँद"], "hi", 1, 1),
        # No articles are known: none are taken off.
        ("le chat", ["chat"], "fr", 2 / 3, 0),
        ("the cat", ["cat"], "", 2 / 3, 0),
        # Single characters are words where blanks do not separate them.
        ("北京大学", ["北京"], "zh", 4 / 6, 0),
        ("在《北京》", ["在 北京"], "zh", 1, 1),
        ("1998年NBA", ["1998 年"], "zh", 4 / 5, 0),
        ("東京タワー", ["東京"], "ja", 4 / 7, 0),
        ("กขค", ["กข"], "th", 4 / 5, 0),
        ("北京大学", ["北京"], "en", 0, 0),
        # No answer is right where there is none.
        ("", [], "en", 1, 1),
        ("Paris", [], "en", 0, 0),
        ("", ["Paris"], "en", 0, 0),
        ("der Spiegel", ["Spiegel"], "de-AT", 1, 1),
    ],
)
def test_answers_worked_out_by_hand(answer, right, language, f1, exact):
    assert answer_f1(answer, right, language) == pytest.approx(f1)
    assert exact_match(answer, right, language) == exact


@given(st.text(max_size=20), st.sampled_from(["en", "de", "ar", "zh", "th", ""]))
def test_an_answer_equals_itself(text, language):
    assert exact_match(text, [text], language) == answer_f1(text, [text], language) == 1


def test_questions_are_scored_by_language():
    questions = [Question("1", "?", "der Spiegel", ("Spiegel",), (4,)), Question("2", "?", "Paris", ("Paris",), (0,))]
    german = score("qa", questions, ["der Spiegel", "Berlin"], language="de")
    assert (german["F1"], german["EM"]) == (0.5, 0.5)
    assert [item["value"] for item in german[0].per_item] == [1.0, 0.0]
    assert score("qa", questions, ["der Spiegel", "Berlin"], language="en")["F1"] == pytest.approx(1 / 3)


def test_intervals_cover_the_truth():
    """95% intervals of the F1 of names hold the figure of the population in about 95% of samples."""
    random = np.random.default_rng(1)
    gold = ["B-PER", "O"]
    hits = 0
    for number in range(60):
        right = random.random(120) < 0.7
        sentences = [LabelledSentence(["w"] * 2, gold)] * 120
        found = [gold if one else ["O", "O"] for one in right]
        low, high = score("ner", sentences, found, bootstrap=200, seed=number).find("recall").interval
        hits += low <= 0.7 <= high
    assert 52 <= hits <= 60


def test_what_cannot_be_scored():
    sentence = LabelledSentence(["Ada"], ["B-PER"])
    with pytest.raises(ShapeError, match="2 predictions for 1 examples"):
        score("ner", [sentence], [["O"], ["O"]])
    with pytest.raises(ShapeError, match="example 0: 2 labels predicted for 1 words"):
        score("pos", [sentence], [["O", "O"]])
    with pytest.raises(InputError, match="no examples"):
        score("nli", [], [])
    with pytest.raises(InputError, match="no names to find"):
        score("ner", [LabelledSentence(["a"], ["O"])], [["O"]])
    with pytest.raises(InputError, match="tagged sentence is needed, not a Question"):
        score("ner", [Question("1", "?", "x")], [["O"]])
    with pytest.raises(InputError, match="one string for each question"):
        score("qa", [sentence], ["x"])
    with pytest.raises(ConfigError, match="nlu"):
        score("nlu", [sentence], [["O"]])
    with pytest.raises(ConfigError, match="bootstrap"):
        score("pos", [sentence], [["O"]], bootstrap=-1)
