"""Which sentences are chosen, what is counted, and what a text without paragraphs, words or line ends does."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from isoglot.distill import DistillSettings, Sentences, sentences as module
from isoglot.distill.shards import SHARD_SENTENCES, read_shard, shard_bounds, shuffled_units
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.wordvectors import TextFile

LOOSE = DistillSettings(segmenter="spaces", min_tokens=3, min_count=1)


def built(tmp_path, text, settings=LOOSE, lang="en", **changes):
    path = tmp_path / "text.txt"
    path.write_text(text, "utf-8")
    return Sentences.build(TextFile(lang, path), tmp_path / "chosen", dataclasses.replace(settings, **changes))


def all_of(chosen):
    return [" ".join(chosen[i]) for i in range(len(chosen))]


def test_short_sentences_and_lone_ones_are_left_out(tmp_path):
    text = "\n\nA headline of words\n\nfirst one is long\nshort\nand a third one\n \t\n\nalone it is\n\na b c\nd e f\n"
    chosen = built(tmp_path, text)
    assert all_of(chosen) == ["first one is long", "and a third one", "a b c", "d e f"]
    assert chosen.paragraphs.tolist() == [0, 2, 4]
    figures = {name: chosen.facts[name] for name in ("seen", "kept", "too_short", "alone", "parted")}
    assert figures == {"seen": 7, "kept": 4, "too_short": 1, "alone": 2, "parted": True}
    assert chosen.lengths.tolist() == [4, 4, 3, 3]


def test_seven_words_are_enough(tmp_path):
    settings = DistillSettings(segmenter="spaces", min_count=1)
    chosen = built(tmp_path, "a b c d e f g\n1 2 3 4 5 6\nh i j k l m n o\n", settings)
    assert all_of(chosen) == ["a b c d e f g", "h i j k l m n o"]


@pytest.mark.parametrize("least", [1, 2, 3, 4])
def test_paragraphs_of_so_many_sentences(tmp_path, least):
    text = "\n\n".join("\n".join(f"p{n} s{i} x" for i in range(n)) for n in (1, 2, 3, 4)) + "\n"
    chosen = built(tmp_path, text, min_sentences=least)
    assert len(chosen) == sum(n for n in (1, 2, 3, 4) if n >= least)
    assert len(chosen.paragraphs) - 1 == 5 - least


@pytest.mark.parametrize("text", ["a b c\nd e\nf g h", "\n\na b c\nd e\nf g h\n\n\n"])
def test_without_blank_lines_within_there_are_no_paragraphs(tmp_path, text):
    chosen = built(tmp_path, text)
    assert not chosen.parted
    assert all_of(chosen) == ["a b c", "f g h"]
    assert all_of(built(tmp_path, "a b c\n\n")) == ["a b c"]  # nothing to judge by


def test_words_are_counted_lower_cased_and_the_text_stays_as_it_is(tmp_path):
    chosen = built(tmp_path, "The Cat sat\nthe cat SAT Down\n", min_count=2)
    assert all_of(chosen) == ["The Cat sat", "the cat SAT Down"]
    assert chosen.words == ("cat", "sat", "the")
    assert chosen.counts.tolist() == [2, 2, 2]
    assert chosen.rows([["SAT", "Down"], ["the"]]).tolist() == [1, -1, 2]
    cased = built(tmp_path, "The Cat sat\nthe cat SAT Down\n", lower=False)
    assert "The" in cased.words
    assert cased.rows([["The", "THE"]]).tolist() == [cased.index["The"], -1]


def test_turkish_capitals(tmp_path):
    chosen = built(tmp_path, "IŞIK ve ışık\nİZMİR ve izmir\n", lang="tr")
    assert dict(zip(chosen.words, chosen.counts.tolist(), strict=True)) == {"ışık": 2, "izmir": 2, "ve": 2}


def test_words_are_split_as_asked(tmp_path):
    chosen = built(tmp_path, "Well, it's late.\nNo, it isn't.\n", segmenter="icu")
    assert all_of(chosen) == ["Well , it's late .", "No , it isn't ."]


def test_only_the_first_sentences_and_the_most_frequent_words(tmp_path):
    text = "".join(f"word{i % 7} is it\n" for i in range(50))
    chosen = built(tmp_path, text, max_sentences=20, max_words=4)
    assert len(chosen) == 20
    assert chosen.words[:2] == ("is", "it")
    assert len(chosen.words) == 4
    told = []
    path = tmp_path / "long.txt"
    path.write_text(text * 20_000, "utf-8")
    settings = dataclasses.replace(LOOSE, max_sentences=20)
    Sentences.build(TextFile("en", path), tmp_path / "other", settings, progress=lambda *call: told.append(call))
    assert told[-1][1] == told[-1][2]  # the bar is closed


def test_a_text_without_line_ends_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_SENTENCE", 4)
    monkeypatch.setattr(module, "LONGEST_PARAGRAPH", 8)
    chosen = built(tmp_path, " ".join(f"w{i}" for i in range(18)))
    assert chosen.lengths.tolist() == [4, 4, 4, 4, 2]
    assert chosen.paragraphs.tolist() == [0, 2, 4, 5]
    assert [word for i in range(5) for word in chosen[i]] == [f"w{i}" for i in range(18)]


def test_the_same_text_is_read_once(tmp_path, monkeypatch):
    first = built(tmp_path, "a b c\nd e f\n")
    file = TextFile("en", tmp_path / "text.txt")
    monkeypatch.setattr(module, "_choose", None)
    again = Sentences.build(file, tmp_path / "chosen", dataclasses.replace(LOOSE, seed=7, method="aggregate"))
    assert all_of(again) == all_of(first)
    monkeypatch.undo()
    other = Sentences.build(file, tmp_path / "chosen", dataclasses.replace(LOOSE, lower=False))
    assert other.facts["settings"]["lower"] is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("\n\n\n", "the file is empty"),
        ("a b\nc d\n", "none of 2 sentences can be used: 2 have fewer than 3 words"),
        ("a b c\n\nd e f\n", "2 are in paragraphs of fewer than 2 sentences; lower `min_tokens`"),
    ],
)
def test_a_text_of_which_nothing_is_left(tmp_path, text, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        built(tmp_path, text)
    assert not (tmp_path / "chosen").exists()


def test_too_few_words(tmp_path):
    with pytest.raises(InputError, match=r"fewer than two words occur at least 10 times.*lower `min_count`"):
        built(tmp_path, "a b c\nd e f\n", min_count=10)


def test_a_damaged_folder_is_told(tmp_path):
    built(tmp_path, "a b c\nd e f\n")
    (tmp_path / "chosen" / "sentences.txt").write_text("cut", "utf-8")
    with pytest.raises(InputError, match="delete it to start over"):
        Sentences.load(tmp_path / "chosen")


@pytest.mark.parametrize(
    ("name", "at", "value"), [("starts", 1, 5), ("starts", 0, -2), ("paragraphs", 0, 1), ("lengths", 0, 0)]
)
def test_damaged_bounds_are_told(tmp_path, name, at, value):
    built(tmp_path, "a b c\nd e f\n")
    place = tmp_path / "chosen" / "bounds.safetensors"
    bounds = load_file(place)
    bounds[name][at] = value
    save_file(bounds, place)
    with pytest.raises(FormatError, match=r"bounds.safetensors: damaged"):
        Sentences.load(tmp_path / "chosen")


@pytest.mark.parametrize("name", ["lower", "parted", "types"])
def test_missing_facts_are_told(tmp_path, name):
    built(tmp_path, "a b c\nd e f\n")
    marker = tmp_path / "chosen" / "sentences.json"
    marker.write_text(marker.read_text("utf-8").replace(f'"{name}"', '"other"'), "utf-8")
    with pytest.raises(InputError, match=r"sentences.json is incomplete; delete it"):
        Sentences.load(tmp_path / "chosen")


def test_a_damaged_sentence_is_told(tmp_path):
    built(tmp_path, "a b c\nd e f\n")
    place = tmp_path / "chosen" / "sentences.txt"
    for damage in (b"\xff b c\nd e f\n", b"a_b c\nd e f\n"):
        place.write_bytes(damage)
        with pytest.raises(FormatError, match="checksum"):
            Sentences.load(tmp_path / "chosen")


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "x"},
        {"context": "page"},
        {"reads": "page"},
        {"negatives": 0},
        {"rate": 0},
        {"seed": -1},
        {"occurrences": 0},
        {"method": "aggregate", "epochs": 2},
        {"sample": float("nan")},
    ],
)
def test_settings_are_checked(wrong):
    with pytest.raises(ConfigError):
        DistillSettings(**wrong)


@pytest.mark.parametrize("paragraphs", [False, True])
def test_every_unit_stands_in_one_shard(tmp_path, monkeypatch, paragraphs):
    monkeypatch.setattr("isoglot.distill.shards.SHARD_SENTENCES", 10)
    monkeypatch.setattr("isoglot.distill.shards.SHARD_WORDS", 45)
    random = np.random.default_rng(0)
    text = "".join(
        "".join(" ".join(["w"] * random.integers(3, 9)) + f" {p} {s}\n" for s in range(random.integers(2, 6))) + "\n"
        for p in range(40)
    )
    chosen = built(tmp_path, text)
    units = shuffled_units(chosen, paragraphs=paragraphs)
    in_order = [number for unit in units for number in unit]
    assert sorted(in_order) == list(range(len(chosen))) != in_order
    assert units == shuffled_units(chosen, paragraphs=paragraphs)
    bounds = shard_bounds(chosen, units)
    assert bounds[0] == 0
    assert bounds[-1] == len(units)
    seen = []
    for first, last in itertools.pairwise(bounds):
        shard = read_shard(chosen, units[first:last])
        assert len(shard) <= 10
        assert len(shard.rows) <= 45 or last - first == 1
        seen += [tuple(words) for words in shard.sentences]
        assert [w for unit in shard.units() for w in unit] == [w for sentence in shard.sentences for w in sentence]
        assert len(shard.units()) == last - first
        ends = {words[-2] for words in shard.sentences}
        assert not paragraphs or len(ends) == last - first  # whole paragraphs only
        half = shard.take(np.arange(last - first) % 2 == 0)
        assert half.units() == shard.units()[::2]
    assert sorted(seen) == sorted(tuple(chosen[i]) for i in range(len(chosen)))


def test_a_shard_is_a_whole_number_of_batches():
    assert SHARD_SENTENCES % DistillSettings().batch == 0
