"""`align_words`: one pair or many, texts or words, by encoders of all kinds or by statistics."""

from __future__ import annotations

import pytest

from isoglot.aligners import Procrustes
from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.errors import ConfigError, InputError
from isoglot.wordalign import WordLinks, align_words, link_text, statistical_align

PAIRS = 3


@pytest.fixture(scope="module")
def aligned(tiny, parallel, linked):
    X, Y = (tiny.words(side[:400]).vectors for side in (parallel.src, parallel.tgt))
    return AlignedEncoder(tiny, (Procrustes().fit(X, Y, linked),), ("north", "south"))


def test_texts_and_words_one_pair_and_many(tiny, lines, parallel):
    expected = link_text((tiny, tiny), parallel.src[:PAIRS], parallel.tgt[:PAIRS])
    src, tgt = lines[0][:PAIRS], lines[1][:PAIRS]
    assert align_words(src, tgt, encoder=tiny) == expected
    assert align_words(parallel.src[:PAIRS], tgt, encoder=tiny) == expected
    for one in (src[0], parallel.src[0]):
        assert align_words(one, tgt[0], encoder=tiny) == expected[0]
    assert align_words(list(parallel.src[0]), list(parallel.tgt[0]), encoder=tiny) == expected[0]
    assert align_words(src[:1], tgt[:1], encoder=tiny) == expected[:1]
    assert align_words([], [], encoder=tiny) == []


def test_settings_go_to_the_method_and_the_layer_to_the_encoder(tiny, tiny_folder, lines, parallel):
    first = Encoder(tiny_folder, layer=1)
    expected = link_text((first, first), parallel.src[:1], parallel.tgt[:1], "softmax", temperature=0.1)[0]
    options = {"method": "softmax", "temperature": 0.1}
    assert align_words(lines[0][0], lines[1][0], encoder=tiny_folder, layer=1, **options) == expected
    assert align_words(lines[0][0], lines[1][0], encoder=first, **options) == expected
    assert align_words(lines[0][0], lines[1][0], encoder=tiny, **options) != expected


def test_an_aligned_encoder_maps_the_two_sides(aligned, tiny, lines, parallel, tmp_path):
    src, tgt = lines[0][400:], lines[1][400:]

    def right(found):
        return sum(len(one.sure & gold.sure) for one, gold in zip(found, parallel.links[400:], strict=True))

    mapped = align_words(src, tgt, encoder=aligned)
    assert right(mapped) > 1.5 * right(align_words(src, tgt, encoder=tiny))
    aligned.save(tmp_path / "aligned")
    again = align_words(src[:PAIRS], tgt[:PAIRS], encoder=tmp_path / "aligned")
    assert [one.sure for one in again] == [one.sure for one in mapped[:PAIRS]]


def test_statistical_models_learn_from_the_sentences(lines, parallel):
    pytest.importorskip("thot")
    found = align_words(*lines, method="ibm1", symmetrise="intersection")
    assert found == statistical_align(parallel.src, parallel.tgt, "ibm1", "intersection")
    assert found[0].words == (list(parallel.src[0]), list(parallel.tgt[0]))
    with pytest.raises(InputError, match="ibm1 learns from the sentences: one pair is too few; give many"):
        align_words("a b", "c d", method="ibm1")
    with pytest.raises(ConfigError, match="ibm1 takes no encoder"):
        align_words(*lines, method="ibm1", encoder="x")


def test_what_does_not_fit_is_refused(tiny):
    with pytest.raises(ConfigError, match="by the vectors of an encoder; give `encoder`, or a statistical `method`"):
        align_words("a b", "c d")
    with pytest.raises(ConfigError, match="unknown word alignment 'itrmax'; did you mean 'itermax'"):
        align_words("a b", "c d", method="itrmax", encoder=tiny)
    with pytest.raises(ConfigError, match="itermax has no setting 'nul'; did you mean 'null'"):
        align_words("a b", "c d", nul=0.3, encoder=tiny)
    with pytest.raises(ConfigError, match="layer: this encoder has its own layer"):
        align_words("a b", "c d", encoder=tiny, layer=1)
    with pytest.raises(InputError, match="2 source sentences but 1 target sentences"):
        align_words(["a b", "c"], ["d e"], encoder=tiny)
    with pytest.raises(InputError, match="one side is a sentence, the other is a list of sentences"):
        align_words("a b", ["c d", "e"], encoder=tiny)


def test_links_show_themselves_with_their_words(tiny, lines):
    links = WordLinks({(0, 1), (1, 0)}, {(1, 1)}, words=(["red", "<b>"], ["maison", "rouge"]))
    assert repr(links) == "WordLinks('0-1 1-0 1p1')"
    assert len(repr(WordLinks({(i, i) for i in range(500)}))) < 80
    assert list(links) == [(0, 1), (1, 0), (1, 1)]
    assert list(links.pairs()) == [("red", "rouge"), ("<b>", "maison"), ("<b>", "rouge")]
    assert list(links.invert().pairs()) == [("maison", "<b>"), ("rouge", "red"), ("rouge", "<b>")]
    page = links._repr_html_()
    assert "<th>maison</th><th>rouge</th>" in page
    assert "<tr><td>&lt;b&gt;</td><td>●</td><td>○</td></tr>" in page
    with pytest.raises(InputError, match="do not know their words"):
        WordLinks({(0, 0)}).pairs()
    with pytest.raises(InputError, match="points past sentences of 1 and 1 words"):
        WordLinks({(0, 1)}).pairs("a", "b")
    assert "<td>0</td>" in WordLinks({(0, 1)})._repr_html_()
    found = align_words(lines[0][0], lines[1][0], encoder=tiny)
    assert [src for src, _ in found.pairs()] == [lines[0][0].split()[i] for i, _ in found]
