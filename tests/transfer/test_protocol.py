"""The protocol: an aligned encoder transfers where the raw one does not; runs are kept; bad data is one clear line."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.text import LabelledSentence, write_conll
from isoglot.transfer import HeadSettings, TransferData, estimate_transfer, open_vectors, run_transfer
from isoglot.transfer.vectors import EncoderVectors

SMALL = HeadSettings(hidden=0, epochs=4, batch=16)


@pytest.fixture
def tags(planted):
    """Training and development set of the north, and test sets of both."""
    sets = [planted("pos", "north", part) for part in ("train", "dev")]
    return *sets, {lang: planted("pos", lang, "test") for lang in ("north", "south")}


def run(encoders, tags, **rest):
    return run_transfer("pos", encoders, *tags, **{"source": "north", "settings": SMALL, "bootstrap": 200, **rest})


@dataclasses.dataclass(frozen=True, eq=False)
class Counting(EncoderVectors):
    """Counts the sentences that it is asked for, and stops where it is told to."""

    asked: list[str] = dataclasses.field(default_factory=list)
    stop: str = ""

    def words(self, sentences, lang, **rest):
        if lang == self.stop:
            raise KeyboardInterrupt
        self.asked.append(lang)
        return super().words(sentences, lang, **rest)


def test_tags_transfer_through_an_aligned_encoder_and_not_through_the_raw_one(tiny, aligned, tags):
    settings = dataclasses.replace(SMALL, hidden=64, epochs=10)
    table = run({"raw": tiny, "aligned": aligned}, tags, runs=2, settings=settings)
    assert table.ranking() == ["aligned", "raw"]
    # Both know the north; of four labels the raw encoder guesses the south's.
    assert min(table[name, "north"].value for name in table.encoders) > 0.9
    assert table["raw", "south"].value < 0.5
    assert table["aligned", "south"].value > 0.65
    test = table.compare("aligned", "raw")
    assert test.p_value < 0.01
    assert [len(table[name, "south"].runs) for name in table.encoders] == [2, 2]


def test_an_aligned_encoder_stands_beside_the_raw_one_on_the_same_layers_only(tiny_folder, aligned, tags, tmp_path):
    aligned.save(tmp_path / "aligned")
    encoders = {"raw": str(tiny_folder), "aligned": tmp_path / "aligned"}
    table = run(encoders, tags, settings=dataclasses.replace(SMALL, layer="-1", pooling="mean"))
    assert table.encoders == ("raw", "aligned")
    for key, value in (("layer", "last2"), ("pooling", "first")):
        settings = dataclasses.replace(SMALL, **{key: value})
        with pytest.raises(ConfigError, match=f"the maps of this aligned encoder are for `{key}` .*, not {value}"):
            open_vectors(tmp_path / "aligned", settings)


def test_a_killed_run_resumes_and_ends_with_the_same_predictions(tiny, tags, tmp_path):
    whole = run({"raw": tiny}, tags, runs=2)
    killed = Counting(tiny, stop="south")
    with pytest.raises(KeyboardInterrupt):
        run({"raw": killed}, tags, runs=2, output=tmp_path)
    assert [path.name for path in sorted((tmp_path / "runs").glob("*.json"))] == ["raw.north.0.json"]
    first = (tmp_path / "runs" / "raw.north.0.json").read_bytes()
    resumed = Counting(tiny)
    table = run({"raw": resumed}, tags, runs=2, output=tmp_path)
    assert resumed.asked == ["south"]  # vectors of the north were kept
    assert (tmp_path / "runs" / "raw.north.0.json").read_bytes() == first
    assert {one.predictions for one in _plain(table)} == {one.predictions for one in _plain(whole)}
    finished = Counting(tiny)
    run({"raw": finished}, tags, runs=2, output=tmp_path)
    assert finished.asked == []


def _plain(table):
    return [dataclasses.replace(one, predictions=json.dumps(one.predictions)) for one in table.runs]


def test_other_settings_or_examples_make_a_run_new(tiny, tags, tmp_path):
    run({"raw": tiny}, tags, output=tmp_path)
    before = (tmp_path / "runs" / "raw.south.0.json").read_bytes()
    run({"raw": tiny}, tags, output=tmp_path, settings=dataclasses.replace(SMALL, epochs=1))
    after = (tmp_path / "runs" / "raw.south.0.json").read_bytes()
    fewer = (*tags[:2], {"south": tags[2]["south"][:50]})
    table = run({"raw": tiny}, fewer, output=tmp_path)
    assert len({before, after, (tmp_path / "runs" / "raw.south.0.json").read_bytes()}) == 3
    assert len(table.runs[0].predictions) == 50


def test_every_language_may_have_an_aligned_encoder_of_its_own(aligned, tiny, tags):
    table = run({"raw": tiny, "aligned": {"south": aligned}}, (*tags[:2], {**tags[2], "east": None}))
    assert table.languages == ("north", "south")
    assert table.not_tested == {"east": "no test set"}
    tests = {**tags[2], "west": tags[2]["south"]}
    table = run({"aligned": aligned}, (*tags[:2], tests))
    assert table.not_tested["west"] == "aligned knows only north, south"


def test_files_are_read_and_fewer_examples_can_be_drawn(tiny, planted, tmp_path):
    train = planted("ner", "north", "train")
    sets = {"train": train, "dev": planted("ner", "north", "dev"), "south": planted("ner", "south", "test")}
    for name, examples in sets.items():
        write_conll(tmp_path / f"{name}.conll", examples)
    files = [tmp_path / "train.conll", str(tmp_path / "dev.conll"), {"south": tmp_path / "south.conll"}]
    data, again = (TransferData.read("ner", *files, source="north", limit=40) for _ in range(2))
    assert len(data.train) == 40
    assert data.train == again.train
    assert {*data.train} <= {*train}
    few = dataclasses.replace(SMALL, tagger="words", limit=40, epochs=1)
    table = run_transfer("ner", {"raw": tiny}, *files, source="north", settings=few, bootstrap=0)
    assert (table.settings["train_examples"], len(table.tests["south"])) == (40, 100)


def test_an_estimate_counts_all_examples_and_grows_with_them(tiny, tags):
    data = TransferData.read("pos", *tags, source="north")
    one, three = (estimate_transfer({"raw": tiny}, data, SMALL, runs=runs)[0] for runs in (1, 3))
    assert one.examples == 300 + 100 + 200
    assert one.encoding > 0
    assert three.training > one.training > 0
    assert "600 examples" in one.sentence()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tests": {"south": [LabelledSentence(["a"], ["NN"])]}}, r"the test set of south: none of its labels \(NN\)"),
        ({"dev": [LabelledSentence(["a"], ["NN"])]}, "dev: none of its labels"),
        ({"tests": {"south": None}}, "there is no language to test; give a test set"),
        ({"tests": {}}, "there is no language to test"),
        ({"train": []}, "train: there are no examples"),
        ({"train": [LabelledSentence(["a"], ["T1"])]}, "train: all examples have the label 'T1'"),
        ({"encoders": {}}, "there is no encoder"),
        ({"encoders": {"raw": {}}}, "raw: has no encoder for any language"),
        ({"encoders": {"gone": "./no/such/folder"}}, "no/such/folder: no such folder"),
        ({"runs": 0}, "runs: must be at least 1"),
        ({"task": "nre"}, "unknown task 'nre'"),
    ],
)
def test_bad_input_is_one_line(tiny, tags, change, message):
    train, dev, tests = tags
    given = {"task": "pos", "encoders": {"raw": tiny}, "train": train, "dev": dev, "tests": tests, **change}
    with pytest.raises(InputError, match=message):
        run_transfer(**given, source="north", settings=SMALL)


def test_an_encoder_without_a_tokenizer_is_one_line(tiny_folder, tags, tmp_path):
    shutil.copytree(tiny_folder, tmp_path / "mute", ignore=shutil.ignore_patterns("tokenizer*"))
    with pytest.raises(FormatError, match="mute: its tokenizer is missing or empty; get its"):
        run({"mute": tmp_path / "mute"}, tags)


def test_the_language_of_training_must_be_known(aligned, tags):
    with pytest.raises(ConfigError, match="aligned: knows north, south, but heads are trained on en"):
        run({"aligned": aligned}, tags, source="en")
