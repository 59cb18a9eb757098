"""An encoder for each language: a head learns on one and is tested on the others, as adapters of languages need it."""

from __future__ import annotations

import dataclasses

import pytest
from tests.tiny_models import tiny_use

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, InputError
from isoglot.transfer import HeadSettings, count_examples, fit_head, run_transfer
from isoglot.transfer.vectors import EncoderVectors

FROZEN = HeadSettings(hidden=32, epochs=8, batch=16)
LORA = HeadSettings(weights="lora", learning_rate=5e-3, epochs=3, batch=16)


@pytest.fixture
def tags(planted):
    sets = [planted("pos", "north", part) for part in ("train", "dev")]
    return *sets, {lang: planted("pos", lang, "test") for lang in ("north", "south")}


def run(encoders, tags, settings=FROZEN, **rest):
    return run_transfer("pos", encoders, *tags, source="north", settings=settings, bootstrap=0, **rest)


@pytest.mark.parametrize("settings", [FROZEN, LORA], ids=["frozen", "lora"])
def test_a_head_of_the_north_stands_on_the_southern_encoder(settings, tiny_folder, southern_folder, tags):
    own = {"north": str(tiny_folder), "south": southern_folder}
    table = run({"one": tiny_folder, "own": own}, tags, settings)
    # The same head: what the south gets of its own does not touch the north.
    assert table["own", "north"].value == table["one", "north"].value > 0.85
    assert table["one", "south"].value < 0.5
    assert table["own", "south"].value > 0.75


def test_adapters_come_back_to_the_encoder_that_they_were_trained_on(tiny_folder, southern_folder, planted):
    train, dev, test = (planted("pos", "north", part) for part in ("train", "dev", "test"))
    few = dataclasses.replace(LORA, epochs=1)

    def figure(examples, predictions):
        return float(count_examples("pos", examples, predictions).total()[0])

    encoders = {"north": tiny_folder, "*": southern_folder}
    head = fit_head("pos", encoders, train[:100], dev, figure, few, lang="north")
    before = head.predict(test, "north").values
    assert head.predict(test, "south").values != before
    assert head.predict(test, "north").values == before


@dataclasses.dataclass(frozen=True, eq=False)
class Counting(EncoderVectors):
    """Notes the languages that it is asked for."""

    asked: list[str] = dataclasses.field(default_factory=list)

    def words(self, sentences, lang, **rest):
        self.asked.append(lang)
        return super().words(sentences, lang, **rest)


def test_vectors_are_kept_apart_by_encoder(tiny, southern_folder, tags, tmp_path):
    north, south = Counting(tiny), Counting(Encoder(southern_folder))
    swapped = (*tags[:2], {"south": tags[2]["south"]})
    first = run({"own": {"north": north, "*": south}}, swapped, output=tmp_path)
    assert (north.asked, south.asked) == (["north", "north"], ["south"])
    second = run({"own": {"north": north, "south": north}}, swapped, output=tmp_path)
    assert (north.asked, south.asked) == (["north", "north", "south"], ["south"])
    assert first.runs[0].predictions != second.runs[0].predictions


@pytest.mark.parametrize(
    ("languages", "settings", "message"),
    [
        (["north"], FROZEN, r"own: has no encoder for south; give it one \(south:ENCODER\), or one to all other lang"),
        (["south"], FROZEN, "own: has no encoder for north, which heads are trained on; name it: north:ENCODER"),
        (["north", "*"], dataclasses.replace(LORA, weights="all"), "own: weights that were all trained on one enc"),
    ],
)
def test_a_language_without_an_encoder_is_one_line(tiny, tags, languages, settings, message):
    with pytest.raises(ConfigError, match=message):
        run({"own": dict.fromkeys(languages, tiny)}, tags, settings)


def test_encoders_of_other_shapes_are_one_line(tiny, tiny_folder, tags, tmp_path):
    use = tiny_use(tmp_path / "use")
    with pytest.raises(InputError, match="vectors of south have 16 dimensions, those that the head learned from 64"):
        run({"own": {"north": tiny, "south": use}}, tags, dataclasses.replace(FROZEN, epochs=1))
    with pytest.raises(ConfigError, match="use: has another vocabulary than the encoder of training"):
        run({"own": {"north": tiny_folder, "south": use}}, tags, dataclasses.replace(LORA, epochs=1))
