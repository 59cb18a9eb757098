"""Recipes: what a file may say, what goes before it, and what is refused with a hint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.finetuning import TrainingSettings, preset_settings, read_recipe, recipe_of

RECIPE = """
preset = "wordot"
encoder = "my-model"
output = "out"
target = "south"
limit = 500

[parallel]
north = "north.txt,south.txt"

[training]
batch = 16
learning_rate = 1e-4
freeze = "embeddings"
"""
OWN = RECIPE.replace('preset = "wordot"', 'objectives = "word_ot + 0.5*anchor"')


@pytest.fixture
def recipe(tmp_path):
    """Write a recipe and read it again."""

    def read(text, overrides=None):
        path = tmp_path / "recipe.toml"
        path.write_text(text, "utf-8")
        return read_recipe(path, overrides)

    return read


def names(made):
    return [(one.objective.name, one.weight) for one in made.objectives]


def test_a_recipe_is_read(recipe):
    made = recipe(RECIPE)
    assert names(made) == [("word_ot", 1.0), ("anchor", 1.0)]
    assert (made.encoder, made.output, made.target) == ("my-model", Path("out"), "south")
    assert (made.held_out, made.limit) == (None, 500)
    assert made.parallel == {"north": "north.txt,south.txt"}
    assert made.settings == TrainingSettings(batch=16, learning_rate=1e-4, freeze="embeddings", choose="last")


def test_objectives_have_settings_of_their_own(recipe):
    text = RECIPE.replace('preset = "wordot"', "") + "\n[objectives]\nanchor = 2\n[objectives.word_ot]\nblur = 0.1\n"
    anchor, word_ot = recipe(text).objectives
    assert (anchor.weight, word_ot.blur) == (2, 0.1)


def test_what_is_given_goes_before_the_file(recipe):
    given = {"training": {"batch": 4}, "parallel": {"east": "east.tsv"}, "limit": 7, "output": "other"}
    made = recipe(RECIPE, given)
    assert (made.settings.batch, made.settings.freeze) == (4, "embeddings")
    assert made.parallel == {"north": "north.txt,south.txt", "east": "east.tsv"}
    assert (made.limit, made.output) == (7, Path("other"))


def test_a_preset_and_objectives_go_before_each_other(recipe):
    assert names(recipe(OWN, {"preset": "l2"})) == [("l2", 1.0), ("anchor", 1.0)]
    assert names(recipe(RECIPE, {"objectives": "mlm"})) == [("mlm", 1.0)]
    table = RECIPE.replace('preset = "wordot"', "") + "\n[objectives]\nanchor = 2\n"
    assert names(recipe(table, {"objectives": "mlm"})) == [("mlm", 1.0)]
    both = {"preset": "l2", "objectives": "mlm"}
    for text, given in ((RECIPE.replace("[parallel]", 'objectives = "mlm"\n[parallel]'), None), (RECIPE, both)):
        with pytest.raises(ConfigError, match=r"either a preset or objectives, not both; presets: .*wordot"):
            recipe(text, given)


def test_a_record_is_read_again(recipe):
    made = recipe(OWN)
    again = recipe_of(json.loads(json.dumps(made.record())), "record")
    assert again.record() == made.record()
    assert again.objectives == made.objectives


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("batch = 16", "bacth = 16", r"recipe.toml: training has no setting 'bacth'; did you mean 'batch'\?"),
        ("encoder =", "encodr =", r"recipe.toml: unknown entry 'encodr'; did you mean 'encoder'\?"),
        ('preset = "wordot"', 'preset = "wordott"', r"unknown preset 'wordott'; did you mean 'wordot'\?"),
        ('preset = "wordot"', 'objectives = "word_ott"', r"unknown objective 'word_ott'; did you mean 'word_ot'\?"),
        ('preset = "wordot"', "objectives = 3", "objectives must be a string or a table; try"),
        ('preset = "wordot"', 'objectives = ["word_ot"]', "objectives must be a string or a table"),
        ('preset = "wordot"', "", "either a preset or objectives"),
        ('encoder = "my-model"', "", r"recipe.toml: no encoder given; set `encoder`"),
        ('encoder = "my-model"', "encoder = 5", "encoder takes a string, not 5"),
        ("limit = 500", 'limit = "500"', "limit takes a whole number, not '500'"),
        ("batch = 16", 'batch = "16"', "batch takes a whole number, not '16'"),
        ("batch = 16", "batch = 1.5", "batch takes a whole number, not 1.5"),
        ("batch = 16", "batch = true", "batch takes a whole number, not True"),
        ("batch = 16", "batch = 0", "batch must be at least 1, got 0"),
        ("learning_rate = 1e-4", "learning_rate = 0", "learning_rate must be above 0"),
        ("learning_rate = 1e-4", "learning_rate = nan", "learning_rate must be above 0 and finite, got nan"),
        ("batch = 16", "warmup = 1.0", "warmup must be at least 0 and below 1, got 1"),
        ("batch = 16", 'schedule = "cosine"', "unknown schedule 'cosine'; choose one of: linear, constant"),
        ("batch = 16", "explode = 1", "explode must be above 1"),
        ("batch = 16", "clip = -1", "clip must be at least 0"),
        ("batch = 16", "steps = -1", "steps must be at least 0"),
        ('north = "north.txt,south.txt"', "north = 5", "parallel must be a table of language = text"),
        ('north = "north.txt,south.txt"', "", "no text given; set `parallel` or `text`"),
        ("north =", "south =", "parallel: south is the target language itself"),
        ("[training]", "[[training]]", "training must be a table of settings"),
    ],
)
def test_what_is_wrong_is_told(recipe, before, after, message):
    assert RECIPE.count(before) == 1
    with pytest.raises(ConfigError, match=message):
        recipe(RECIPE.replace(before, after))


def test_files_that_are_no_recipes(recipe, tmp_path):
    with pytest.raises(FormatError, match=r"recipe.toml: not valid TOML: .*line 2"):
        recipe('preset = "wordot"\nencoder: x')
    with pytest.raises(InputError, match=r"missing.toml: cannot be read: No such file"):
        read_recipe(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes('encoder = "é"'.encode("latin-1"))
    with pytest.raises(FormatError, match="not valid TOML"):
        read_recipe(tmp_path / "latin.toml")


def test_the_rate_rises_then_falls_or_stays():
    falls = TrainingSettings(warmup=0.2)
    assert [falls.rate(step, 10) for step in range(10)] == pytest.approx(
        [0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
    )
    stays = TrainingSettings(warmup=0.2, schedule="constant")
    assert [stays.rate(step, 5) for step in range(5)] == [1.0] * 5
    assert [TrainingSettings(warmup=0.0).rate(step, 2) for step in range(2)] == [1.0, 0.5]
    assert TrainingSettings(warmup=0.9).rate(0, 1) == 1.0


def test_presets_may_bring_settings(monkeypatch, recipe):
    from isoglot.finetuning import settings

    monkeypatch.setitem(settings.PRESET_TRAINING, "wordot", {"batch": 3, "epochs": 2.0})
    made = recipe(RECIPE)
    assert (made.settings.batch, made.settings.epochs) == (16, 2.0)
    assert preset_settings("wordot")[1] == {"batch": 3, "epochs": 2.0}


def test_an_objective_of_a_preset_takes_settings_of_the_users_own(recipe):
    made = recipe(RECIPE, {"adjust": {"word_ot": {"span": "sentence", "blur": 0.1}, "anchor": {"weight": 3}}})
    transport, anchor = made.objectives
    assert (transport.span, transport.blur) == ("sentence", 0.1)
    assert (anchor.weight, anchor.reduction) == (3, "sum")
    for change, message in (
        ({"l2": {"pooling": "last"}}, "unknown objective of this run 'l2'"),
        ({"word_ot": {"spam": 1}}, "did you mean 'span'"),
        ({"word_ot": {"span": "line"}}, "span"),
    ):
        with pytest.raises(ConfigError, match=message):
            recipe(RECIPE, {"adjust": change})


def test_the_papers_presets_sum_where_the_papers_do_and_keep_the_last_weights():
    for name in ("wordot", "subot", "l2"):
        objectives, training = preset_settings(name)
        assert objectives[-1].reduction == "sum"
        assert training == {"choose": "last"}
    assert preset_settings("l2")[0][0].reduction == "sum"
