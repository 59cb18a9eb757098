"""Table 1 on a real encoder: what is run and kept, what tasks say of a map, findings, page, and what is left out."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from tests.pipelines.test_contextual import TAUGHT, judged, part
from typer.testing import CliRunner

from isoglot.aligners import aligner
from isoglot.cli.app import app
from isoglot.encoders import WordVectors
from isoglot.errors import ConfigError, InputError, IsoglotError
from isoglot.reproductions.density.real import runs
from isoglot.reproductions.density.real.findings import compared, printed_gap, real_findings, rows_of
from isoglot.reproductions.density.real.material import (
    GoldLinks,
    Trials,
    linked_lines,
    one_to_one,
    read_gold,
    sentence_means,
)
from isoglot.reproductions.density.real.page import (
    criteria_table,
    language_table,
    main_table,
    spread_table,
    write_real_page,
)
from isoglot.reproductions.density.real.plan import CURVES, FULL, QUICK, TABLE, TASKS, Job, RealPlan
from isoglot.reproductions.density.real.runs import Outcome, run_real
from isoglot.reproductions.density.real.scoring import Score
from isoglot.reproductions.rows import Figure
from isoglot.wordalign import WordLinks

PLAN = RealPlan(sentences=250, points=400, held_out=50, cbli=200, epochs=2, few=1, looked=(1, 2, 3), rounds=1, steps=2)


def test_the_table_is_the_papers_and_every_setting_is_known():
    names = [row.name for row in TABLE if row.bert or row.xlmr]
    assert len(names) == 21
    # Sixteen alignments: neither "Original" nor the four rows of 5 epochs are others.
    assert len([name for name in names if name != "Original" and "5 epochs" not in name]) == 16
    for job in FULL.jobs(["de"]):
        row = next(row for row in TABLE if row.name == job.row)
        if row.method:
            aligner(row.method, **FULL.settings(job))
    assert printed_gap([("Real-NVP", "Original")]) == "mBERT +9.1, XLM-R +12.6 points"


def test_rows_of_few_epochs_are_points_of_the_curves():
    jobs = list(PLAN.jobs(["de", "fr"]))
    assert len(set(jobs)) == len(jobs)
    few = Job("de", "Real-NVP", 1)
    assert jobs.count(few) == 1
    assert PLAN.settings(few)["epochs"] == 1
    assert PLAN.settings(few)["select"] == "last"
    assert PLAN.settings(Job("de", "Real-NVP"))["epochs"] == 2
    assert PLAN.settings(Job("de", "Real-NVP"))["select"] == "semantic"
    assert {job.epochs for job in jobs if job.row in CURVES} == {0, 1, 2, 3}
    assert 0 < QUICK.minutes(["de"]) < FULL.minutes(["de"]) / 20
    with pytest.raises(ConfigError, match="looked"):
        RealPlan(looked=(0,))
    with pytest.raises(ConfigError, match="points"):
        RealPlan(points=0)


def test_points_are_drawn_once_on_each_side():
    pairs = np.array([[i, j] for i in range(20) for j in (i, (i + 1) % 20)])
    drawn = one_to_one(pairs, 12, 0)
    assert len(drawn) == 12
    assert all(len(set(column.tolist())) == 12 for column in drawn.T)
    assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in pairs.tolist()}
    assert drawn.tolist() != one_to_one(pairs, 12, 1).tolist()


def test_a_sentence_is_the_mean_of_its_words():
    words = WordVectors([["a", "b"], [], ["c"]], np.array([[1, 0], [0, 1], [4, 4]], np.float32), np.array([0, 2, 2, 3]))
    np.testing.assert_allclose(sentence_means(words, words.vectors), [[0.5, 0.5], [0, 0], [4, 4]])


def test_gold_links_are_turned_to_end_in_english(parallel):
    text = part(parallel.text, 0, 2)
    links = [WordLinks({(0, 1)}, {(2, 0)}), WordLinks()]
    for name, turned in (("xxen", False), ("enxx", True)):
        gold = read_gold({"other": (text, links), name: (text, links)}, "xx")
        assert gold.src[0] == (text.tgt if turned else text.src)[0].split()
        assert gold.links[0].sure == ({(1, 0)} if turned else {(0, 1)})
        assert gold.links[0].possible == ({(0, 2)} if turned else {(2, 0)})
    assert read_gold({"yyen": (text, links)}, "xx") is None


def test_lines_are_parted_without_overlap(parallel):
    pytest.importorskip("thot")
    lines = linked_lines(part(parallel.text, 0, 80), 40, 15)
    parts = [lines.test, lines.validation, lines.learn]
    assert [len(one) for one in parts] == [15, 15, 40]
    numbers = [number for one in parts for number in one.numbers]
    assert len(set(numbers)) == 70
    few = linked_lines(part(parallel.text, 0, 40), 1000, 500)
    assert [len(few.test), len(few.validation), len(few.learn)] == [10, 10, 20]


@pytest.fixture(scope="module")
def trials(parallel):
    end = TAUGHT + 40
    sides = ([list(words) for words in side[TAUGHT:end]] for side in (parallel.src, parallel.tgt))
    return Trials(part(parallel.text, TAUGHT, end), judged(parallel), GoldLinks(*sides, parallel.links[TAUGHT:end]))


ASKED = ("Original", "Rotation", "GBDD", "Normalization", "Joint-Align", "InfoXLM", "Real-NVP")


@pytest.fixture
def run(tiny_folder, parallel, trials, tmp_path, monkeypatch):
    for package in ("thot", "ot", "zuko"):
        pytest.importorskip(package)
    whole = RealPlan.jobs
    monkeypatch.setattr(RealPlan, "jobs", lambda plan, langs: (job for job in whole(plan, langs) if job.row in ASKED))
    small = {"realnvp": {"hidden": 8, "batch": 128, "couplings": 2, "start": "procrustes"}}

    def go(**changed):
        own = {"overrides": small, "load": lambda _, lines: part(parallel.text, 0, lines), **changed}
        return run_real(PLAN, str(tiny_folder), ["xx"], {"xx": trials}, tmp_path / "out", **own)

    return go


def test_alignments_are_measured_on_four_tasks_kept_and_shown(run, tmp_path, monkeypatch, tiny_folder):
    outcomes = run(infoxlm=str(tiny_folder))
    by_name = {one.job.slug: one for one in outcomes}
    before, after = by_name["xx-Original"].scores, by_name["xx-Rotation"].scores
    assert set(before) == set(after) == set(TASKS)
    for task in TASKS:
        assert after[task].figure.value > before[task].figure.value + 0.05, task
        assert len(after[task].items) == len(before[task].items)
    # Without a map the row of an encoder of its own is that encoder as it comes: here the same one.
    assert by_name["xx-InfoXLM"].scores == before
    assert "joint_align" in by_name["xx-Joint-Align"].missing
    assert by_name["xx-Real-NVP-2"].criteria["semantic"] > 0
    assert by_name["xx-Rotation"].facts["points"] == 400

    monkeypatch.setattr(runs, "_run", lambda *_, **__: pytest.fail("run again"))
    assert run(infoxlm=str(tiny_folder)) == outcomes
    with pytest.raises(pytest.fail.Exception):
        run(infoxlm=str(tiny_folder), seed=1)

    found = real_findings("tiny", PLAN, ["xx"], outcomes)
    head, rows = main_table(found)
    assert head[:5] == ["alignment", *TASKS]
    assert [row[0] for row in rows if row[1] == "-"] == ["Joint-Align", "MUSE (5 epochs)"]
    assert rows[0][-1] == "61.5 / 59.8"
    write_real_page(tmp_path / "report.html", found)
    page = (tmp_path / "report.html").read_text("utf-8")
    for text in ("All alignments", "Real-NVP beats Rotation.", "Left out", "xx-en", "joint_align", "Epoch by epoch"):
        assert text in page, text
    assert json.dumps(found.record(), allow_nan=False).count('"items": [') == 0


def made_up(figures, epochs=(0,), languages=("de", "fr")):
    """Outcomes with 20 items a task; a row's figure may be a function of language, task and epochs."""

    def score(value):
        items = tuple(value + 0.01 * (i % 3 - 1) for i in range(18))
        return Score(Figure(value, None, 18), items)

    return [
        Outcome(
            Job(lang, name, epoch),
            {task: score(value(lang, task, epoch) if callable(value) else value) for task in TASKS},
            validation=0.5 - 0.01 * epoch,
            criteria={"semantic": 0.1 * epoch, "structural": 0.5 - 0.02 * epoch},
        )
        for name, value in figures.items()
        for epoch in (epochs if name in CURVES else (0,))
        for lang in languages
    ]


def test_claims_are_judged_by_intervals():
    def varied(base):
        return lambda lang, task, _: base + 0.01 * TASKS.index(task) * (lang == "de")

    outcomes = made_up({"Rotation": 0.3, "Real-NVP": varied(0.4), "Normalization": varied(0.6), "MUSE": 0.5})
    found = real_findings("made up", PLAN, ["de", "fr"], outcomes)
    verdicts = {claim.claim: claim.verdict for claim in found.claims}
    assert verdicts["Real-NVP beats Rotation."] == "shown"
    assert verdicts["Real-NVP beats Normalization."] == "contradicted"
    assert verdicts["Procrustes helps MUSE."] == "not tested"
    single = real_findings("made up", PLAN, ["de"], [
        dataclasses.replace(one, scores={"CBLI": one.scores["CBLI"]}) for one in outcomes if one.job.language == "de"
    ])  # fmt: skip
    assert {claim.claim: claim.verdict for claim in single.claims}["Real-NVP beats Rotation."] == "undecided"


def test_rows_are_compared_item_by_item():
    outcomes = made_up({"Rotation": 0.3, "Real-NVP": 0.4, "GBDD": 0.4})
    by_row = rows_of(PLAN, outcomes)
    one = compared(by_row, "Real-NVP", "Rotation", "CBLI")
    assert (round(one.mean, 6), one.items, one.p_value < 0.05) == (0.1, 36, True)
    assert compared(by_row, "Real-NVP", "GBDD", "CBLI").p_value == 1.0
    assert compared(by_row, "Real-NVP", "MUSE", "CBLI") is None
    found = real_findings("made up", PLAN, ["de", "fr"], outcomes)
    assert {found.best["Align"], *found.level["Align"]} == {"Real-NVP", "GBDD"}


def test_criteria_are_correlated_with_tasks_over_epochs():
    def rising(lang, task, epoch):
        return 0.3 + 0.05 * epoch * (-1 if task == "CBLI" else 1)

    outcomes = made_up({"Real-NVP": rising}, epochs=(1, 2, 3))
    found = real_findings("made up", PLAN, ["de", "fr"], outcomes)
    semantic, validation = found.criteria["semantic"], found.criteria["validation"]
    assert semantic["de Real-NVP Tatoeba"] == pytest.approx(1)
    assert semantic["de Real-NVP CBLI"] == pytest.approx(-1)
    assert found.criteria["structural"]["fr Real-NVP Align"] == pytest.approx(1)  # a smaller difference is better
    assert validation["de Real-NVP RFEval"] == pytest.approx(-1)
    assert not any(curve.endswith("CBLI") for curve in validation)
    assert sorted(found.tasks) == pytest.approx([-1] * 6 + [1] * 6)
    assert spread_table(found)[1] == [["12", "50%", "0%", "50%"]]
    assert criteria_table(found)[1][0][1] == "+0.50"
    # Epoch 1 is the row of few epochs of this plan; the other points are no rows.
    assert list(rows_of(PLAN, outcomes)) == ["Real-NVP (5 epochs)"]
    head, rows = language_table(found)
    assert head[1] == "RFEval de"
    assert rows[0][1] == "0.350"


def test_an_encoder_that_is_not_there_ends_the_run_before_any_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "_run", lambda *_, **__: pytest.fail("a job was run"))
    with pytest.raises(IsoglotError, match="not-there"):
        run(infoxlm=str(tmp_path / "not-there"))


@pytest.mark.parametrize("option", ["--tatoeba", "--wmt"])
def test_a_folder_of_test_data_that_is_not_there_is_an_error(tmp_path, option):
    command = ["reproduce", "density", "--real", "--quick", "--dry-run", option, str(tmp_path / "not-there")]
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, InputError)
    assert "not-there: no such folder" in str(error)
