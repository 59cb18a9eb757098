"""Static vectors out of the tiny encoder and back into it: all stages, what is kept, what is claimed."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from isoglot.distill import DistillSettings
from isoglot.encoders import Encoder
from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.reproductions.static_contextual import stages as recipe, words
from isoglot.reproductions.static_contextual.claims import claims_of
from isoglot.reproductions.static_contextual.findings import EncoderRow, SentenceFigure, StaticRow, WordFigure
from isoglot.reproductions.static_contextual.plan import Experiment, Trials
from isoglot.reproductions.static_contextual.report import (
    encoder_rows,
    retrieval_rows,
    similarity_rows,
    translation_rows,
    write_static_page,
)
from isoglot.reproductions.static_contextual.words import Aligning
from isoglot.spaces import Space
from isoglot.tasks import WordPair
from isoglot.text import ParallelText

pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")

SMALL = {"blocks": 4, "block_length": 32, "words": 64, "evaluate_every": 2}
DISTILL = {"segmenter": "spaces", "min_tokens": 3, "min_count": 3, "sample": 0.01, "rate": 0.01}


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def experiment(tiny_folder, all_text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for lang, side in (("en", all_text.src[:300]), ("de", all_text.tgt[300:600])):
        (folder / f"{lang}.txt").write_text("".join(" ".join(line) + "\n" for line in side), "utf-8")
    return Experiment(
        {lang: folder / f"{lang}.txt" for lang in ("en", "de")},
        str(tiny_folder),
        Aligning("en", method="procrustes"),
        distill=DISTILL,
        training=SMALL,
        steps=2,
        words=50,
        seeds=2,
    )


@pytest.fixture(scope="module")
def tests(all_text, parallel, lines):
    sentences = ParallelText("de", "en", tuple(lines[1][:40]), tuple(lines[0][:40]))
    known = [src for src, _ in all_text.lexicon.pairs[:12]]
    judged = [WordPair(a, b, float(score)) for score, (a, b) in enumerate(itertools.pairwise(known))]
    return Trials({"de": all_text.lexicon}, {"de": sentences}, {"known": (("en", "en"), judged)})


@pytest.fixture(scope="module")
def done(experiment, tests, tmp_path_factory):
    """What a run came to that was killed in its second training and went on; its folder; what makes it again."""
    folder = tmp_path_factory.mktemp("static") / "out"
    with pytest.MonkeyPatch.context() as patch:
        begun = []

        def kill(fine):
            begun.append(fine)
            if len(begun) == 2:
                raise Killed
            return fine_tune(fine)

        fine_tune = recipe.fine_tune
        patch.setattr(recipe, "fine_tune", kill)
        with pytest.raises(Killed):
            recipe.static_contextual(experiment, tests, folder)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("distill_together", "align_static"):
            patch.setattr(words, name, lambda *given, **named: pytest.fail("made again"))
        document = recipe.static_contextual(experiment, tests, folder)
    return document, folder


def test_all_stages_have_figures(done):
    document, folder = done
    assert [(row.method, row.seed) for row in document.static] == [
        ("x2static", 0),
        ("x2static", 1),
        ("aggregate", 0),
    ]
    for row in document.static:
        assert set(row.bli) == {"as distilled", "normalised", "aligned"}
        assert all(0 <= one.different <= 1 for state in row.bli.values() for one in state["de"].values())
        for state in row.bli.values():
            assert set(state["de"]) == {"en-de", "de-en"}
            assert all(0 <= one.interval[0] <= one.value <= 1 and one.n > 50 for one in state["de"].values())
        assert row.similarity["as distilled"]["known"].n > 5
        assert row.choices["de"]["induction"]["pairs"] > 0
    asked = {one.n for row in document.static for state in row.bli.values() for one in [state["de"]["en-de"]]}
    assert len(asked) == 1  # all methods have the same words
    objectives = ["start", *(["mlm", "static-mse", "static-dcca"] * 2)]
    assert [row.objective for row in document.encoders] == objectives
    for row in document.encoders:
        assert set(row.retrieval["de"]) == {"cosine", "csls"}
        assert set(row.words["de"]) == {"en-de", "de-en"}
        if row.seed is not None:
            assert row.training["steps"] == 2
            assert row.training["after"]["mlm"] > 0
    assert document.skipped == {}
    assert document.encoder.static_layer == "1"
    assert not list(folder.glob("models/*/training/checkpoints"))
    json.dumps(document.record(), allow_nan=False)


def test_a_finished_run_is_only_read(done, experiment, tests, monkeypatch):
    document, folder = done
    for name in ("fine_tune", "tatoeba", "encode_words", "translated_words"):
        monkeypatch.setattr(recipe, name, lambda *given, **named: pytest.fail("made again"))
    again = recipe.static_contextual(experiment, tests, folder)
    assert again == document
    assert json.dumps(again.record()) == json.dumps(document.record())


def test_other_vectors_induce_dictionaries_and_teach(done, experiment, tests, tmp_path, monkeypatch):
    _, folder = done
    (others,) = (folder / "static").glob("aggregate-*")
    (teacher,) = (folder / "aligned").glob("aggregate-*")
    vectors = {lang: others / f"{lang}.safetensors" for lang in experiment.texts}
    aligning = Aligning("en", "as-is", "procrustes", vectors)
    monkeypatch.setattr(recipe, "OBJECTIVES", ("static-dcca",))
    monkeypatch.setattr(recipe, "METHODS", ("aggregate",))
    other = dataclasses.replace(experiment, aligning=aligning, towards=str(teacher), seeds=1)
    document = recipe.static_contextual(other, tests, tmp_path)
    assert document.static[0].choices["de"]["induction"]["on"] == "other vectors"
    assert document.experiment["towards"] == teacher.name
    (row,) = (one for one in document.encoders if one.objective == "static-dcca")
    (log,) = tmp_path.glob("models/static-dcca-seed0-*/training/recipe.json")
    assert json.loads(log.read_text())["static"] == dict.fromkeys(experiment.texts, str(teacher))
    assert row.training["steps"] == 2


def test_vectors_of_other_languages_induce_nothing(experiment, tmp_path):
    for vectors in ({"de": tmp_path}, {"en": tmp_path, "fr": tmp_path}):
        with pytest.raises(ConfigError, match="vectors to induce dictionaries on are of"):
            dataclasses.replace(experiment, aligning=Aligning("en", vectors=vectors))


def test_tables_and_page(done, tmp_path):
    document, _ = done
    head, rows = translation_rows(document)
    assert head[1:3] == ["en-xx", "xx-en"]
    assert [row[0] for row in rows[:3]] == [
        "X2S-M: X2Static, as distilled",
        "X2Static, normalised",
        "X2S-MA: X2Static, aligned",
    ]
    assert rows[0][-2:] == ["0.5211", "0.5900"]
    assert rows[3][-2:] == ["-", "-"]
    assert similarity_rows(document)[0][1].startswith("known (")
    rows = encoder_rows(document)[1]
    assert [row[-1] for row in rows] == ["-", "0.5035", "0.6087", "0.1005", "0.6806"]
    assert rows[0][0] == "static vectors alone"
    assert rows[0][4:8] == ["-"] * 4  # no words alone, nothing masked
    assert all(cell != "-" for row in rows[2:] for cell in row)
    assert retrieval_rows(document)[0] == ["encoder", "de", "mean"]
    write_static_page(tmp_path / "report.html", document)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "58.41/65.60 against 52.11/59.00" in page
    assert "68.06 against 60.87" in page
    assert page.count('class="plot"') == 2


def static_row(method, seed, **states):
    """Every P@1 of a state is one number, and a tenth of it for words of another form; there are none to German."""
    figures = {
        state: {"de": {"en-de": WordFigure(value), "de-en": WordFigure(value, different=value / 10)}}
        for state, value in states.items()
    }
    return StaticRow(method, seed, {}, {}, {"as distilled": {}, "normalised": {}, "aligned": {}} | figures, {})


def encoder_row(objective, seed, value):
    return EncoderRow(objective, seed, {"de": {"cosine": SentenceFigure(value)}})


def test_claims_go_by_the_interval_over_seeds():
    static = [
        static_row(
            "x2static", seed, **{"as distilled": 0.2 + noise, "normalised": 0.41 - noise, "aligned": 0.4 + noise}
        )
        for seed, noise in enumerate((0.0, 0.01, 0.02))
    ]
    static.append(static_row("aggregate", 0, **{"as distilled": 0.1, "normalised": 0.1, "aligned": 0.5}))
    encoders = [encoder_row("start", None, 0.1)]
    for seed, (mlm, mse, dcca) in enumerate([(0.3, 0.1, 0.2), (0.31, 0.12, 0.5), (0.32, 0.1, 0.4)]):
        encoders += [
            encoder_row("mlm", seed, mlm),
            encoder_row("static-mse", seed, mse),
            encoder_row("static-dcca", seed, dcca),
        ]
    found = claims_of(static, encoders)
    assert [one.verdict for one in found] == [
        "shown",
        "contradicted",
        "shown",
        "contradicted",
        "shown",
        "undecided",
        "undecided",
        "shown",
    ]
    assert found[2].differences == pytest.approx((0.01, 0.011, 0.012))
    assert found[0].differences == pytest.approx((0.1, 0.11, 0.12))
    assert found[0].numbers == "0.210 against 0.100, difference +0.110 (95% +0.085 to +0.135 over 3 runs)"
    assert found[6].shown is None
    assert found[7].numbers.startswith("0.310 against 0.107,")


def test_claims_that_cannot_be_told():
    static = [static_row("x2static", 4, **{"as distilled": 0.2}), static_row("aggregate", 4, **{"as distilled": 0.1})]
    claims = claims_of(static, [])
    found = [one.verdict for one in claims]
    assert (found[0], found[2]) == ("undecided",) * 2
    assert {found[1], *found[3:]} == {"not tested"}
    assert claims[0].numbers.endswith("(one run)")
    assert claims[1].record()["shown"] is None


def test_an_encoder_without_a_head_is_told(experiment, headless_folder):
    encoder, skipped = recipe.open_start(experiment, str(headless_folder))
    assert set(skipped) == {"mlm", "static-mse", "static-dcca"}
    assert "has no head for masked tokens" in skipped["mlm"]
    assert "set `new_head`" in skipped["mlm"]
    assert isinstance(encoder, Encoder)


def test_teachers_are_tested_by_themselves(done, experiment, tests):
    """Against the same computed by hand."""
    document, folder = done
    assert [row.seed for row in document.teachers] == [0, 1]
    row = document.teachers[1]
    spaces = {lang: Space.load(folder / "aligned" / row.vectors / f"{lang}.safetensors") for lang in ("en", "de")}
    sides = []
    for lang, side in (("de", tests.sentences["de"].src), ("en", tests.sentences["de"].tgt)):
        known = [[word for word in line.split() if word in spaces[lang]] for line in side]
        assert sum(map(len, known)) > 100
        sides.append(np.array([np.mean([spaces[lang].vector(word) for word in line], axis=0) for line in known]))
    X, Y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    hits = (X @ Y.T).argmax(axis=1) == np.arange(len(X))
    assert row.retrieval["de"]["cosine"].to_pivot == pytest.approx(hits.mean())


def test_a_text_without_known_words_has_no_vector():
    space = Space("en", ["cat", "sat"], np.array([[1, 0], [0, 1]]))
    settings = DistillSettings(segmenter="spaces")
    means = words.mean_of_words(space, ["The CAT sat", "dogs bark", ""], settings)
    assert means.tolist() == [[0.5, 0.5], [0, 0], [0, 0]]


def test_other_dimensions_leave_mse_out(experiment, tiny_folder, tmp_path):
    beside = dataclasses.replace(experiment, layer="1,2")
    skipped = recipe.open_start(beside, str(tiny_folder))[1]
    assert skipped == {"static-mse": "static vectors have 128 dimensions, the encoder 64"}
    for lang in experiment.texts:
        Space(lang, ["a", "b"], np.eye(2, 5)).save(tmp_path / f"{lang}.safetensors")
    towards = dataclasses.replace(experiment, towards=str(tmp_path))
    skipped = recipe.open_start(towards, str(tiny_folder))[1]
    assert skipped == {"static-mse": "static vectors have 5 dimensions, the encoder 64"}


def test_words_that_are_not_written_alike_are_counted_apart():
    """Cat and dog are mistaken for each other; only the radio is right."""
    en = Space("en", ["radio", "cat", "dog"], np.eye(3))
    de = Space("de", ["radio", "hund", "katze"], np.eye(3))
    test = Lexicon([("radio", "radio"), ("cat", "katze"), ("dog", "hund")], "en", "de")
    found = words.translated_words({"en": en, "de": de}, "en", {"de": test})["de"]
    assert {name: (one.value, one.different) for name, one in found.items()} == {
        "en-de": (pytest.approx(1 / 3), 0.0),
        "de-en": (pytest.approx(1 / 3), 0.0),
    }
    alike = words.translated_words({"en": en, "de": de}, "en", {"de": Lexicon([("radio", "radio")], "en", "de")})
    assert alike["de"]["en-de"].different is None
