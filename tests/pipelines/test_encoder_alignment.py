"""From parallel text to an aligned encoder: each way held against the same done by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from isoglot.aligners import Procrustes, aligner, methods
from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.pipelines import TokenisedPairs, align_encoder, tokenise
from isoglot.pipelines.contextual_pairs import extract_pairs
from isoglot.pipelines.encoder_alignment import fit_alignment
from isoglot.spaces import Space
from isoglot.tasks import tatoeba
from isoglot.text import ParallelText
from isoglot.wordalign import WordLinks

TAUGHT = 400
LANGUAGES = ("north", "south")
CLOSE = {"atol": 2e-5, "rtol": 1e-4}
#: Fitted in less than a quarter of a second each: closed forms, and some that go in steps.
QUICK = (
    "cca", "contrastive", "gbdd", "identity", "least-squares", "muse-supervised", "normalization", "procrustes",
    "rcsls", "vecmap",
)  # fmt: skip


def part(text, begin, end):
    return dataclasses.replace(text, src=text.src[begin:end], tgt=text.tgt[begin:end])


@pytest.fixture(scope="module")
def taught(parallel):
    return part(parallel.text, 0, TAUGHT)


@pytest.fixture(scope="module")
def tested(parallel):
    return part(parallel.text, TAUGHT, None)


@pytest.fixture(scope="module")
def found(tiny, parallel):
    return extract_pairs(tiny, TokenisedPairs(parallel.src[:60], parallel.tgt[:60], links=parallel.links[:60]))


def precision(X, Y):
    return tatoeba(X, Y, score="csls", bootstrap=0)[0].value


def test_blank_lines_are_dropped_and_numbers_remembered():
    text = ParallelText("en", "de", ("", "a cat", "b", "  ", "c d"), ("x", "eine Katze", " \t", "", "y"))
    links = [WordLinks(), WordLinks({(1, 1)}), WordLinks(), WordLinks(), WordLinks({(1, 0)}, {(0, 0)})]
    found = tokenise(text, "spaces", links=links)
    assert (found.src, found.tgt) == ([["a", "cat"], ["c", "d"]], [["eine", "Katze"], ["y"]])
    assert (found.numbers, found.links) == ([1, 4], [links[1], links[4]])
    assert (found.src_lang, found.tgt_lang) == ("en", "de")
    assert [found.line(number) for number in range(len(found))] == [1, 4]


def test_nothing_to_tokenise_or_links_that_do_not_fit():
    text = ParallelText("en", "de", ("a", ""), ("", "b"))
    with pytest.raises(InputError, match="no line has words on both sides"):
        tokenise(text, "spaces")
    with pytest.raises(InputError, match="1 lines of word links for 2 sentences"):
        tokenise(text, "spaces", links=[WordLinks()])
    with pytest.raises(ConfigError, match="unknown segmenter"):
        tokenise(text, "nonsense")
    text = ParallelText("en", "de", ("a", "", "a b"), ("x", "y", "x"))
    with pytest.raises(FormatError, match=r"gold:3: the link 2-0 .* points past sentences of 2 and 1 words"):
        tokenise(text, "spaces", links=[WordLinks(), WordLinks(), WordLinks({(2, 0)})], links_name="gold")
    # A blank line has no words to link.
    with pytest.raises(FormatError, match="links:2: the link 0-0"):
        tokenise(text, "spaces", links=[WordLinks(), WordLinks({(0, 0)}), WordLinks()])


def test_learned_on_sentences(tiny, taught, tested):
    blank = dataclasses.replace(taught, src=("", *taught.src, "a"), tgt=("x", *taught.tgt, " "))
    found = align_encoder(tiny, blank, Procrustes(), level="sentence")
    rows = np.stack([np.arange(TAUGHT)] * 2, axis=1)
    by_hand = Procrustes().fit(tiny.sentences(taught.src), tiny.sentences(taught.tgt), rows)
    assert (found.languages, found.level, found.each) == (LANGUAGES, "sentence", False)
    for lang, side, texts in zip(LANGUAGES, ("src", "tgt"), (tested.src, tested.tgt), strict=True):
        wanted = by_hand.transform(tiny.sentences(texts), side)
        np.testing.assert_allclose(found.sentences(texts, lang), wanted, **CLOSE)
    assert found.info["pairs"] == found.info["sentences"] == TAUGHT
    assert (found.info["method"], found.info["encoder"]) == ("procrustes", tiny.name)


def test_learned_on_words(tiny, parallel, taught):
    found = align_encoder(tiny, taught, Procrustes(), level="word", segmenter="spaces", links=parallel.links[:TAUGHT])
    pairs = extract_pairs(
        tiny, TokenisedPairs(parallel.src[:TAUGHT], parallel.tgt[:TAUGHT], links=parallel.links[:TAUGHT])
    )
    by_hand = Procrustes().fit(pairs.src, pairs.tgt, pairs.pairs)
    assert found.level == "word"
    for lang, side, sentences in zip(LANGUAGES, ("src", "tgt"), (parallel.src, parallel.tgt), strict=True):
        wanted = by_hand.transform(tiny.words(sentences[TAUGHT:]).vectors, side)
        np.testing.assert_allclose(found.words(sentences[TAUGHT:], lang).vectors, wanted, **CLOSE)
    assert found.info["pairs"] == len(pairs)
    assert found.info["word_alignment"] == "given"


@pytest.mark.parametrize("layer", ["1,2", "last2", "mean:1,3"])
@pytest.mark.parametrize("level", ["sentence", "word"])
def test_a_map_for_each_layer_is_each_layer_mapped_by_hand(tiny_folder, parallel, taught, tested, layer, level):
    encoder = Encoder(tiny_folder, layer=layer)
    links = parallel.links[:TAUGHT] if level == "word" else None
    found = align_encoder(encoder, taught, Procrustes(), level=level, per_layer=True, segmenter="spaces", links=links)
    assert found.each
    numbers = {"1,2": (1, 2), "last2": (2, 3), "mean:1,3": (1, 3)}[layer]
    mapped = []
    for number in numbers:
        alone = Encoder(tiny_folder, layer=number)
        one = align_encoder(alone, taught, Procrustes(), level=level, segmenter="spaces", links=links)
        mapped.append(one.words(parallel.src[TAUGHT:], "north").vectors)
    combined = {"1,2": np.hstack(mapped), "last2": np.sum(mapped, axis=0), "mean:1,3": np.mean(mapped, axis=0)}[layer]
    np.testing.assert_allclose(found.words(parallel.src[TAUGHT:], "north").vectors, combined, atol=1e-4, rtol=1e-3)
    before = precision(*(encoder.sentences(side) for side in (tested.src, tested.tgt)))
    after = precision(found.sentences(tested.src, "north"), found.sentences(tested.tgt, "south"))
    assert after > before + 0.3


@pytest.mark.parametrize("level", ["sentence", "word"])
def test_held_out_sentences_find_each_other_only_after_alignment(tiny, parallel, taught, tested, level):
    links = parallel.links[:TAUGHT] if level == "word" else None
    found = align_encoder(tiny, taught, Procrustes(), level=level, segmenter="spaces", links=links)
    before = precision(tiny.sentences(tested.src), tiny.sentences(tested.tgt))
    after = precision(found.sentences(tested.src, "north"), found.sentences(tested.tgt, "south"))
    assert before < 0.1
    assert after > 0.3


def test_words_that_a_statistical_model_aligns_teach_as_well(tiny, taught, tested):
    pytest.importorskip("thot")
    found = align_encoder(tiny, taught, Procrustes(), level="word", segmenter="spaces", method="hmm")
    after = precision(found.sentences(tested.src, "north"), found.sentences(tested.tgt, "south"))
    assert after > 0.3


def spy(supervision, seen):
    """An aligner that notes which pairs it gets."""

    @dataclasses.dataclass(frozen=True)
    class Spy(Procrustes):
        method = dataclasses.replace(Procrustes.method, supervision=supervision)

        def fit(self, src, tgt, lexicon=None, **settings):
            seen.append(lexicon)
            rows = np.stack([np.arange(min(len(src), len(tgt)))] * 2, axis=1)
            return Procrustes().fit(src, tgt, rows if lexicon is None else lexicon, **settings)

    return Spy()


@pytest.mark.parametrize("level", ["sentence", "word"])
@pytest.mark.parametrize(("supervision", "given"), [("unsupervised", False), ("supervised", True), ("optional", True)])
def test_who_refuses_pairs_gets_none(tiny, parallel, level, supervision, given):
    seen = []
    text = part(parallel.text, 0, 80)
    align_encoder(tiny, text, spy(supervision, seen), level=level, segmenter="spaces")
    assert len(seen) == 1
    assert (seen[0] is not None) == given


def test_methods_that_take_no_pairs_fit(tiny, parallel):
    found = align_encoder(tiny, part(parallel.text, 0, 80), aligner("normalization"))
    assert found.info["method"] == "normalization"


def test_every_layer_has_a_checkpoint_of_its_own(tiny_folder, parallel, tmp_path, monkeypatch):
    places = []

    def fit(aligner, src, tgt, pairs, *, checkpoint, progress):
        places.append(checkpoint)
        return fit_alignment(aligner, src, tgt, pairs, progress=progress)

    monkeypatch.setattr("isoglot.pipelines.encoder_alignment.fit_alignment", fit)
    align_encoder(
        Encoder(tiny_folder, layer="last2"), part(parallel.text, 0, 80), Procrustes(), per_layer=True,
        checkpoint=tmp_path / "state",
    )  # fmt: skip
    assert [path.name for path in places] == ["state.0", "state.1"]


@pytest.mark.parametrize("name", QUICK)
def test_aligners_fit_on_words_in_context(found, name):
    assert name in methods()
    alignment = fit_alignment(aligner(name), found.src, found.tgt, found.pairs)
    mapped = [alignment.transform(space, side) for space, side in ((found.src, "src"), (found.tgt, "tgt"))]
    assert all(isinstance(space, Space) and np.isfinite(space.vectors).all() for space in mapped)
    assert mapped[0].dim == mapped[1].dim
    assert list(mapped[0].words) == list(found.src.words)


def test_what_cannot_be_aligned(tiny, tiny_folder, parallel, monkeypatch):
    text = part(parallel.text, 0, 80)
    aligned = align_encoder(tiny, text, Procrustes())
    monkeypatch.setattr(Encoder, "_sharded", lambda *_, **__: 1 / 0)
    with pytest.raises(ConfigError, match="a map for each layer needs several layers; choose"):
        align_encoder(tiny, text, Procrustes(), per_layer=True)
    with pytest.raises(ConfigError, match="unknown level 'page'; one of: sentence, word"):
        align_encoder(tiny, text, Procrustes(), level="page")
    with pytest.raises(ConfigError, match="two different languages, not"):
        align_encoder(tiny, dataclasses.replace(text, tgt_lang="north"), Procrustes())
    with pytest.raises(ConfigError, match="aligned already"):
        align_encoder(aligned.encoder_of("north"), text, Procrustes())
    with pytest.raises(ConfigError, match="unknown word alignment 'psychic'"):
        align_encoder(tiny, text, Procrustes(), level="word", method="psychic")
    blank = ParallelText("north", "south", ("a", " "), ("", "b"))
    with pytest.raises(InputError, match="no line has text on both sides"):
        align_encoder(tiny, blank, Procrustes())
    with pytest.raises(InputError, match="no line has words on both sides"):
        align_encoder(tiny, blank, Procrustes(), level="word")
