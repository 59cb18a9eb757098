"""Static vectors to a pivot: aligned where that helps, left alone where not, and told either way."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from scipy.linalg import expm

from isoglot.aligned import Aligned
from isoglot.aligners import Procrustes
from isoglot.distill import DistillSettings
from isoglot.distill.x2static import Examples, SparseAdam, train_examples
from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.lexicons import Lexicon
from isoglot.pipelines import align_static
from isoglot.pipelines.induction import induce_dictionary
from isoglot.pipelines.static_job import MIN_PAIRS, LanguageJob
from isoglot.resumable import from_plain
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space

N, D = 400, 16


def language(name: str, vectors) -> Space:
    return Space(name, [f"{name}{i}" for i in range(len(vectors))], vectors)


@pytest.fixture(scope="module")
def world() -> dict[str, Space]:
    """The pivot, a language that is turned a little, and one that is where it should be."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(N, D)) * np.linspace(2, 0.5, D)
    skew = rng.normal(size=(D, D)) * 0.12
    near = expm(skew - skew.T)
    noise = [0.15 * rng.normal(size=base.shape) for _ in range(2)]
    return {
        "en": language("en", base),
        "turned": language("turned", (base + noise[0]) @ near),
        "same": language("same", base + noise[1]),
    }


@pytest.fixture(scope="module")
def lexicons() -> dict[tuple[str, str], Lexicon]:
    pairs = [(f"en{i}", f"turned{i}") for i in range(N)]
    return {("en", "turned"): Lexicon(pairs, "en", "turned")}


@pytest.fixture(scope="module")
def outcome(world, lexicons):
    return align_static(world, "en", lexicons=lexicons)


def test_a_turned_language_is_turned_back_and_one_in_place_is_left_alone(outcome):
    turned, same = outcome.choices["turned"], outcome.choices["same"]
    assert turned.aligned
    assert turned.after > turned.before
    assert turned.note.startswith("turned: aligned: semantic ")
    assert turned.induction.by == "as-is"
    for figures in turned.bli.values():
        assert figures["after"] > figures["before"]
        assert figures["after"] > 0.9
        assert figures["n"] == N
    assert list(turned.bli) == ["en-turned", "turned-en"]
    assert not same.aligned
    assert same.after <= same.before
    assert same.note.startswith("same: kept as it was: semantic ")
    assert outcome.aligned.alignments["same", "en"].method == "identity"


def test_all_share_the_pivots_normalised_space(outcome, world):
    """Also those that were kept: they are normalised as the others are."""
    en, same = (outcome.spaces[lang].vectors for lang in ("en", "same"))
    np.testing.assert_allclose(np.linalg.norm(en, axis=1), 1, atol=1e-4)
    assert (en * same).sum(axis=1).mean() > 0.9
    assert outcome.spaces["turned"].words == world["turned"].words


def test_a_poor_dictionary_does_no_harm(world):
    """Other vectors that say nothing, of a few of the words: what they induce is garbage, and is not used."""
    rng = np.random.default_rng(1)
    given = {lang: language(lang, rng.normal(size=(80, 6))) for lang in ("en", "same")}
    spaces = {lang: world[lang] for lang in ("en", "same")}
    found = align_static(spaces, "en", dictionary_from=given, inducer="as-is").choices["same"]
    assert found.induction.on == "other vectors"
    assert found.induction.pairs >= MIN_PAIRS
    assert not found.aligned
    assert (found.criterion, found.before, found.after) == ("dictionary", 0.0, 0.0)  # none of its pairs is right
    few = {lang: space.most_frequent(10) for lang, space in given.items()}
    found = align_static(spaces, "en", dictionary_from=few, inducer="as-is").choices["same"]
    assert found.before is None
    assert "pairs were induced" in found.note


def hardly_trained(lang: str, seed: int, *, words: int = 400, dim: int = 256) -> Space:
    """X2Static after 16 steps over 613 targets of an encoder whose contexts are all alike: noise, but for frequency."""
    random = np.random.default_rng([seed, 7])
    counts = np.maximum(1, 2000 // np.arange(1, words + 1))
    shares = np.sqrt(counts) / np.sqrt(counts).sum()
    common = np.random.default_rng(99).normal(size=dim)
    contexts = (4 * (common + 0.5 * random.normal(size=(613, dim))) / np.sqrt(dim)).astype(np.float32)
    drawn = random.choice(words, size=(613, 11), p=shares).astype(np.int32)
    adam = SparseAdam.start(words, dim, 0, lang)
    steps = np.sort(np.arange(613) % 16)
    train_examples(adam, Examples(contexts, drawn, steps), DistillSettings())
    return Space(lang, [f"{lang}{i}" for i in range(words)], adam.vectors, counts=counts)


@pytest.mark.parametrize("seed", [1, 5])
def test_vectors_that_are_noise_are_not_aligned(seed):
    """They share a direction, that of frequency, so that they lie closer than after random rotations."""
    spaces = {lang: hardly_trained(lang, seed + i) for i, lang in enumerate(("en", "fr"))}
    assert np.abs(spaces["en"].vectors - spaces["fr"].vectors).mean() > 1e-4  # each has its own start
    found = align_static(spaces, "en").choices["fr"]
    assert not found.aligned
    if seed == 1:
        assert found.after > found.before  # the case that only the comparison with chance tells
    if found.after > found.before:
        assert "chance" in found.note


def test_the_dictionary_may_come_from_other_vectors(world):
    """The language's own vectors are turned far away; those beside them know who translates whom."""
    rng = np.random.default_rng(2)
    far = np.linalg.qr(rng.normal(size=(D, D)))[0]
    spaces = {"en": world["en"], "far": language("far", world["same"].vectors @ far)}
    given = {"en": world["en"], "far": language("far", world["same"].vectors)}
    found = align_static(spaces, "en", dictionary_from=given, inducer="as-is", aligner=Procrustes())
    assert found.choices["far"].aligned
    rows = (found.spaces["en"].vectors * found.spaces["far"].vectors).sum(axis=1)
    assert rows.mean() > 0.9


@pytest.fixture(scope="module")
def simulated():
    """Two invented languages of a known dictionary, the second turned to a space of its own."""
    return simulate_pair(500, 16, noise=0.4, seed=2, untranslated=0.0, synonyms=0.0, identical=0.15)


@pytest.mark.parametrize("inducer", ["vecmap-unsupervised", "cognates"])
def test_methods_find_the_dictionary_of_languages_apart(simulated, inducer):
    pair = simulated
    lexicons = {("north", "south"): pair.lexicon}
    found = align_static(
        {"north": pair.src, "south": pair.tgt}, "north", inducer=inducer, aligner="procrustes", lexicons=lexicons
    ).choices["south"]
    assert found.induction.by == inducer
    assert found.aligned, found.note
    for figures in found.bli.values():
        assert figures["before"] < 0.1
        assert figures["after"] > 0.7


def test_other_vectors_are_aligned_by_a_method_first(simulated):
    """Vectors of few words and other dimensions find the dictionary, with vecmap-unsupervised as nothing is said."""
    other = simulate_pair(500, 16, noise=0.4, seed=2, untranslated=0.0, synonyms=0.0, identical=0.15)
    given = {"north": other.src.most_frequent(350), "south": other.tgt.most_frequent(350)}
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(16, 16)))[0]
    own = {"north": simulated.src, "south": dataclasses.replace(simulated.tgt, vectors=simulated.tgt.vectors @ turn)}
    found = align_static(
        own, "north", dictionary_from=given, aligner="procrustes", lexicons={("north", "south"): simulated.lexicon}
    ).choices["south"]
    assert (found.induction.by, found.induction.on) == ("vecmap-unsupervised", "other vectors")
    assert found.aligned, found.note
    assert min(figures["after"] for figures in found.bli.values()) > 0.7


def test_the_structural_criterion_may_choose(world, outcome):
    """Less of it is better. It looks at singular values of what is found, which any rotation leaves alone."""
    found = align_static(world, "en", criterion="structural")
    for choice in found.choices.values():
        assert choice.criterion == "structural"
        assert choice.aligned == (choice.after < choice.before)
    assert found.choices["turned"].aligned
    assert found.choices["turned"].note.startswith("turned: aligned: structural ")
    assert found.choices["turned"].before != outcome.choices["turned"].before


def test_spelling_does_not_keep_a_language_as_it_was(world):
    """Words written alike lie close, though they mean other things: a cosine is misled, a dictionary is not."""
    rng = np.random.default_rng(7)
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    spelling = 2 * rng.normal(size=(N, 12))  # the same for word i of both
    meaning = rng.permutation(N)  # the other's word for en's word i
    base = world["en"].vectors
    turned, true = np.empty_like(base), np.empty_like(base)
    turned[meaning], true[meaning] = base @ turn, base
    spaces = {
        "en": language("en", np.hstack([base, spelling])),
        "like": language("like", np.hstack([turned, spelling])),
    }
    given = {"en": world["en"], "like": language("like", true)}
    found, misled = (
        align_static(
            spaces, "en", dictionary_from=given, inducer="as-is", aligner="procrustes", criterion=criterion
        ).choices["like"]
        for criterion in (None, "semantic")
    )
    assert found.criterion == "dictionary"
    assert found.aligned
    assert found.before < 0.02
    assert found.after > 0.1
    assert not misled.aligned


@pytest.mark.parametrize("seed", range(3))
def test_languages_that_share_nothing_are_left_alone(world, seed):
    """Neighbours are found anywhere, and a map brings them closer: by the criterion alone, they would be aligned."""
    far = language("far", np.random.default_rng(seed + 5).normal(size=(N, D)) * np.linspace(0.5, 2, D))
    found = align_static({"en": world["en"], "far": far}, "en", seed=seed).choices["far"]
    assert not found.aligned
    assert found.induction.pairs > MIN_PAIRS
    if found.after > found.before:
        assert found.note == "far: kept as it was: what was found is no better than chance"
        assert "above chance" in found.chance
    assert from_plain(type(found), json.loads(json.dumps(found.record()))) == found


def test_a_method_that_doubts_itself_is_believed(world):
    far = language("far", np.random.default_rng(9).normal(size=(N, D)))
    found = align_static({"en": world["en"], "far": far}, "en", inducer="vecmap-unsupervised").choices["far"]
    assert found.induction.warning.startswith("not aligned")
    assert not found.aligned


def test_all_may_be_aligned_whatever_is_found(world):
    """What the criterion says is told all the same."""
    far = language("far", np.random.default_rng(5).normal(size=(N, D)) * np.linspace(0.5, 2, D))
    spaces = {"en": world["en"], "far": far}
    chosen, told = (align_static(spaces, "en", align_all=align_all) for align_all in (False, True))
    kept, aligned = chosen.choices["far"], told.choices["far"]
    assert (kept.aligned, kept.told, aligned.aligned, aligned.told) == (False, False, True, True)
    assert (aligned.before, aligned.after, aligned.chance) == (kept.before, kept.after, kept.chance)
    assert aligned.note.startswith("far: aligned, as all are to be: semantic 0.")
    assert from_plain(type(aligned), json.loads(json.dumps(aligned.record()))) == aligned
    assert not np.allclose(chosen.spaces["far"].vectors, told.spaces["far"].vectors, atol=0.1)
    assert np.array_equal(chosen.spaces["en"].vectors, told.spaces["en"].vectors)


def test_the_same_seed_gives_the_same_and_a_killed_run_resumes(world, outcome, tmp_path, monkeypatch):
    told: list[str] = []
    first = LanguageJob.run
    calls = []

    def counted(job, *args):
        calls.append(job.src.lang)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return first(job, *args)

    monkeypatch.setattr(LanguageJob, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        align_static(world, "en", work=tmp_path / "work")
    again = align_static(world, "en", work=tmp_path / "work", tell=told.append)
    assert calls == ["turned", "same", "same"]
    assert len(told) == 1
    assert "turned was finished earlier" in told[0]
    for lang, space in outcome.spaces.items():
        np.testing.assert_array_equal(space.vectors, again.spaces[lang].vectors)
    assert again.choices["same"] == outcome.choices["same"]
    assert dataclasses.replace(outcome.choices["turned"], bli={}) == again.choices["turned"]
    for damaged in (tmp_path / "work").glob("*/choice.json"):
        damaged.write_text("{", "utf-8")
    align_static(world, "en", seed=1, work=tmp_path / "work")  # another key
    align_static(world, "en", work=tmp_path / "work")
    assert calls[3:] == ["turned", "same"] * 2


def test_the_folder_is_read_as_files_and_as_aligned_spaces(outcome, tmp_path):
    outcome.save(tmp_path / "out")
    outcome.save(tmp_path / "out")  # its own folder may be replaced
    loaded = Aligned.load(tmp_path / "out")
    for lang, space in outcome.spaces.items():
        one = Space.load(tmp_path / "out" / f"{lang}.safetensors")
        assert one.words == space.words
        np.testing.assert_array_equal(one.vectors, space.vectors)
        np.testing.assert_array_equal(loaded.spaces[lang].vectors, space.vectors)
    content = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert content["pivot"] == "en"
    assert content["languages"]["same"]["aligned"] is False
    assert "kept as it was" in content["languages"]["same"]["note"]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="will not be overwritten"):
        outcome.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pivot": "fr"}, "the pivot 'fr' is not among"),
        ({"inducer": "procrustes"}, "needs translation pairs"),
        ({"inducer": "vecmap-unsupervized"}, "did you mean 'vecmap-unsupervised'"),
        ({"aligner": "vecmap-unsupervised"}, "cannot learn from the induced dictionary"),
        ({"aligner": "realnvp"}, "cannot learn from the induced dictionary"),
        ({"aligner": "vecmop"}, "did you mean 'vecmap'"),
        ({"criterion": "semantics"}, "unknown criterion"),
        ({"criterion": "dictionary"}, "needs other vectors to induce the dictionary on, and turned has none"),
        ({"frequent": 3}, "must be at least"),
        ({"dictionary_from": {"xx": language("xx", np.eye(3))}}, "which is not among the languages"),
        ({"dictionary_from": {"same": language("same", np.eye(3))}}, "missing for the pivot"),
        ({"lexicons": {("same", "turned"): Lexicon([("a", "b")])}}, "is between the pivot"),
        ({"lexicons": {("en", "same"): Lexicon([("a", "b")])}}, "has both words in the vectors"),
    ],
)
def test_what_cannot_be_is_told_before_any_work(world, options, said, monkeypatch):
    monkeypatch.setattr(LanguageJob, "run", None)
    with pytest.raises(ConfigError, match=said):
        align_static(world, **{"pivot": "en", **options})


def test_one_language_and_other_dimensions(world):
    with pytest.raises(ConfigError, match="only one language"):
        align_static({"en": world["en"]}, "en")
    with pytest.raises(ShapeError, match="distil all languages with one encoder"):
        align_static({"en": world["en"], "xx": language("xx", np.eye(3))}, "en")
    with pytest.raises(ShapeError, match="as-is needs vectors of one space"):
        induce_dictionary(world["en"], language("xx", np.eye(3)))
