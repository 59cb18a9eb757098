"""The audit's measures on data whose answer is known, and the whole of it on an encoder that is made up."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from isoglot.encoders import WordVectors, parse_layers
from isoglot.errors import FormatError, InputError, ShapeError
from isoglot.pipelines import Figure, audit_encoder, expected_megabytes, write_audit_page
from isoglot.pipelines.audit import FEWEST
from isoglot.pipelines.audit_measures import anisotropy, halved_retrieval, language_probe, word_matching
from isoglot.text import ParallelText
from isoglot.wordalign import WordLinks

DIM, MEANINGS = 16, 400


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def rotation(dim, seed=5):
    return np.linalg.qr(normal(dim, dim, seed=seed))[0]


class FakeEncoder:
    """Words such as a17 and b17 mean the same. Layer 0 has unrelated languages that lie apart; in layer 1 the target is
    the source turned; layer 2 is shared, up to noise."""

    name = "fake <b>"

    def __init__(self):
        self.layers = parse_layers("all", 2)
        table, other = normal(MEANINGS, DIM), normal(MEANINGS, DIM, seed=1) + 3
        self.tables = {
            "a": np.stack([table, table, table]),
            "b": np.stack([other, table @ rotation(DIM), table + 0.1 * normal(MEANINGS, DIM, seed=2)]),
        }

    def vectors(self, words):
        return np.stack([self.tables[word[0]][:, int(word[1:])] for word in words], axis=1)  # (3, words, d)

    def sentence_layers(self, texts, *, step="", progress=None):
        return np.stack([self.vectors(text.split()).mean(axis=1) for text in texts], axis=1)

    def word_layers(self, sentences, *, step="", progress=None):
        offsets = np.cumsum([0, *map(len, sentences)])
        vectors = self.vectors([word for words in sentences for word in words])
        return [WordVectors(sentences, layer, offsets) for layer in vectors]


def text_and_links(n=120, seed=3):
    random = np.random.default_rng(seed)
    src, tgt, links = [], [], []
    for _ in range(n):
        meanings = random.choice(MEANINGS, random.integers(4, 9), replace=False)
        order = random.permutation(len(meanings))
        src.append(" ".join(f"a{meaning}" for meaning in meanings))
        tgt.append(" ".join(f"b{meanings[place]}" for place in order))
        links.append(WordLinks({(int(place), j) for j, place in enumerate(order)}))
    return ParallelText("xx", "yy", tuple(src), tuple(tgt)), links


@pytest.fixture(scope="module")
def audit():
    text, links = text_and_links()
    return audit_encoder(FakeEncoder(), text, links=links, segmenter="spaces", bootstrap=200)


def test_a_planted_rotation_is_told_from_a_shared_and_from_an_unrelated_space(audit):
    unrelated, turned, shared = audit.layers
    assert [one.layer for one in audit.layers] == [0, 1, 2]
    for score in ("cosine", "csls"):
        assert unrelated.as_is[score].mean.value < 0.1
        assert turned.as_is[score].mean.value < 0.15
        assert turned.aligned[score].mean.value > 0.95
        assert shared.as_is[score].mean.value > 0.95
        assert unrelated.aligned[score].mean.value < 0.3
    assert turned.gain.interval[0] > 0.5
    assert audit.best_as_is.layer == 2
    assert audit.best_as_is.tied == ()
    assert audit.best_as_is.lead.interval[0] > 0.5
    assert {audit.best_aligned.layer, *audit.best_aligned.tied} == {1, 2}
    assert audit.verdict == "cross-lingual as it is"


def test_words_are_matched_where_they_are_shared(audit):
    unrelated, turned, shared = audit.layers
    assert 0.05 < shared.word_chance < 0.25
    # Not all: a meaning may also stand in another sentence of the group, and then the hit is shared.
    assert shared.word_match.value > 0.9
    assert abs(unrelated.word_match.value - unrelated.word_chance) < 0.15
    assert shared.word_links["F1"].value > 0.95
    assert turned.word_links["F1"].value < 0.5


def test_probe_anisotropy_and_shape_are_as_planted(audit):
    unrelated, turned, shared = audit.layers
    assert unrelated.probe.value == 1
    assert 0.4 < shared.probe.value < 0.6
    assert abs(shared.anisotropy[0]) < 0.05
    assert unrelated.anisotropy[1] > 0.5
    assert turned.relational_similarity > 0.999
    assert turned.singular_value_gap < 1e-6
    assert turned.eigenvector_similarity < 1e-6
    assert abs(unrelated.relational_similarity) < 0.2


def test_an_audit_is_the_same_again_and_is_json(audit):
    text, links = text_and_links()
    again = audit_encoder(FakeEncoder(), text, links=links, segmenter="spaces", bootstrap=200)
    assert json.dumps(again.record(), allow_nan=False) == json.dumps(audit.record(), allow_nan=False)
    other = audit_encoder(FakeEncoder(), text, segmenter=("spaces", "spaces"), bootstrap=20, seed=1)
    assert other.layers[0].word_links is None
    assert other.record() != audit.record()


def test_blank_and_repeated_lines_are_left_out_with_a_note_and_links_stay_with_their_lines(audit):
    text, links = text_and_links()
    src, tgt, all_links = list(text.src), list(text.tgt), list(links)
    for at, pair in ((0, ("", "b1 b2")), (5, ("a1 a2", " ")), (9, (src[0], "b7 b8 b9"))):
        src.insert(at, pair[0])
        tgt.insert(at, pair[1])
        all_links.insert(at, WordLinks())
    src[9] = src[1]  # what was line 0
    found = audit_encoder(
        FakeEncoder(), ParallelText("xx", "yy", src, tgt), links=all_links, segmenter="spaces", bootstrap=200
    )
    assert found.notes == (
        "2 lines were left out: blank on a side",
        "1 line was left out: a sentence that was there before",
    )
    assert [one.as_is for one in found.layers] == [one.as_is for one in audit.layers]
    assert found.layers[2].word_links["F1"].value > 0.95


def test_limits_hold():
    text, _ = text_and_links()
    found = audit_encoder(FakeEncoder(), text, segmenter="spaces", limit=40, words=100, bootstrap=20)
    assert found.sentences == 40
    assert max(found.words) <= 100
    assert "40 of 120 sentence pairs were drawn" in found.notes


def test_what_cannot_be_audited_is_refused():
    text, links = text_and_links()
    few = ParallelText("", "", text.src[: FEWEST - 1], text.tgt[: FEWEST - 1])
    with pytest.raises(InputError, match=f"{FEWEST - 1} sentence pairs are too few"):
        audit_encoder(FakeEncoder(), few, segmenter="spaces")
    with pytest.raises(FormatError, match=r"gold\.txt:1: the link"):
        audit_encoder(
            FakeEncoder(), text, links=[WordLinks({(99, 0)}), *links[1:]], links_name="gold.txt", segmenter="spaces"
        )
    with pytest.raises(FormatError, match="119 lines of links"):
        audit_encoder(FakeEncoder(), text, links=links[1:], segmenter="spaces")
    encoder = FakeEncoder()
    encoder.layers = parse_layers(-1, 2)
    with pytest.raises(ShapeError, match="layer="):
        audit_encoder(encoder, text, segmenter="spaces")


def test_words_written_alike_and_punctuation_are_not_asked():
    class Spelled(FakeEncoder):
        def vectors(self, words):
            return np.stack([normal(3, DIM, seed=len(word)) for word in words], axis=1)

    src = [f"Name{i} , 12" for i in range(30)]
    tgt = [f"name{i} ! 12" for i in range(30)]
    found = audit_encoder(Spelled(), ParallelText("", "", src, tgt), segmenter="spaces", bootstrap=20)
    assert found.layers[0].word_match is None
    assert found.layers[0].word_chance is None
    json.dumps(found.record(), allow_nan=False)


def test_word_matching_agrees_with_brute_force_and_shares_ties():
    random = np.random.default_rng(0)
    lengths = [3, 1, 4, 2, 5]
    sentences = [[f"w{i}" for i in range(length)] for length in lengths]
    offsets = np.cumsum([0, *lengths])
    A, B = (WordVectors(sentences, normal(15, 6, seed=seed), offsets) for seed in (1, 2))
    groups = np.array([[i, *random.choice([j for j in range(5) if j != i], 2, replace=False)] for i in range(5)])
    asked = [random.random(length) < 0.7 for length in lengths]
    found = word_matching(A, B, groups, asked)
    for i, group in enumerate(groups):
        hits = 0
        for k in np.flatnonzero(asked[i]):
            scored = [
                (float(A[i][k] @ y / np.linalg.norm(A[i][k]) / np.linalg.norm(y)), j) for j in group for y in B[j]
            ]
            hits += max(scored)[1] == i
        candidates = sum(lengths[j] for j in group)
        assert found[i].tolist() == pytest.approx([hits, asked[i].sum(), asked[i].sum() * lengths[i] / candidates])
    same = WordVectors([["x"], ["y", "z"]], np.ones((3, 2), np.float32), np.array([0, 1, 3]))
    all_asked = [np.array([True]), np.array([True, True])]
    tied = word_matching(same, same, np.array([[0, 1], [1, 0]]), all_asked)
    assert tied[:, 0] == pytest.approx([1 / 3, 4 / 3])
    assert tied[:, 0] == pytest.approx(tied[:, 2])


def test_anisotropy_agrees_with_brute_force():
    X, Y = normal(12, 5) + 0.5, normal(9, 5, seed=1)
    U, V = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (X, Y))
    within = [np.mean([M[i] @ M[j] for i in range(len(M)) for j in range(len(M)) if i != j]) for M in (U, V)]
    assert anisotropy(X, Y) == pytest.approx([*within, (U @ V.T).mean()], abs=1e-6)
    assert max(map(abs, anisotropy(normal(2000, 50), normal(2000, 50, seed=1)))) < 0.01


def test_the_probe_finds_a_language_and_nothing_where_there_is_none():
    halves = np.array_split(np.random.default_rng(0).permutation(400), 2)
    X, Y = normal(400, 20), normal(400, 20, seed=1)
    assert 0.44 < language_probe(X, Y, halves).mean() < 0.56
    assert language_probe(X, X, halves).mean() == 0.5
    shifted = Y.copy()
    shifted[:, 3] += 20
    assert language_probe(X, shifted, halves).mean() == 1
    # More dimensions than sentences must not make it believe in noise.
    wide = language_probe(normal(60, 300), normal(60, 300, seed=1), np.array_split(np.arange(60), 2)).mean()
    assert 0.3 < wide < 0.7


def test_the_map_is_tested_on_sentences_it_has_not_seen():
    # Unrelated points in many dimensions can be turned onto each other, but not those that were held out.
    X, Y = normal(100, 80), normal(100, 80, seed=1)
    found = halved_retrieval(X, Y, np.array_split(np.arange(100), 2))
    assert found["aligned", "csls"].shape == (100, 2)
    assert found["aligned", "csls"].mean() < 0.15


def test_memory_is_foreseen():
    assert expected_megabytes(2, 10, sentences=1000, words=1000) == pytest.approx(0.32)


def test_verdicts(audit):
    def with_p1(raw, aligned, gain):
        return dataclasses.replace(
            audit,
            best_as_is=dataclasses.replace(audit.best_as_is, p1=Figure(raw, (raw, raw))),
            best_aligned=dataclasses.replace(audit.best_aligned, p1=Figure(aligned, (aligned, aligned))),
            gain=Figure(gain, (gain - 0.02, gain + 0.02)),
        )

    assert with_p1(0.1, 0.9, 0.8).verdict == "cross-lingual once aligned"
    assert with_p1(0.3, 0.6, 0.3).verdict == "partly cross-lingual, more so once aligned"
    assert with_p1(0.5, 0.5, 0.0).verdict == "partly cross-lingual"
    assert with_p1(0.1, 0.12, 0.01).verdict == "hardly cross-lingual"
    assert any("brings +80.0 points" in line for line in with_p1(0.1, 0.9, 0.8).sentences_of_verdict())
    assert any("does harm" in line for line in with_p1(0.9, 0.5, -0.4).sentences_of_verdict())
    assert any("nothing that could be told" in line for line in with_p1(0.5, 0.5, 0.0).sentences_of_verdict())
    assert any("Of single layers, 1 gains most" in line for line in audit.sentences_of_verdict())


def test_a_huge_dimension_is_told_with_what_helps():
    class Huge(FakeEncoder):
        def __init__(self):
            super().__init__()
            for side, tables in enumerate(self.tables.values()):
                tables[2, :, 4] = 3000 * normal(MEANINGS, seed=7 + side)

    huge = audit_encoder(Huge(), text_and_links()[0], segmenter="spaces", bootstrap=20)
    layer = huge.layer(2)
    assert layer.dominance > 0.9
    assert layer.as_is["csls"].mean.value < 0.5
    assert layer.standardised.value > 0.9
    (line,) = [line for line in huge.sentences_of_verdict() if "three of 16 dimensions" in line]
    assert "In layer 2" in line
    assert line.endswith("set `normalise` to standardise,unit.")


def test_the_page_shows_all_layers_and_escapes_names(audit, tmp_path):
    write_audit_page(tmp_path / "report.html", audit)
    page = (tmp_path / "report.html").read_text("utf-8")
    body = page[: page.index("</main>")]
    for title in ("Sentence retrieval", "Words", "Language identity", "Anisotropy", "Hubness", "Isomorphism"):
        assert f"<h2>{title}</h2>" in body
    assert "fake &lt;b&gt;" in body
    assert "fake <b>" not in body
    chart = body.split('<figure class="plot">')[1]
    names = re.findall(r"<bdi>(.*?)</bdi>", chart)
    assert names == [
        "as it is, 120 candidates", "as it is, 60 candidates", "aligned, 60 candidates",
        "best layer as it is", "best layer aligned", "95% interval",
    ]  # fmt: skip
    for one in audit.layers:
        assert f"aligned, 60 candidates, layer {one.layer}: {100 * one.aligned['csls'].mean.value:.1f}%" in chart
    assert len(re.findall(r'class="symbol ring" [^>]*data-key', chart)) == 2


def test_the_page_does_without_words(audit, tmp_path):
    bare = [
        dataclasses.replace(one, word_match=None, word_chance=None, word_links=None, anisotropy=None)
        for one in audit.layers
    ]
    write_audit_page(tmp_path / "report.html", dataclasses.replace(audit, layers=tuple(bare)))
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<h2>Words</h2>" not in page
    assert "<h2>Anisotropy</h2>" not in page
