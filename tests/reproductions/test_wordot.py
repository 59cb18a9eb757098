"""The table of fine-tuned encoders on the tiny languages: what is learned from, what is measured, what is kept."""

from __future__ import annotations

import dataclasses
import re

import pytest
from typer.testing import CliRunner

from isoglot.cli.app import app
from isoglot.reproductions.wordot import table as finetune_tables
from isoglot.reproductions.wordot.report import language_rows, mean_rows, write_finetune_page
from isoglot.reproductions.wordot.table import Variant, finetune_table, split_texts, variants
from isoglot.text import ParallelText

FAST = {"batch": 8, "steps": 12, "learning_rate": 5e-3, "accumulation": 1, "segmenter": "spaces"}


def text(lines, lang="north"):
    return ParallelText(lang, "en", tuple(lines[0]), tuple(lines[1]))


@pytest.fixture(scope="module")
def table(tiny_folder, lines, tmp_path_factory):
    """Rows of two ways to train, and what makes them again."""
    folder = tmp_path_factory.mktemp("table")
    chosen = [
        Variant("best", "sentence_contrastive + 0.1*anchor", 300, {**FAST, "steps": 40}),
        Variant("WordOT", "word_ot + anchor", 100, FAST),
    ]
    other = text((lines[0][:60], lines[1][:60]))

    def make():
        return finetune_table(
            str(tiny_folder),
            folder,
            chosen,
            trained=("north",),
            unseen=("west",),
            others={"north": other},
            test=50,
            valid=30,
            load=lambda lang: text(lines, lang),
        )

    return make(), make, folder


def test_no_tested_sentence_is_learned_from(lines):
    found = split_texts({"a": text(lines, "a"), "b": text((lines[0][100:], lines[1][100:]), "b")}, test=50, valid=30)
    held = {tgt for one in found.values() for part in (one.test, one.valid) for tgt in part.tgt}
    assert all(not held & set(one.train.tgt) for one in found.values())
    assert all((len(one.test), len(one.valid)) == (50, 30) for one in found.values())
    assert all(len(one.train) > 200 for one in found.values())


def test_languages_with_the_same_sentences_are_tested_on_the_same(lines):
    first = split_texts({"a": text(lines, "a")}, test=50, valid=30)["a"]
    second = split_texts({"a": text((lines[0][::-1], lines[1][::-1]), "a")}, test=50, valid=30)["a"]
    assert first.test.tgt == second.test.tgt


def test_training_finds_more_sentences(table):
    raw, mapped, best, wordot = table[0]
    assert [row.variant for row in table[0]] == ["as it comes", "Procrustes maps", "best", "WordOT"]
    before, after = (row.groups["trained"]["north"]["csls"].to_target for row in (raw, best))
    assert after > before + 0.1
    assert set(best.groups["unseen"]) == {"west"}
    assert set(best.groups["others"]) == set(mapped.groups["others"]) == {"north"}
    assert mapped.groups["unseen"] == {}
    assert wordot.training.steps == 12
    assert 0 <= best.target["sentences"] <= 1
    assert "simlex-999" in best.target


def test_finished_rows_are_not_made_again(table, monkeypatch):
    rows, make, folder = table
    monkeypatch.setattr(finetune_tables, "_trained", lambda *arguments: pytest.fail("trained again"))
    assert make() == rows
    assert not list(folder.glob("models/*/training/checkpoints"))


def test_a_damaged_row_is_made_again(table):
    rows, make, folder = table
    (folder / "runs" / "wordot-100.json").write_text("{")
    again = make()
    assert again[3].groups["trained"] == rows[3].groups["trained"]


def test_tables_and_page(table, tmp_path):
    rows = table[0]
    head, cells = mean_rows(rows)
    assert head[:5] == ["method", "lines", "trained on", "not trained on", "another domain"]
    assert [row[1] for row in cells] == ["-", "300", "300", "100"]
    assert cells[1][3] == "-"  # no map for a language that none was learned for
    assert float(cells[2][2]) == pytest.approx(rows[2].groups["trained"]["north"]["csls"].to_target, abs=1e-3)
    assert language_rows(rows)[0] == ["method", "north", "mean"]
    wider = [
        dataclasses.replace(
            rows[0],
            groups={**rows[0].groups, "others": dict.fromkeys(("north", "east"), rows[0].groups["others"]["north"])},
        ),
        *rows[1:],
    ]
    assert [row[4] != "-" for row in mean_rows(wider)[1]] == [True, False, False, False]  # means of unlike languages
    assert language_rows(wider, "others")[1][1][1:] == [
        f"{rows[1].groups['others']['north']['csls'].to_target:.3f}",
        "-",
        "-",
    ]
    more = [*rows, dataclasses.replace(rows[2], lines=100)]
    write_finetune_page(tmp_path / "report.html", "tiny <encoder>", more, {"seed": 0})
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "tiny &lt;encoder&gt;" in page
    assert "How much text is needed" in page
    assert len(re.findall(r'class="plot"', page)) == 4


def test_what_is_compared():
    names = [(one.name, one.lines) for one in variants(1000, [100, 1000])]
    assert ("best", 1000) in names
    assert ("WordOT", 100) in names
    assert len(names) == len(set(names)) == 8
    settings = {one.name: one.settings for one in variants(1000, [])}
    mixed = settings.pop("WordOT, languages mixed")
    assert all(one == settings["best"] for one in settings.values())
    assert mixed == {**settings["best"], "mixed": True}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--curve", "100,many"], "--curve: must be whole numbers separated by commas, not 'many'"),
        (["--recipes", "bets"], "--recipes: no recipe is called bets; known: best, WordOT"),
        (["--languages", ","], "--languages: names nothing"),
        (["--tatoeba", "."], "no file like tatoeba.deu-eng.deu here"),
    ],
)
def test_typos_are_told_in_a_line(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(app, ["reproduce", "finetune", *arguments])
    assert says in str(outcome.exception)
    assert not list(tmp_path.iterdir())


def test_the_cost_is_told_before():
    outcome = CliRunner().invoke(app, ["reproduce", "finetune", "--pairs", "1000", "--curve", "", "--dry-run"])
    assert outcome.exit_code == 0
    assert "6 trainings" in outcome.output
