"""Joint-Align from text to figures, and the order of the paper's ablation, on text of invented languages."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligned import Aligned
from isoglot.aligners import aligner
from isoglot.errors import ConfigError, InputError
from isoglot.joint import GAMMAS, JointSpace
from isoglot.lexicons import Lexicon
from isoglot.pipelines import JointJob, choose_gamma, joint_align, look_at, run_stages, write_joint_page
from isoglot.reproductions.joint_align.ablation import run_ablation, write_ablation
from isoglot.simulate import simulate_texts
from isoglot.wordvectors import CorpusSettings, TextFile, Training

PAIR = ("north", "south")
QUICK = Training(dim=24, epochs=5, sample=1e-2, subwords=False)
#: Where it does not matter what the vectors are worth.
BRIEF = Training(dim=8, epochs=1, sample=1e-2, subwords=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    texts = simulate_texts(8000, foreign=0.05)
    texts.save(folder)
    pairs = texts.lexicon.pairs
    return {
        "folder": folder,
        "work": folder / "ablation" / "work" / "joint",  # the ablation finds there what was trained
        "files": [TextFile(lang, folder / f"{lang}.txt") for lang in PAIR],
        "train": Lexicon([pair for i, pair in enumerate(pairs) if i % 3], *PAIR),
        "test": Lexicon(pairs[::3], *PAIR),
    }


def job_of(world, **changes):
    options = {
        "lexicons": {PAIR: world["train"]},
        "tests": {PAIR: world["test"]},
        "aligner": aligner("procrustes"),
        "training": QUICK,
        "corpus": CorpusSettings(lines_of="south"),
        **changes,
    }
    return JointJob(world["files"], **options)


@pytest.fixture(scope="module")
def outcome(world):
    return joint_align(job_of(world), world["work"], threads=1)


def test_from_text_to_figures(world, outcome, tmp_path):
    assert outcome.gamma in GAMMAS
    assert set(outcome.gammas) == set(GAMMAS)
    first = outcome.results[PAIR][0]
    assert (first.metric, first.protocol["denominator"]) == ("P@1", "in-vocabulary")
    assert first.value > 0.5
    outcome.save(tmp_path / "out")
    aligned = Aligned.load(tmp_path / "out")
    assert aligned.names == list(PAIR)
    assert aligned.info["kinds"]["reallocated"] == outcome.stages.reallocated.kinds()
    found = look_at(tmp_path / "out", examples=3)
    kinds = {kind: (before, after) for kind, before, after in found.kinds}
    assert kinds["shared"][0] > kinds["shared"][1]
    assert [label for label, _ in found.stages] == ["after joint training", "after reallocation", "after refinement"]
    # What was taken from the north is southern, and the other way round.
    north, south = ({pair[k] for pair in (*world["train"], *world["test"])} for k in (0, 1))
    taken = {lang: words for lang, _, words in found.taken}
    assert set(taken["north"]) <= south - north
    assert set(taken["south"]) <= north - south
    assert set(found.shared) <= north & south
    write_joint_page(tmp_path / "page.html", found)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "after refinement" in page
    assert taken["north"][0] in page


@pytest.fixture(scope="module")
def ablation(world):
    return run_ablation(job_of(world), world["folder"] / "ablation", baselines=True, threads=1)


def test_the_order_of_the_paper(world, ablation, tmp_path):
    value = {row.name: row.results["keep", "full"].value for row in ablation.rows}
    different = {row.name: row.results["remove", "in-vocabulary"].value for row in ablation.rows}
    assert value["joint + reallocation"] > value["joint"] + 0.1
    assert abs(value["joint + refinement, no reallocation"] - value["joint"]) < 0.05
    assert value["full"] > value["separate + alignment"] + 0.1
    assert value["full"] > value["joint + refinement, no reallocation"] + 0.2
    assert value["full"] > value["joint + reallocation"] + 0.1
    assert different["joint"] < 0.02
    assert {"joint, replace", "joint, supervised"} <= set(value)
    assert any(line.startswith("full: +") for line in ablation.sentences())
    write_ablation(ablation, tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "joint + refinement, no reallocation" in page
    told = []
    again = run_ablation(job_of(world), world["folder"] / "ablation", threads=1, tell=told.append)
    assert sum("finished earlier" in line for line in told) == 3
    assert {row.name: row.results["keep", "full"].value for row in again.rows}.items() <= value.items()


def test_the_lexicon_may_be_given_the_other_way_round(world, ablation):
    """And a method that takes no pairs may stand in the ablation."""
    folder = world["folder"] / "ablation"  # all is trained
    job = job_of(world, gamma=0.8)
    turned = job_of(world, gamma=0.8, lexicons={PAIR[::-1]: world["train"].invert()})
    values = [
        {row.name: row.results["keep", "full"].value for row in run_ablation(one, folder, threads=1).rows}
        for one in (job, turned)
    ]
    assert values[0] == values[1]
    unsupervised = job_of(world, gamma=0.8, aligner=aligner("normalization"))
    assert run_ablation(unsupervised, folder, threads=1).rows


def test_a_gamma_is_found_where_all_words_are_shared(outcome):
    space = outcome.stages.trained
    equal = JointSpace(space.langs, space.words, space.vectors, np.ones_like(space.counts))
    assert set(choose_gamma(equal, None, {})[1].values()) == {-1.0}


def test_gamma_is_chosen_by_what_it_brings(outcome):
    """The best of the values tried, without a lexicon too."""
    space = outcome.stages.trained
    best, worth = choose_gamma(space, None, {})
    assert worth[best] == max(worth.values())
    assert len(set(worth.values())) > 1


def test_without_a_lexicon_there_are_vectors_and_no_figure(world):
    job = job_of(world, lexicons={}, tests={}, aligner=None, gamma=0.9)
    outcome = joint_align(job, world["work"], threads=1)
    assert not outcome.results
    assert outcome.stages.refined is None
    np.testing.assert_array_equal(outcome.stages.last.vectors, outcome.stages.trained.vectors)


def test_part_of_the_lexicon_is_held_out_where_no_test_is_given(world):
    whole = Lexicon([*world["train"], *world["test"]], *PAIR)
    job = job_of(world, lexicons={PAIR: whole}, tests={}, gamma=0.9)
    outcome = joint_align(job, world["work"], threads=1)
    assert 30 < outcome.results[PAIR][0].n < 60


def test_three_languages(world, tmp_path):
    third = simulate_texts(1000, seed=7).tgt
    (world["folder"] / "east.txt").write_text("\n".join(third) + "\n", "utf-8")
    files = [*world["files"][:1], TextFile("east", world["folder"] / "east.txt"), world["files"][1]]
    job = JointJob(files, gamma=0.9, training=BRIEF, corpus=CorpusSettings(lines_of="east"))
    outcome = joint_align(job, tmp_path / "work", threads=1)
    assert outcome.aligned().names == ["north", "east", "south"]
    assert set(outcome.stages.last.kinds()) == {"shared", "north", "east", "south"}


def test_little_text_and_one_language_twice_are_said(world, tmp_path):
    half = len(lines := (world["folder"] / "north.txt").read_text("utf-8").splitlines(keepends=True)) // 2
    for name, part in (("aa", lines[:half]), ("bb", lines[half:])):
        (tmp_path / f"{name}.txt").write_text("".join(part), "utf-8")
    files = [TextFile(lang, tmp_path / f"{lang}.txt") for lang in ("aa", "bb")]
    outcome = joint_align(JointJob(files, gamma=0.9, training=BRIEF), tmp_path / "work", threads=1)
    assert any("same language" in line for line in outcome.warnings)
    assert sum("running words" in line for line in outcome.warnings) == 2
    # A few lines stay few, however often they are repeated.
    (tmp_path / "cc.txt").write_text("".join(lines[:200]), "utf-8")
    few = [TextFile("cc", tmp_path / "cc.txt"), world["files"][1]]
    job = JointJob(few, gamma=0.9, training=BRIEF, corpus=CorpusSettings(lines_of="south"))
    assert any("cc.txt has only 2,000 " in line for line in joint_align(job, tmp_path / "few", threads=1).warnings)
    apart = joint_align(job_of(world, gamma=0.9), world["work"], threads=1)
    assert not any("same language" in line for line in apart.warnings)


def test_what_cannot_work_is_refused(world, tmp_path):
    with pytest.raises(ConfigError, match="at least two texts"):
        JointJob(world["files"][:1])
    with pytest.raises(ConfigError, match="unknown variant"):
        job_of(world, variant="magic")
    with pytest.raises(ConfigError, match="no text of de"):
        job_of(world, lexicons={("north", "de"): world["train"]})
    with pytest.raises(ConfigError, match="learns from translation pairs"):
        job_of(world, lexicons={})
    with pytest.raises(ConfigError, match="`tests`"):
        job_of(world, variant="replace", tests={})
    with pytest.raises(ConfigError, match="`lexicons`"):
        job_of(world, variant="replace", lexicons={}, aligner=None)
    with pytest.raises(ConfigError, match="gamma lies between"):
        job_of(world, gamma=1.5)
    with pytest.raises(ConfigError, match="pivot 'de'"):
        job_of(world, pivot="de")
    three = [*world["files"], TextFile("east", world["files"][0].path)]
    with pytest.raises(ConfigError, match="of north and east too"):
        JointJob(three, {PAIR: world["train"]}, aligner=aligner("procrustes"))
    strange = Lexicon([("qqq", "zzz")], *PAIR)
    with pytest.raises(InputError, match="occurs in the texts"):
        joint_align(job_of(world, lexicons={PAIR: strange}, tests={}), world["work"], threads=1)


def test_stages_keep_shared_words_where_they_are(outcome, world):
    space = outcome.stages.trained
    stages = run_stages(space, 0.9, aligner("procrustes", normalise="none"), {PAIR: world["train"]})
    rows = stages.reallocated.shared
    np.testing.assert_array_equal(stages.last.vectors[rows], space.vectors[rows])
    assert isinstance(stages.last, JointSpace)


def test_a_variant_says_that_it_changes_the_model(world, tmp_path):
    told = []
    job = job_of(world, variant="supervised", training=BRIEF)
    outcome = joint_align(job, tmp_path / "work", threads=1, tell=told.append)
    assert told == ["the variant 'supervised' trains by cbow, not by skipgram"]
    assert outcome.gamma == 1.0
