"""An encoder with maps: what is saved gives the same numbers in Isoglot and in sentence-transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isoglot.aligners import FCNN, AnchoredLocal, Identity, Procrustes
from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.errors import ConfigError, FormatError, InputError

LANGUAGES = ("north", "south")
TAUGHT = 400
NORMALISE = ["unit,centre,unit", "none", "iterative", "whiten", "abtt:2", "reduce:16"]
CLOSE = {"atol": 1e-5, "rtol": 1e-4}
#: Not seen in training, empty, of other scripts.
STRANGE = ["", "pold 🙂", "漢字"]


def unit(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)  # a text without words has a zero vector


def precision(X, Y):
    return float((np.argmax(unit(X) @ unit(Y).T, axis=1) == np.arange(len(X))).mean())


@pytest.fixture(scope="module")
def taught(tiny_folder, parallel, lines, linked):
    """By layer and level: both languages' vectors and the pairs to learn from. Encoded once."""
    done = {}

    def teach(layer, level):
        if (layer, level) not in done:
            encoder = Encoder(tiny_folder, layer=layer)
            if level == "word":
                X, Y = (encoder.words(side[:TAUGHT]).vectors for side in (parallel.src, parallel.tgt))
                done[layer, level] = encoder, X, Y, linked
            else:
                X, Y = (encoder.sentences(side[:TAUGHT]) for side in lines)
                done[layer, level] = encoder, X, Y, np.repeat(np.arange(TAUGHT)[:, None], 2, axis=1)
        return done[layer, level]

    return teach


@pytest.fixture(scope="module")
def aligned(taught):
    def align(layer=-1, level="word", aligner=None):
        encoder, X, Y, pairs = taught(layer, level)
        alignment = (aligner or Procrustes()).fit(X, Y, pairs)
        return AlignedEncoder(encoder, (alignment,), LANGUAGES, level, {"seed": 3})

    return align


@pytest.fixture(scope="module")
def one_map_a_layer(tiny_folder, parallel, linked):
    def align(layer):
        encoder = Encoder(tiny_folder, layer=layer)
        sides = [encoder.word_layers(side[:TAUGHT]) for side in (parallel.src, parallel.tgt)]
        maps = tuple(Procrustes().fit(a.vectors, b.vectors, linked) for a, b in zip(*sides, strict=True))
        return AlignedEncoder(encoder, maps, LANGUAGES)

    return align


def assert_same_numbers(ours, folder, parallel, lines):
    """The saved folder as both of our classes gives what the aligned encoder in memory gave."""
    loaded = AlignedEncoder.load(folder)
    assert (loaded.languages, loaded.level, loaded.info) == (ours.languages, ours.level, ours.info)
    for lang, sentences, texts in zip(LANGUAGES, (parallel.src, parallel.tgt), lines, strict=True):
        words, of_texts = ours.words(sentences[:5], lang).vectors, ours.sentences(texts[:5], lang)
        single = Encoder(folder, lang=lang)
        assert single.dim == words.shape[1] == of_texts.shape[1]
        for found in (loaded.words(sentences[:5], lang), single.words(sentences[:5])):
            np.testing.assert_allclose(found.vectors, words, **CLOSE)
        for vectors in (loaded.sentences(texts[:5], lang), single.sentences(texts[:5])):
            np.testing.assert_allclose(vectors, of_texts, **CLOSE)


@pytest.mark.parametrize("layer", [0, 1, -1])
@pytest.mark.parametrize("level", ["sentence", "word"])
def test_alignment_repairs_what_training_left_apart(aligned, lines, layer, level):
    ours = aligned(layer, level)
    held_out = [side[TAUGHT:] for side in lines]
    before = precision(*(ours.encoder.sentences(side) for side in held_out))
    after = precision(*(ours.sentences(side, lang) for side, lang in zip(held_out, LANGUAGES, strict=True)))
    assert before < 0.1
    assert after > before + 0.2


def test_a_text_is_a_sentence_and_reprs_are_short(aligned, lines):
    ours = aligned(-1, "word")
    assert ours.sentences(lines[0][0], "north").shape == (1, 64)
    assert np.array_equal(ours.words(lines[0][0], "north").vectors, ours.words([lines[0][0]], "north").vectors)
    assert repr(ours) == f"AlignedEncoder({ours.encoder.name!r}, north-south, procrustes, level='word')"
    assert "<td>north-south</td><td>procrustes</td>" in ours._repr_html_()


def test_words_of_one_sentence_find_each_other(aligned, parallel):
    ours = aligned(-1, "word")
    plain = [ours.encoder.words(side[TAUGHT:]) for side in (parallel.src, parallel.tgt)]
    mapped = [
        ours.words(side[TAUGHT:], lang) for side, lang in zip((parallel.src, parallel.tgt), LANGUAGES, strict=True)
    ]

    def accuracy(north, south):
        right = []
        for number, links in enumerate(parallel.links[TAUGHT:]):
            nearest = np.argmax(unit(north[number]) @ unit(south[number]).T, axis=1)
            right += [(i, int(nearest[i])) in links.sure for i in {i for i, _ in links.sure}]
        return np.mean(right)

    assert accuracy(*plain) < 0.4
    assert accuracy(*mapped) > 0.7


@pytest.mark.parametrize(("layer", "level"), [(-1, "sentence"), (-1, "word"), (1, "sentence"), (1, "word")])
@pytest.mark.parametrize("normalise", NORMALISE)
def test_saved_and_loaded_everywhere(aligned, parallel, lines, tmp_path, layer, level, normalise):
    from sentence_transformers import SentenceTransformer

    ours = aligned(layer, level, Procrustes(normalise=normalise))
    folder = tmp_path / "aligned"
    assert ours.save(folder) is None
    assert_same_numbers(ours, folder, parallel, lines)

    theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    for lang, texts in zip(LANGUAGES, lines, strict=True):
        wanted = unit(ours.sentences([*texts[:20], *STRANGE], lang))
        found = theirs.encode([*texts[:20], *STRANGE], task=lang, show_progress_bar=False)
        np.testing.assert_allclose(found, wanted, atol=1e-4)
    # The map of the wrong language would find little, and nobody would know.
    with pytest.raises(ValueError, match=r"task='north'.*task"):
        theirs.encode(lines[1][:3], show_progress_bar=False)
    card = (folder / "README.md").read_text("utf-8")
    assert 'encode(texts, task="north")' in card
    assert 'encode(texts, task="south")' in card


def test_one_map_for_both_languages_needs_no_language(tiny_folder, lines, tmp_path):
    from sentence_transformers import SentenceTransformer

    encoder = Encoder(tiny_folder)
    X, Y = (encoder.sentences(side[:30]) for side in lines)
    AlignedEncoder(encoder, (Identity().fit(X, Y),), LANGUAGES, "sentence").save(tmp_path / "aligned")
    theirs = SentenceTransformer(str(tmp_path / "aligned"), device="cpu")
    plain, told = (theirs.encode(lines[0][:3], show_progress_bar=False, **own) for own in ({}, {"task": "north"}))
    np.testing.assert_allclose(plain, told, atol=1e-6)


def test_pooling_is_saved(tiny_folder, parallel, lines, tmp_path):
    from sentence_transformers import SentenceTransformer

    encoder = Encoder(tiny_folder, sentence_pooling="cls", pooling="first")
    X, Y = (encoder.sentences(side[:TAUGHT]) for side in lines)
    alignment = Procrustes().fit(X, Y, np.repeat(np.arange(TAUGHT)[:, None], 2, axis=1))
    ours = AlignedEncoder(encoder, (alignment,), LANGUAGES, "sentence")
    assert ours.save(tmp_path / "aligned") is None
    assert_same_numbers(ours, tmp_path / "aligned", parallel, lines)
    theirs = SentenceTransformer(str(tmp_path / "aligned"), device="cpu")
    found = theirs.encode(lines[0][:5], task="north", show_progress_bar=False)
    np.testing.assert_allclose(found, unit(ours.sentences(lines[0][:5], "north")), atol=1e-4)


@pytest.mark.parametrize("level", ["sentence", "word"])
@pytest.mark.parametrize("layer", ["1,3", "sum:2,3", "mean:all"])
def test_several_layers_stay_with_isoglot(aligned, parallel, lines, tmp_path, layer, level):
    ours = aligned(layer, level)
    reason = ours.save(tmp_path / "aligned")
    assert reason == "sentence-transformers takes one layer of an encoder, not several"
    assert not (tmp_path / "aligned" / "modules.json").exists()
    assert_same_numbers(ours, tmp_path / "aligned", parallel, lines)


@pytest.mark.parametrize("layer", ["1,3", "sum:2,3", "mean:all"])
def test_a_map_for_each_layer(one_map_a_layer, parallel, lines, tmp_path, layer):
    ours = one_map_a_layer(layer)
    assert ours.each
    assert "not several" in ours.save(tmp_path / "aligned")
    assert_same_numbers(ours, tmp_path / "aligned", parallel, lines)
    mapped = np.stack(
        [
            alignment.transform(found.vectors, "src")
            for alignment, found in zip(ours.alignments, ours.encoder.word_layers(parallel.src[:3]), strict=True)
        ]
    )
    combined = {"1,3": np.hstack(list(mapped)), "sum:2,3": mapped.sum(axis=0), "mean:all": mapped.mean(axis=0)}
    np.testing.assert_allclose(ours.words(parallel.src[:3], "north").vectors, combined[layer], **CLOSE)


@pytest.mark.parametrize("level", ["sentence", "word"])
def test_a_map_that_is_not_linear_stays_with_isoglot(aligned, parallel, lines, tmp_path, level):
    ours = aligned(-1, level, FCNN(hidden=8, epochs=1, select="last"))
    assert ours.save(tmp_path / "aligned") == "sentence-transformers has no module for the map of fcnn"
    assert_same_numbers(ours, tmp_path / "aligned", parallel, lines)


@pytest.mark.parametrize("level", ["word", "sentence"])
def test_a_local_map_is_two_layers_in_sentence_transformers(aligned, parallel, lines, tmp_path, level):
    from sentence_transformers import SentenceTransformer

    ours = aligned(-1, level, AnchoredLocal(pull=0.3, centres=100))
    assert ours.save(tmp_path / "aligned") is None
    assert_same_numbers(ours, tmp_path / "aligned", parallel, lines)
    theirs = SentenceTransformer(str(tmp_path / "aligned"), device="cpu", local_files_only=True)
    for lang, texts in zip(LANGUAGES, lines, strict=True):
        found = theirs.encode([*texts[:20], *STRANGE], task=lang, show_progress_bar=False)
        np.testing.assert_allclose(found, unit(ours.sentences([*texts[:20], *STRANGE], lang)), atol=1e-4)
    longer = aligned(-1, level, AnchoredLocal(pull=0.3, centres=100, normalise="unit,centre"))
    assert longer.save(tmp_path / "other") == "sentence-transformers has no module for the map of anchored-local"


def test_their_own_mean_is_taken_from_texts(aligned, lines):
    ours = aligned(-1, "sentence")
    plain, centred = (
        ours.sentences(lines[0][:30], "north"),
        ours.sentences(lines[0][:30], "north", normalise="unit,centre"),
    )
    np.testing.assert_allclose(centred, unit(plain) - unit(plain).mean(axis=0), **CLOSE)


def test_the_embedding_alone_cannot_be_a_last_layer(aligned, parallel, lines, tmp_path):
    ours = aligned(0)
    assert ours.save(tmp_path / "aligned") == "layer 0 of a bert cannot be made its last"
    assert_same_numbers(ours, tmp_path / "aligned", parallel, lines)


def test_saving_leaves_the_encoder_as_it_was(aligned, parallel, tmp_path):
    ours = aligned(1)
    before = ours.encoder.words(parallel.src[:3]).vectors
    ours.save(tmp_path / "aligned")
    assert (ours.encoder.model.depth, ours.encoder.model.config.num_hidden_layers) == (3, 3)
    np.testing.assert_array_equal(ours.encoder.words(parallel.src[:3]).vectors, before)
    # Layers that are not used are not saved.
    assert json.loads((tmp_path / "aligned" / "encoder" / "config.json").read_text())["num_hidden_layers"] == 1


def test_languages_that_are_not_there(aligned, tmp_path):
    ours = aligned()
    with pytest.raises(ConfigError, match="unknown language 'west'; one of: north, south"):
        ours.words([["a"]], "west")
    with pytest.raises(ConfigError, match="unknown language 'west'; one of: north, south"):
        ours.sentences(["a"], "west")
    folder = tmp_path / "aligned"
    ours.save(folder)
    with pytest.raises(ConfigError, match="knows no 'west'; choose lang 'north' or 'south'"):
        Encoder(folder, lang="west")
    with pytest.raises(ConfigError, match="has two languages; choose lang 'north' or 'south'"):
        Encoder(folder)
    with pytest.raises(ConfigError, match="an aligned encoder has its own layer and pooling"):
        Encoder(folder, lang="north", layer=1)


def test_other_peoples_folders_are_not_overwritten(aligned, tmp_path):
    ours = aligned()
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds other things and will not be overwritten"):
        ours.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    ours.save(tmp_path / "own")
    ours.save(tmp_path / "own")
    assert AlignedEncoder.load(tmp_path / "own").languages == LANGUAGES


def test_what_does_not_fit_together(aligned, taught):
    ours = aligned()
    with pytest.raises(ConfigError, match="2 maps for 1 layers"):
        AlignedEncoder(ours.encoder, ours.alignments * 2, LANGUAGES)
    for languages in (("north", "north"), ("north", "")):
        with pytest.raises(ConfigError, match="needs two different languages"):
            AlignedEncoder(ours.encoder, ours.alignments, languages)


def test_folders_that_are_none_of_ours(aligned, tiny_folder, tmp_path):
    with pytest.raises(FormatError, match="not an aligned encoder; give a folder written by"):
        AlignedEncoder.load(tiny_folder)
    folder = tmp_path / "aligned"
    aligned().save(folder)
    marker = folder / "isoglot.json"
    content = json.loads(marker.read_text("utf-8"))
    marker.write_text(json.dumps({**content, "version": 99}), "utf-8")
    with pytest.raises(FormatError, match="an aligned encoder in format version 99"):
        AlignedEncoder.load(folder)
    del content["level"]
    marker.write_text(json.dumps(content), "utf-8")
    with pytest.raises(FormatError, match=r"\"level\" is missing"):
        AlignedEncoder.load(folder)
    marker.write_text(marker.read_text("utf-8")[:20], "utf-8")
    with pytest.raises(InputError, match="not an aligned encoder"):
        AlignedEncoder.load(folder)


@pytest.mark.parametrize(
    "figures", [{}, {"src": 3}, {"src": {"dim": -1}}, {"src": {"dim": 10**12}}, {"src": {"dim": 5}}]
)
def test_maps_whose_figures_do_not_fit(aligned, tmp_path, figures):
    aligned().save(tmp_path / "out")
    place = tmp_path / "out" / "alignments" / "0"
    content = json.loads((place / "config.json").read_text("utf-8"))
    content["info"] = figures
    (place / "config.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(InputError) as caught:
        AlignedEncoder.load(tmp_path / "out")
    assert str(place) in str(caught.value)


def test_settings_of_an_aligned_encoder_name_its_folder(aligned, tmp_path):
    aligned().save(tmp_path / "out")
    path = tmp_path / "out" / "isoglot.json"
    whole = json.loads(path.read_text("utf-8"))
    for change in ({"pooling": "max"}, {"layers": "99"}):
        path.write_text(json.dumps({**whole, **change}), "utf-8")
        with pytest.raises(InputError) as caught:
            AlignedEncoder.load(tmp_path / "out")
        assert str(tmp_path / "out") in str(caught.value)
