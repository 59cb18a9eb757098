"""Which lines are learned from, and batches that follow from the seed and their number alone."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, InputError
from isoglot.finetuning import TrainingSettings, inverse_frequencies, open_corpus, parallel_text as module
from isoglot.finetuning.parallel_text import Sampler
from isoglot.text import line_offsets as lines_module
from isoglot.text.line_offsets import TextLines


def numbered(lang, count, held_out=0, seed=0):
    """Sentences of many lengths, none twice; their first word is their name."""
    lengths = np.random.default_rng(seed).integers(1, 30, count)
    sides = [[f"{side}{lang}{number}" + " w" * lengths[number] for number in range(count)] for side in "st"]
    return open_corpus(*sides, lang, "x", held_out=held_out)


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return tiny.model.tokenizer


@pytest.fixture
def sampler(tokenizer):
    def make(corpora, batch, *, links=None, idf=False, work=None, segmenter="spaces", **options):
        model = {} if links is None else {"links": links}
        settings = TrainingSettings(batch=batch, max_length=96, segmenter=segmenter, **model, **options)
        return Sampler(corpora, tokenizer, settings, links=links is not None, idf=idf, work=work)

    return make


def names(drawn):
    """First words, which are names, of both sides; they must fit each other."""
    src, tgt = ([text.split()[0] for text in side] for side in (drawn.texts["src"], drawn.texts["tgt"]))
    assert [name[1:] for name in src] == [name[1:] for name in tgt]
    return [name[1:] for name in src]


def drawn_by(sampler, numbers):
    """By pair of languages, the names of the sentences of each batch."""
    found = {}
    for number in numbers:
        for one in sampler.draw(number):
            found.setdefault(one.batch.pair, []).append(names(one))
    return found


TEXTS = st.lists(
    st.tuples(st.sampled_from(["", " ", "a", " a", "b", "c", "d e"]), st.sampled_from("xyz ")), max_size=25
)


@given(TEXTS, st.integers(0, 6))
@settings(deadline=None, max_examples=100)
def test_no_line_is_blank_repeated_or_like_a_held_out_one(pairs, held_out):
    stripped = [(src.strip(), tgt.strip()) for src, tgt in pairs]
    first = [i for i, pair in enumerate(stripped) if all(pair) and pair not in stripped[:i]]
    test = first[len(first) - held_out :] if held_out else []
    sides = [{stripped[i][side] for i in test} for side in (0, 1)]
    learned = [i for i in first if i not in test and all(stripped[i][side] not in sides[side] for side in (0, 1))]
    src, tgt = [src for src, _ in pairs], [tgt for _, tgt in pairs]
    if held_out > len(first) or not learned:
        with pytest.raises(InputError, match="left to learn from"):
            open_corpus(src, tgt, "a", "b", held_out=held_out)
        return
    found = open_corpus(src, tgt, "a", "b", held_out=held_out)
    assert (found.rows.tolist(), found.held_out.tolist()) == (learned, test)
    assert found.repeated == len(pairs) - len(learned) - len(test)


@pytest.mark.parametrize(("lines", "expected"), [(5, 0), (40, 4), (4000, 300)])
def test_a_tenth_is_held_out_but_no_more_than_enough(lines, expected):
    texts = [str(number) for number in range(lines)]
    found = open_corpus(texts, texts, "a", "b")
    assert len(found.held_out) == expected
    assert len(found) == lines - expected


def test_the_first_lines_are_taken_where_there_is_a_limit():
    texts = [str(number) for number in range(50)]
    found = open_corpus(texts, texts, "a", "b", held_out=10, limit=7)
    assert found.rows.tolist() == list(range(7))
    assert found.held_out.tolist() == list(range(40, 50))
    text = found.text(found.held_out[:2])
    assert (text.src_lang, text.src) == ("a", ("40", "41"))


@pytest.mark.parametrize("wrong", [{"held_out": -1}, {"limit": 0}, {"limit": -3}])
def test_numbers_of_lines_must_make_sense(wrong):
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))}: must"):
        open_corpus(["a", "b", "c"], ["a", "b", "c"], "a", "b", **wrong)


def test_sides_must_be_of_equal_length(tmp_path):
    for name, count in (("src", 3), ("tgt", 2)):
        (tmp_path / name).write_text("".join(f"{number}\n" for number in range(count)), "utf-8")
    with pytest.raises(InputError, match=r"tgt: 2 lines, but the other side has 3"):
        open_corpus(tmp_path / "src", tmp_path / "tgt", "a", "b")
    with pytest.raises(InputError, match=r"^a-b: 1 lines, but the other side has 2"):
        open_corpus(["x", "y"], ["x"], "a", "b")


def test_text_on_disk_is_as_good_as_text_in_memory(tmp_path, monkeypatch, lines):
    for name, side in zip(("src", "tgt"), lines, strict=True):
        (tmp_path / name).write_bytes("\r\n".join([*side, side[0]]).encode())
    monkeypatch.setattr(lines_module, "_BLOCK", 1 << 10)
    on_disk = open_corpus(tmp_path / "src", tmp_path / "tgt", "a", "b")
    in_memory = open_corpus(*([*side, side[0]] for side in lines), "a", "b")
    assert isinstance(on_disk.src, TextLines)
    for name in ("rows", "held_out", "lengths"):
        assert np.array_equal(getattr(on_disk, name), getattr(in_memory, name))
    assert on_disk.digest == in_memory.digest
    assert on_disk.digest != open_corpus(*lines, "a", "b").digest


def test_a_sentence_comes_once_an_epoch_and_none_is_left_out_for_ever(sampler):
    found = sampler([numbered("a", 30)], 8)
    assert found.batches_of_an_epoch == 3
    seen = set()
    orders = []
    for epoch in range(12):
        (batches,) = drawn_by(found, range(3 * epoch, 3 * epoch + 3)).values()
        assert [len(batch) for batch in batches] == [8, 8, 8]
        counts = Counter(name for batch in batches for name in batch)
        assert set(counts.values()) == {1}
        seen |= set(counts)
        orders.append(batches)
    # The last six of an epoch make no batch: other ones each time, long ones as well as short ones.
    assert len(seen) == 30
    assert orders[0] != orders[1]


def test_every_pair_has_its_share_and_small_texts_start_again(sampler):
    corpora = [numbered("a", 40), numbered("b", 8), numbered("c", 21)]
    found = drawn_by(sampler(corpora, 4), range(10))
    assert list(found) == ["a-x", "b-x", "c-x"]
    assert all([len(batch) for batch in batches] == [4] * 10 for batches in found.values())
    assert set(Counter(chain.from_iterable(found["a-x"])).values()) == {1}
    assert set(Counter(chain.from_iterable(found["b-x"])).values()) == {5}
    for begin in range(0, 10, 2):
        assert len({name for batch in found["b-x"][begin : begin + 2] for name in batch}) == 8


def test_small_texts_pause_where_they_are_not_repeated(sampler):
    corpora = [numbered("a", 40), numbered("b", 8)]
    found = sampler(corpora, 4, upsample=False)
    pairs = [[one.batch.pair for one in found.draw(number)] for number in range(20)]
    assert pairs == ([["a-x", "b-x"]] * 2 + [["a-x"]] * 8) * 2
    assert set(Counter(chain.from_iterable(drawn_by(found, range(20))["b-x"])).values()) == {2}


def test_mixed_batches_have_all_languages_and_the_same_sentences(sampler):
    corpora = [numbered("a", 40), numbered("b", 20), numbered("c", 30)]
    apart, mixed = sampler(corpora, 9), sampler(corpora, 9, mixed=True)
    for number in range(4):
        one, other = apart.draw(number), mixed.draw(number)
        assert [drawn.batch.pair for drawn in other] == ["mixed"] * 3
        for drawn in other:
            assert Counter(name[0] for name in names(drawn)) == {"a": 3, "b": 3, "c": 3}
        assert sorted(chain.from_iterable(map(names, one))) == sorted(chain.from_iterable(map(names, other)))
    with pytest.raises(ConfigError, match="mixed batch of 2"):
        sampler(corpora, 2, mixed=True)


@pytest.mark.parametrize("mixed", [False, True])
def test_a_batch_follows_from_the_seed_and_its_number(mixed, sampler):
    corpora = [numbered("a", 40), numbered("b", 10)]
    walked = sampler(corpora, 4, mixed=mixed, seed=5)
    for number in range(30):
        before = walked.draw(number)
        if number in (7, 25):
            fresh = sampler(corpora, 4, mixed=mixed, seed=5).draw(number)
            assert [one.texts for one in fresh] == [one.texts for one in before]
            for one, other in zip(fresh, before, strict=True):
                assert one.batch.src.ids.equal(other.batch.src.ids)
    # Back to where it was before.
    assert walked.draw(7)[0].texts["src"] == sampler(corpora, 4, mixed=mixed, seed=5).draw(7)[0].texts["src"]
    assert walked.draw(7)[0].texts["src"] != sampler(corpora, 4, mixed=mixed, seed=6).draw(7)[0].texts["src"]


def test_sentences_of_a_batch_are_of_like_length(sampler):
    found = sampler([numbered("a", 400)], 10)
    lengths = [[len(text) for text in found.draw(number)[0].texts["src"]] for number in range(40)]
    within = np.mean([np.std(batch) for batch in lengths])
    assert within < 0.15 * np.std(lengths)
    # Batches themselves come in no order of length.
    middles = np.mean(lengths, axis=1)
    assert abs(np.corrcoef(np.arange(40), middles)[0, 1]) < 0.5


def test_a_text_smaller_than_a_batch_is_a_batch(sampler):
    found = sampler([numbered("a", 3)], 8)
    assert found.batches_of_an_epoch == 1
    assert all(sorted(names(found.draw(number)[0])) == ["a0", "a1", "a2"] for number in range(3))


def test_texts_must_be_of_different_pairs(sampler):
    with pytest.raises(ConfigError, match="a-x, a-x"):
        sampler([numbered("a", 3), numbered("a", 4)], 2)
    with pytest.raises(ConfigError, match="not none"):
        sampler([], 2)


def test_batches_are_what_the_encoder_sees(sampler, tokenizer):
    corpus = open_corpus(["fard pold zo", "fard"], ["zo jão", "xès"], "a", "b", held_out=0)
    (drawn,) = sampler([corpus], 2).draw(0)
    row = drawn.texts["src"].index("fard pold zo")
    assert drawn.batch.src.counts[row] == 3
    tokens = drawn.batch.src.ids[row][drawn.batch.src.mask[row]].tolist()
    assert tokens == tokenizer("fard pold zo")["input_ids"]
    assert drawn.batch.links is None
    assert drawn.batch.src.idf is None


def test_links_are_computed_once_and_kept(sampler, lines, tmp_path, monkeypatch):
    corpus = open_corpus(*lines, "north", "south", held_out=300)
    first = sampler([corpus], 8, links="ibm1", work=tmp_path / "work")
    (place,) = (tmp_path / "work").iterdir()
    assert place.name.startswith("links-north-south-")
    assert len(place.read_text("utf-8").splitlines()) == len(corpus)

    def computed(*arguments, **options):
        raise InputError("computed again")

    monkeypatch.setattr(module, "statistical_align", computed)
    again = sampler([corpus], 8, links="ibm1", work=tmp_path / "work")
    for number in range(5):
        one, other = first.draw(number)[0].batch, again.draw(number)[0].batch
        assert len(one.links[0]) > 8
        assert all(a.equal(b) for a, b in zip(one.links, other.links, strict=True))
    fewer = open_corpus(*lines, "north", "south", held_out=300, limit=50)
    for corpora, options in (([corpus], {"links": "hmm"}), ([fewer], {"links": "ibm1"})):
        with pytest.raises(InputError, match="computed again"):
            sampler(corpora, 8, work=tmp_path / "work", **options)


def test_links_of_text_that_was_split_in_another_way_are_others(sampler, tmp_path):
    corpus = open_corpus(["good day, all", "day"], ["bom dia, a todos", "dia"], "en", "pt", held_out=0)
    for segmenter in ("spaces", "icu"):
        made = sampler([corpus], 2, work=tmp_path, segmenter=segmenter, links="ibm1")
        assert made.draw(0)[0].batch.links is not None
    assert len(list(tmp_path.iterdir())) == 2


def test_links_are_those_of_the_words(sampler, lines, parallel):
    found = sampler([open_corpus(*lines, "north", "south", held_out=0)], 8, links="ibm1")
    right = total = 0
    gold = {" ".join(words): links.sure for words, links in zip(parallel.src, parallel.links, strict=True)}
    for number in range(6):
        (drawn,) = found.draw(number)
        for sentence, i, j in zip(*(one.tolist() for one in drawn.batch.links), strict=True):
            right += (i, j) in gold[drawn.texts["src"][sentence]]
            total += 1
    assert total > 100
    assert right / total > 0.8


def test_sentences_without_words_have_no_links(sampler, monkeypatch):
    # A segmenter that drops punctuation leaves nothing of such lines.
    monkeypatch.setattr(module, "segmenter", lambda name, lang: lambda text: text.replace("!", "").split())
    src, tgt = ["a", "b", "a b", "b a", "!!", "a !"], ["x", "y", "x y", "y x", "z", "!"]
    corpus = open_corpus(src, tgt, "a", "b", held_out=0)
    drawn = sampler([corpus], 6, links="ibm1").draw(0)[0]
    assert sorted(drawn.texts["src"]) == sorted(src)
    assert {drawn.texts["src"][number] for number in drawn.batch.links[0].tolist()} == set(src[:4])


def test_words_are_weighed_by_how_telling_they_are(sampler):
    corpus = open_corpus(["the cat", "the dog", "the"], ["o gato", "o cão", "o"], "en", "pt", held_out=0)
    (drawn,) = sampler([corpus], 3, idf=True).draw(0)
    expected = inverse_frequencies(text.split() for text in corpus.src)
    assert math.isclose(expected["the"], 1.0)
    for row, text in enumerate(drawn.texts["src"]):
        found = drawn.batch.src.idf[row][: len(text.split())].tolist()
        assert np.allclose(found, [expected[word] for word in text.split()])
    assert drawn.batch.tgt.idf is not None


def test_held_out_words_do_not_count_for_weights_and_mixed_batches_know_all(sampler):
    one = open_corpus(["the cat", "the dog", "a cow"], ["o gato", "o cão", "uma vaca"], "en", "x", held_out=1)
    other = open_corpus(["le chat", "le chien"], ["o gato", "o cão"], "fr", "x", held_out=0)
    for drawn in sampler([one, other], 2, idf=True, mixed=True).draw(0):
        for row, text in enumerate(drawn.texts["src"]):
            frequent, rare = drawn.batch.src.idf[row].tolist()
            assert text.split()[0] in ("the", "le")
            assert math.isclose(frequent, 1.0)
            assert math.isclose(rare, 1 + math.log(3 / 2), rel_tol=1e-6)


def test_a_sentence_longer_than_the_encoder_reads_is_linked_as_far_as_that(sampler, lines, tmp_path):
    """Not refused for its length: what the encoder cuts off cannot be trained on anyway."""
    src, tgt = ([*side[:20], " ".join(side[:100])] for side in lines)
    corpus = open_corpus(src, tgt, "north", "south", held_out=0)
    sampler([corpus], 4, links="hmm", work=tmp_path)
    (place,) = tmp_path.iterdir()
    linked = [int(link.split("-")[0]) for link in place.read_text("utf-8").splitlines()[-1].split()]
    assert len(src[-1].split()) > 200
    assert max(linked) < 96
    assert len(linked) > 10
