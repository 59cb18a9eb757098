"""Words of parallel text as matched occurrences: every linked one once, with the encoder's own vector."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.errors import ConfigError, FormatError, InputError, LexiconError
from isoglot.pipelines import ContextualPairs, TokenisedPairs, extract_to
from isoglot.pipelines.contextual_pairs import extract_layers, extract_pairs
from isoglot.pipelines.encoder_alignment import fit_alignment
from isoglot.spaces import parse_occurrence
from isoglot.wordalign import WordLinks, check_linking, link_words

COUNT = 40
CLOSE = {"atol": 2e-5, "rtol": 1e-4}


@pytest.fixture(scope="module")
def text(parallel):
    return TokenisedPairs(parallel.src[:COUNT], parallel.tgt[:COUNT], "north", "south", links=parallel.links[:COUNT])


@pytest.fixture(scope="module")
def found(tiny, text):
    return extract_pairs(tiny, text)


def links_of(found):
    """Named links: {((word, line, place), (word, line, place)), ...}, one for each pair."""
    sides = [[tuple(parse_occurrence(name)) for name in space.words] for space in (found.src, found.tgt)]
    return [(sides[0][i], sides[1][j]) for i, j in found.pairs.tolist()]


def assert_same(first, second):
    for one, other in ((first.src, second.src), (first.tgt, second.tgt)):
        assert (one.lang, list(one.words)) == (other.lang, list(other.words))
        np.testing.assert_array_equal(one.vectors, other.vectors)
    np.testing.assert_array_equal(first.pairs, second.pairs)
    assert dict(first.info) == dict(second.info)


def test_sentences_remember_their_lines_and_are_cut_into_parts():
    links = [WordLinks({(0, 0)}), WordLinks(), WordLinks({(1, 0)})]
    text = TokenisedPairs([["a"], ["b"], ["c", "d"]], [["x"], ["y"], ["z"]], "en", "de", [2, 5, 6], links)
    assert (len(text), [text.line(number) for number in range(3)]) == (3, [2, 5, 6])
    part = text.part(1, 10)
    assert (len(part), part.src, part.tgt, part.numbers, part.links) == (
        2, [["b"], ["c", "d"]], [["y"], ["z"]], [5, 6], links[1:],
    )  # fmt: skip
    assert (part.src_lang, part.tgt_lang) == ("en", "de")
    plain = TokenisedPairs([["a"], ["b"]], [["x"], ["y"]])
    assert (plain.line(1), plain.part(1, 2).line(0), plain.part(1, 2).links) == (1, 1, None)


def test_sides_and_links_must_fit():
    with pytest.raises(InputError, match="2 source sentences but 1 target"):
        TokenisedPairs([["a"], ["b"]], [["x"]])
    with pytest.raises(InputError, match="2 lines of word links for 1 sentences"):
        TokenisedPairs([["a"]], [["x"]], links=[WordLinks(), WordLinks()])
    with pytest.raises(FormatError, match=r"the link 1-0 \(counted from 0\) points past sentences of 1 and 1 words"):
        TokenisedPairs([["a"], ["b"]], [["x"], ["y"]], links=[WordLinks({(1, 0)}), WordLinks()])


def test_pairs_are_exactly_the_links(found, text):
    wanted = {
        ((text.src[number][i], number, i), (text.tgt[number][j], number, j))
        for number, links in enumerate(text.links)
        for i, j in links.all
    }
    named = links_of(found)
    assert len(named) == len(found) == len(wanted)
    assert set(named) == wanted
    for space, side in ((found.src, 0), (found.tgt, 1)):
        assert len(set(space.words)) == len(space) == len({pair[side] for pair in wanted})
    # Meanings of two words make some occurrences translate two.
    assert len(found.src) < len(found)
    assert (found.src.lang, found.tgt.lang) == ("north", "south")
    assert found.info["word_alignment"] == "given"


def test_rows_are_the_encoders_vectors_of_those_words(tiny_folder, found, text):
    """Each sentence encoded on its own by another encoder."""
    encoder = Encoder(tiny_folder)
    for space, sentences in ((found.src, text.src), (found.tgt, text.tgt)):
        alone = [encoder.words([words])[0] for words in sentences]
        wanted = np.stack([alone[o.sentence][o.position] for o in map(parse_occurrence, space.words)])
        np.testing.assert_allclose(space.vectors, wanted, **CLOSE)
    X, Y = found.matched
    np.testing.assert_array_equal(X, found.src.vectors[found.pairs[:, 0]])
    np.testing.assert_array_equal(Y, found.tgt.vectors[found.pairs[:, 1]])


def test_names_count_the_lines_of_the_file(tiny, parallel):
    text = TokenisedPairs(parallel.src[:3], parallel.tgt[:3], numbers=[4, 7, 9], links=parallel.links[:3])
    named = links_of(extract_pairs(tiny, text))
    assert {first[1] for first, _ in named} == {4, 7, 9}
    assert all(first[1] == second[1] for first, second in named)


@pytest.mark.parametrize("method", ["itermax", "match"])
def test_without_links_words_are_aligned_by_these_vectors(tiny, parallel, method):
    text = TokenisedPairs(parallel.src[:10], parallel.tgt[:10])
    found = extract_pairs(tiny, text, method=method, settings={"null": 0.1})
    links = link_words(tiny.words(text.src), tiny.words(text.tgt), method, null=0.1)
    wanted = [(number, i, j) for number, one in enumerate(links) for i, j in sorted(one.all)]
    assert [(first[1], first[2], second[2]) for first, second in links_of(found)] == wanted
    assert found.info["word_alignment"] == method


def test_a_statistical_model_sees_the_whole_text(tiny, parallel, monkeypatch):
    pytest.importorskip("thot")
    from isoglot.wordalign import statistical_align

    monkeypatch.setattr("isoglot.pipelines.contextual_pairs.SHARD", 16)
    text = TokenisedPairs(parallel.src[:100], parallel.tgt[:100])
    found = extract_pairs(tiny, text, method="ibm1", settings={"symmetrise": "intersection"})
    links = statistical_align(text.src, text.tgt, "ibm1", "intersection")
    wanted = [(number, i, j) for number, one in enumerate(links) for i, j in sorted(one.all)]
    assert [(first[1], first[2], second[2]) for first, second in links_of(found)] == wanted
    assert found.info["word_alignment"] == "ibm1"


def test_layers_on_their_own_share_the_links(tiny_folder, text):
    layers = extract_layers(Encoder(tiny_folder, layer="1,3"), text)
    assert len(layers) == 2
    for layer, number in zip(layers, (1, 3), strict=True):
        alone = extract_pairs(Encoder(tiny_folder, layer=number), text)
        assert list(layer.src.words) == list(alone.src.words)
        np.testing.assert_array_equal(layer.pairs, alone.pairs)
        np.testing.assert_allclose(layer.tgt.vectors, alone.tgt.vectors, **CLOSE)


def test_layers_on_their_own_are_aligned_by_the_last(tiny_folder, parallel):
    plain = TokenisedPairs(parallel.src[:10], parallel.tgt[:10])
    layers = extract_layers(Encoder(tiny_folder, layer="0,3"), plain, method="match")
    last = extract_pairs(Encoder(tiny_folder, layer=3), plain, method="match")
    assert links_of(layers[0]) == links_of(layers[1]) == links_of(last)


def test_streamed_to_disk_it_is_the_same(tiny, text, tmp_path, monkeypatch):
    whole = extract_pairs(tiny, text)
    monkeypatch.setattr("isoglot.pipelines.contextual_pairs.SHARD", 7)
    in_memory = extract_pairs(tiny, text)
    streamed = extract_to(tmp_path / "pairs", tiny, text)
    assert_same(streamed, in_memory)
    # Other shards are other batches, so that sums may come out a little different.
    assert links_of(streamed) == links_of(whole)
    np.testing.assert_allclose(streamed.src.vectors, whole.src.vectors, **CLOSE)
    assert sorted(path.name for path in (tmp_path / "pairs").iterdir()) == [
        "pairs.json", "pairs.safetensors", "src.safetensors", "tgt.safetensors",
    ]  # fmt: skip


def test_saved_and_loaded(found, tmp_path):
    found.save(tmp_path / "pairs")
    assert_same(ContextualPairs.load(tmp_path / "pairs"), found)
    found.save(tmp_path / "pairs")
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="will not be overwritten"):
        found.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs", "thesis.tex"]


def change(name, **values):
    def damage(folder):
        content = {**json.loads((folder / name).read_text("utf-8")), **values}
        (folder / name).write_text(json.dumps({k: v for k, v in content.items() if v is not None}), "utf-8")

    return damage


def replace_pairs(make):
    def damage(folder):
        pairs = load_file(folder / "pairs.safetensors")["pairs"]
        save_file({"pairs": np.ascontiguousarray(make(pairs))}, folder / "pairs.safetensors")

    return damage


def cut(name):
    def damage(folder):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return damage


DAMAGES = {
    "no marker": lambda folder: (folder / "pairs.json").unlink(),
    "marker cut": cut("pairs.json"),
    "marker a list": lambda folder: (folder / "pairs.json").write_text("[]"),
    "another version": change("pairs.json", version=99),
    "no languages": change("pairs.json", languages=None),
    "one language": change("pairs.json", languages=["north"]),
    "no pairs": lambda folder: (folder / "pairs.safetensors").unlink(),
    "pairs cut": cut("pairs.safetensors"),
    "pairs past the end": replace_pairs(lambda pairs: pairs + 10_000),
    "pairs below 0": replace_pairs(lambda pairs: pairs - 1),
    "pairs of one column": replace_pairs(lambda pairs: pairs[:, 0]),
    "pairs of none": replace_pairs(lambda pairs: pairs[:0]),
    "no source": lambda folder: (folder / "src.safetensors").unlink(),
    "target cut": cut("tgt.safetensors"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_folders_are_told(found, tmp_path, damage):
    found.save(tmp_path / "pairs")
    damage(tmp_path / "pairs")
    with pytest.raises(InputError):
        ContextualPairs.load(tmp_path / "pairs")


def test_no_folder_at_all(tmp_path):
    with pytest.raises(InputError, match="no such folder; give a folder written by"):
        ContextualPairs.load(tmp_path / "nowhere")


def test_a_text_without_links_is_an_error(tiny, tmp_path):
    text = TokenisedPairs([["a"], ["b"]], [["x"], ["y"]], links=[WordLinks()] * 2)
    empty = TokenisedPairs([], [])
    for one in (text, empty):
        with pytest.raises(LexiconError, match="no words of the text are linked; check that the files are"):
            extract_pairs(tiny, one)
        with pytest.raises(LexiconError, match="no words of the text are linked"):
            extract_layers(tiny, one)
        with pytest.raises(LexiconError, match="no words of the text are linked"):
            extract_to(tmp_path / "pairs", tiny, one)
    assert not list(tmp_path.iterdir())


def test_some_shards_may_be_without_links(tiny, parallel, tmp_path, monkeypatch):
    monkeypatch.setattr("isoglot.pipelines.contextual_pairs.SHARD", 2)
    links = [WordLinks()] * 2 + parallel.links[2:4] + [WordLinks()] * 2
    text = TokenisedPairs(parallel.src[:6], parallel.tgt[:6], links=links)
    found = extract_to(tmp_path / "pairs", tiny, text)
    assert len(found) == sum(len(one) for one in links)
    assert {first[1] for first, _ in links_of(found)} == {2, 3}


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_killed_half_way_it_leaves_what_was_there(tiny, text, tmp_path, monkeypatch, error):
    monkeypatch.setattr("isoglot.pipelines.contextual_pairs.SHARD", 10)
    seen = []

    def progress(step, done, total):
        seen.append(step)
        if "(20 of 40)" in step:
            raise error

    with pytest.raises(error):
        extract_to(tmp_path / "pairs", tiny, text, progress=progress)
    assert any("(10 of 40)" in step for step in seen)
    assert not list(tmp_path.iterdir())
    small = TokenisedPairs(text.src[:2], text.tgt[:2], links=text.links[:2])
    before = extract_to(tmp_path / "pairs", tiny, small)
    with pytest.raises(error):
        extract_to(tmp_path / "pairs", tiny, text, progress=progress)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]
    assert_same(ContextualPairs.load(tmp_path / "pairs"), before)


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("itermacs", {}, "unknown word alignment 'itermacs'; did you mean 'itermax'"),
        (
            "itermax",
            {"threshold": 1},
            "itermax has no setting 'threshold'; known settings: alpha, distortion",
        ),
        ("itermax", {"n_iter": 1.5}, "n_iter of itermax takes a whole number, not 1.5"),
        ("itermax", {"null": "high"}, "null of itermax takes a number, not 'high'"),
        ("itermax", {"method": "match"}, "itermax has no setting 'method'"),
        ("hmm", {"null": 0.4}, "hmm has no setting 'null'; known settings: seed, symmetrise"),
        ("hmm", {"progress": 1}, "hmm has no setting 'progress'"),
        ("hmm", {"symmetrise": 3}, "symmetrise of hmm takes a name, not 3"),
    ],
)
def test_unknown_word_alignment_is_told_before_anything_is_encoded(
    tiny, parallel, monkeypatch, method, settings, message
):
    with pytest.raises(ConfigError, match=message):
        check_linking(method, settings)
    monkeypatch.setattr(Encoder, "words", lambda *_, **__: 1 / 0)
    with pytest.raises(ConfigError, match=message):
        extract_pairs(tiny, TokenisedPairs(parallel.src[:2], parallel.tgt[:2]), method=method, settings=settings)


def test_known_word_alignments_pass():
    check_linking("itermax", {"null": None, "alpha": 1, "n_iter": np.int64(2), "distortion": np.float32(0.1)})
    check_linking("thot-eflomal", {"seed": 3, "symmetrise": "union"})


def test_an_aligned_encoder_maps_one_language_only(tiny, found, text):
    from isoglot.aligners import Procrustes

    alignment = fit_alignment(Procrustes(), found.src, found.tgt, found.pairs)
    mapped = AlignedEncoder(tiny, (alignment,), ("north", "south")).encoder_of("north")
    with pytest.raises(ConfigError, match="aligned: it maps one of the languages only; name the encoder before"):
        extract_pairs(mapped, text)
