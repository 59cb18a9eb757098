"""`isoglot.align` and `isoglot.load`: any form that vectors, pairs and results come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isoglot as ig
from isoglot.aligned import Translation
from isoglot.aligners import Contrastive
from isoglot.errors import ConfigError, InputError, LexiconError, ShapeError
from isoglot.simulate import simulate_pair


@pytest.fixture(scope="module")
def pair():
    return simulate_pair(n_words=1500, dim=20, noise=0.3, seed=1)


@pytest.fixture(scope="module")
def files(pair, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    pair.src.save(folder / "north.vec")
    pair.tgt.save(folder / "south.vec")
    pair.lexicon.save(folder / "pairs.txt")
    return folder


@pytest.fixture(scope="module")
def aligned(files):
    names = {"src_lang": "north", "tgt_lang": "south"}
    return ig.align(files / "north.vec", str(files / "south.vec"), files / "pairs.txt", **names)


def test_files_spaces_and_pairs_of_words_give_the_same(pair, files, aligned):
    again = ig.align(pair.src, pair.tgt, list(pair.lexicon.pairs))
    np.testing.assert_allclose(again["north"].vectors, aligned["north"].vectors, atol=1e-5)
    assert aligned.info["results"][0]["metric"] == "P@1"
    assert aligned.info["results"][0]["value"] > 0.8


def test_matrices_are_aligned_by_rows(pair):
    rows = pair.lexicon.indices(pair.src, pair.tgt)
    aligned = ig.align(pair.src.vectors, pair.tgt.vectors, rows, held_out=0)
    assert aligned.names == ["src", "tgt"]
    assert aligned.translate(str(rows[0, 0]), k=3).best is not None
    by_word = ig.align(pair.src, pair.tgt, pair.lexicon, held_out=0)
    np.testing.assert_allclose(aligned["src"].vectors, by_word["north"].vectors, atol=1e-5)
    with pytest.raises(ShapeError, match="within the 1500 source"):
        ig.align(pair.src.vectors, pair.tgt.vectors, [(0, 1500)])
    with pytest.raises(ShapeError, match="expected a matrix"):
        ig.align(pair.src.vectors[0], pair.tgt.vectors)


def test_a_method_by_name_with_settings_or_as_an_object(pair):
    by_name = ig.align(pair.src, pair.tgt, pair.lexicon, method="least-squares", ridge=0.5, seed=3)
    as_object = ig.align(pair.src, pair.tgt, pair.lexicon, method=ig.aligner("least-squares", ridge=0.5, seed=3))
    np.testing.assert_array_equal(by_name["north"].vectors, as_object["north"].vectors)
    with pytest.raises(ConfigError, match="give it to the aligner"):
        ig.align(pair.src, pair.tgt, pair.lexicon, method=ig.aligner("procrustes"), ridge=1.0)
    with pytest.raises(ConfigError, match="did you mean 'procrustes'"):
        ig.align(pair.src, pair.tgt, pair.lexicon, method="procrutes")


def test_without_pairs_a_method_is_chosen_that_needs_none(pair):
    # Words written alike, whose vectors have nothing in common.
    words, vectors = pair.src.words[:300], np.random.default_rng(0).normal(size=(300, 20))
    with pytest.warns(UserWarning, match="not aligned"):
        aligned = ig.align(pair.src.most_frequent(300), ig.Space("none", words, vectors))
    assert next(iter(aligned.alignments.values())).info["auto"]["method"] == "portfolio"
    with pytest.raises(LexiconError, match="learns from translation pairs"):
        ig.align(pair.src, pair.tgt, method="procrustes")


def test_pairs_only_measure_a_method_that_learns_from_none(pair):
    aligned = ig.align(pair.src, pair.tgt, pair.lexicon, method="normalization")
    assert aligned.info["train_pairs"] == 0
    assert aligned.info["results"][0]["n"] > 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": 1, "test": 1, "method": "normalization"}, "learns from no pairs"),
        ({"method": "normalization", "held_out": 5}, "`held_out` has no effect without `pairs`"),
        ({"method": "normalization", "most_pairs": 5}, "`most_pairs` has no effect without `pairs`"),
        ({"pairs": 1, "test": 1, "held_out": 5}, "`held_out` has no effect with `test`"),
        ({"pairs": 1, "method": ig.aligner("procrustes"), "seed": 3}, "seed is a setting of the aligner"),
    ],
)
def test_what_would_have_no_effect_is_refused(pair, arguments, message):
    given = {name: pair.lexicon if value == 1 else value for name, value in arguments.items()}
    with pytest.raises(ConfigError, match=message):
        ig.align(pair.src, pair.tgt, **given)


def test_the_chosen_method_is_re_ranked_and_kept_with_the_folder(pair, tmp_path):
    aligned = ig.align(pair.src, pair.tgt, pair.lexicon.pairs[:150], effort="quick", rerank=True)
    (reranker,) = aligned.rerankers.values()
    assert reranker.info["aligners"][0]["method"] == aligned.info["auto"]["method"]
    assert [one["protocol"]["denominator"] for one in aligned.info["results"]] == ["cross-validated"] * 2
    aligned.save(tmp_path / "best")
    again = ig.load(tmp_path / "best")
    assert again.rerankers.keys() == aligned.rerankers.keys()
    words = pair.src.words[:5]
    assert [a.candidates for a in again.translate(words)] == [a.candidates for a in aligned.translate(words)]


def test_a_lexicon_that_does_not_fit_is_doubted(pair):
    rng = np.random.default_rng(0)
    wrong = list(zip(pair.src.words[:300], rng.permutation(pair.tgt.words)[:300].tolist(), strict=True))
    with pytest.warns(UserWarning, match="do lexicon and vectors belong together"):
        ig.align(pair.src, pair.tgt, wrong, effort="quick")


def test_a_test_lexicon_of_its_own(pair):
    half = len(pair.lexicon) // 2
    train, test = pair.lexicon.pairs[:half], pair.lexicon.pairs[half:]
    aligned = ig.align(pair.src, pair.tgt, train, test=test)
    tested = {source for source, _ in test if source in pair.src}
    assert max(record["n"] for record in aligned.info["results"]) == len(tested)
    assert aligned.evaluate(test)["P@1"] == pytest.approx(aligned.info["results"][0]["value"])


def test_what_a_person_does_next(aligned, pair, tmp_path):
    word = next(source for source, _ in pair.lexicon.pairs if source in pair.src)
    one = aligned.translate(word, k=3)
    assert len(one) == 3
    assert [answer.word for answer in aligned.translate([word, "zzz"])] == [word, "zzz"]
    assert one.best in repr(one)
    near = aligned.neighbours(word, k=5)
    assert len(near) == 5
    assert ("north", word) not in [(lang, other) for lang, other, _ in near]
    assert [score for *_, score in near] == sorted((score for *_, score in near), reverse=True)
    with pytest.raises(InputError, match="has no vector here"):
        aligned.neighbours("zzz")
    lexicon = aligned.lexicon(mutual=True, limit=50)
    assert (lexicon.src_lang, lexicon.tgt_lang) == ("north", "south")
    assert 20 < len(lexicon) <= 50
    written = aligned.export(tmp_path / "vectors")
    assert [path.name for path in written] == ["north.vec", "south.vec"]
    np.testing.assert_allclose(ig.load(written[0]).vectors, aligned["north"].vectors, atol=1e-5)
    with pytest.raises(ConfigError, match="did you mean 'text'"):
        aligned.export(tmp_path / "more", "txt")
    with pytest.raises(ConfigError, match="there are: north, south"):
        aligned["nort"]


def test_what_is_shown_is_short(aligned):
    assert len(repr(aligned)) < 150
    assert "north: 1,500 words" in repr(aligned)
    assert "<table>" in aligned._repr_html_()
    assert len(aligned._repr_html_()) < 1000


def test_a_small_table_escapes_what_words_hold():
    space = ig.Space("<b>", ["<script>", "b"], np.eye(2))
    assert "<script>" not in Translation("<script>", "<b>", "x", (("<i>", 0.5),))._repr_html_()
    assert "<script>" not in space._repr_html_()


def test_load_finds_out_what_it_is(aligned, files, tiny_folder, tmp_path):
    aligned.save(tmp_path / "result")
    loaded = ig.load(tmp_path / "result")
    assert type(loaded) is ig.Aligned
    np.testing.assert_array_equal(loaded["south"].vectors, aligned["south"].vectors)
    assert type(ig.load(files / "north.vec", limit=10)) is ig.Space
    assert type(ig.load(files / "pairs.txt")) is ig.Lexicon
    assert type(ig.load(tiny_folder)) is ig.Encoder
    next(iter(aligned.alignments.values())).save(tmp_path / "map")
    assert ig.load(tmp_path / "map").method == "auto"
    with pytest.raises(InputError, match="no such file"):
        ig.load(tmp_path / "nothing")
    (tmp_path / "noise.txt").write_text("one two three four\nfive\n")
    with pytest.raises(InputError):
        ig.load(tmp_path / "noise.txt")


def test_by_default_words_are_re_ranked_from_the_fits_that_methods_were_compared_on(pair, monkeypatch):
    fits: list[int] = []
    fit = Contrastive._fit

    def watch(self: Contrastive, problem: Any) -> Any:
        fits.append(len(problem.pairs))
        return fit(self, problem)

    monkeypatch.setattr(Contrastive, "_fit", watch)
    noisy = simulate_pair(n_words=1500, dim=20, noise=0.9, seed=1)
    aligned = ig.align(noisy.src, noisy.tgt, noisy.lexicon.pairs[:450])
    assert aligned.info["auto"]["chosen"] == "contrastive"
    assert len(fits) == 4  # three parts and all pairs: what re-ranks and calibrates is learned from the parts
    assert aligned.calibrations
    assert ("--rerank" in aligned.info["auto"]["pin"]) == bool(aligned.rerankers)
