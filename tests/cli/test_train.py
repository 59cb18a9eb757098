"""`isoglot encoder finetune` for encoders: by recipe, by options, tried dry, stopped, and mistyped."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys

import pytest
from tests.tiny_models import STRANGE, WORDS, tiny_use

from isoglot.cli import training_view
from isoglot.cli.training_view import TrainingView
from isoglot.finetuning import StepRecord

pytest.importorskip("accelerate")
pytest.importorskip("sentence_transformers")


@pytest.fixture
def here(text_files, tmp_path, monkeypatch):
    """A working folder with north.txt, south.txt and both.tsv."""
    for path in text_files.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def options(here, tiny_folder):
    """Of a short run."""
    settings = ("steps=4", "batch=6", "accumulation=1", "segmenter=spaces", "evaluate_every=2", "learning-rate=1e-3")
    return [
        *("--encoder", tiny_folder, "--preset", "wordot", "--pivot", "south", "--parallel", "north=both.tsv"),
        *("--pairs", 60, "--held-out", 20, "--device", "cpu", "-o", "out"),
        *(part for one in settings for part in ("--set", one)),
    ]


def test_options_train_an_encoder(command, options, here):
    code, output, errors = command("encoder", "finetune", *options)
    assert code == 0, errors
    assert "held out lines, with the weights of step" in output
    for name in ("figure", "before", "after", "retrieval csls", "semantic", "kept", "spread"):
        assert name in output
    told = errors.splitlines()
    assert told[0] == "north-south: 60 lines to learn from, 20 held out"
    assert [line.split(":")[0] for line in told[1:-1]] == ["step 1 of 4", "step 2 of 4", "step 4 of 4"]
    assert "word_ot" in told[1]
    assert "; retrieval 0." in told[2]
    assert told[-1] == "written to out: load it with transformers or sentence-transformers"
    recipe = json.loads((here / "out" / "training" / "recipe.json").read_text())
    assert (recipe["training"]["learning_rate"], recipe["training"]["batch"]) == (1e-3, 6)
    # The same command again has nothing left to do.
    code, again, errors = command("encoder", "finetune", *options)
    assert (code, again) == (0, output)
    assert "note: resuming after step 4 of 4" in errors


def test_a_language_is_taught(command, here, tmp_path):
    tiny_use(tmp_path / "use")
    lines = [(f"{STRANGE[a]} {STRANGE[b]}", f"{a} {b}") for a in WORDS for b in WORDS]
    (here / "text.tsv").write_text("".join(f"{src}\t{tgt}\n" for src, tgt in lines))
    (here / "words.tsv").write_text("".join(f"{strange}\t{word}\n" for word, strange in STRANGE.items()))
    code, output, errors = command(
        *("encoder", "finetune", "--preset", "teach", "-e", tmp_path / "use", "--parallel", "xx=text.tsv"),
        *("-l", "xx-en=words.tsv", "--set", "pieces.most=60", "steps=2", "batch=8", "-o", "out", "--device", "cpu"),
    )
    assert code == 0, errors
    # Of 64 lines 6 are held out, and one of them is a word twice.
    assert "xx-en: 66 lines to learn from, 6 held out" in errors
    assert "kept" in output
    recipe = json.loads((here / "out" / "training" / "recipe.json").read_text())
    assert recipe["lexicon"] == {"xx": str(here / "words.tsv")}
    assert recipe["pieces"] == {"most": 60, "start": "links"}


def test_a_recipe_trains_and_options_go_before(command, here, tiny_folder):
    (here / "recipe.toml").write_text(
        f'objectives = "word_ot + anchor"\nencoder = "{tiny_folder}"\noutput = "out"\ntarget = "south"\nlimit = 40\n'
        '[parallel]\nnorth = "north.txt,south.txt"\n[training]\nsteps = 3\nbatch = 4\nsegmenter = "spaces"\n'
    )
    code, output, errors = command(
        "encoder", "finetune", "recipe.toml", "--seed", 7, "-o", "other", "--json", "--device", "cpu"
    )
    assert code == 0, errors
    found = json.loads(output)
    assert (found["output"], found["steps"], found["early"]) == ("other", 3, False)
    assert found["before"].keys() == found["after"].keys() >= {"semantic", "retrieval"}
    recipe = json.loads((here / "other" / "training" / "recipe.json").read_text())
    assert (recipe["training"]["seed"], recipe["training"]["steps"], recipe["limit"]) == (7, 3, 40)
    assert not (here / "out").exists()


def test_a_dry_run_tells_the_cost_and_writes_nothing(command, options, here):
    before = sorted(here.iterdir())
    code, output, errors = command(
        "encoder", "finetune", *options, "--preset", "l2", "--set", "links=ibm1", "--dry-run"
    )
    assert code == 0, errors
    (told,) = output.splitlines()
    assert " weights are trained, 4 steps over 24 sentence pairs (" in told
    assert " seconds here, " in told
    assert " of memory, " in told
    assert told.endswith(" MB on disk while it runs")
    code, output, _ = command("encoder", "finetune", *options, "--dry-run", "--json")
    cost = json.loads(output)
    assert (code, cost["steps"], cost["sentences"]) == (0, 4, 24)
    assert cost["trained"] == cost["weights"]
    assert min(cost["seconds"], cost["tokens"], cost["memory"], cost["disk"]) > 0
    assert sorted(here.iterdir()) == before


def test_without_held_out_lines_there_are_no_figures(command, options):
    code, output, errors = command("encoder", "finetune", *options, "--held-out", 0)
    assert (code, output) == (0, "")
    assert errors.splitlines()[-1].startswith("written to out")


def test_an_interrupted_run_says_how_to_go_on(command, options, monkeypatch):
    def interrupt(self, record):
        if record.step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingView, "show", interrupt)
        code, output, errors = command("encoder", "finetune", *options)
    assert (code, output) == (130, "")
    assert errors.splitlines()[-1] == "isoglot: stopped after step 2 of 4; resume with: isoglot encoder resume out"
    code, output, errors = command("encoder", "resume", "out", "--json", "--device", "cpu")
    assert code == 0
    assert json.loads(output)["steps"] == 4
    assert "note: resuming after step 2 of 4" in errors


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--preset", "wordott"], "unknown preset 'wordott'; did you mean 'wordot'?"),
        (["--set", "learning_rat=1"], "the command: training has no setting 'learning_rat'; did you mean"),
        (["--set", "batch"], "--set: a setting must be key=value, not 'batch'"),
        (["--set", "batch=many"], "--set: batch is given twice"),
        (["--set", "blocks=many"], "blocks takes a whole number, not 'many'"),
        (["--set", "freeze=9"], "freeze: cannot freeze '9' of an encoder with 3 layers; write it like embeddings,1-3"),
        (["--set", "precision=fp8"], "precision: unknown precision 'fp8'; choose one of: no, bf16, fp16"),
        (["--objectives", "word_ot"], "the command: a recipe needs either a preset or objectives, not both; presets: "),
        (
            ["-l", "north-east=both.tsv"],
            "--lexicon: a dictionary for training is north-south=FILE, its first column ",
        ),
        (["--set", "pieces.start=far", "--preset", "teach"], "start: unknown start 'far'; choose one of: links, mean"),
        (["--set", "pieces.mots=9", "--preset", "teach"], "the command: pieces has no setting 'mots'; did you mean"),
        (["--parallel", "both.tsv"], "--parallel: must be LANGUAGE=TEXT, not 'both.tsv'"),
        (["--parallel", "north=north.txt,south.txt"], "--parallel: north is given twice; put both texts into one file"),
        (["--parallel", "east=missing.txt,south.txt"], "missing.txt: "),
        (["--parallel", "east=north.txt"], "north.txt:1: 1 columns instead of a sentence, a tab and its translation"),
        (["--parallel", "east=both.tsv,short.txt"], "short.txt: 2 lines, but the other side has 500; "),
        (["--parallel", "south=both.tsv"], "the command: parallel: south is the target language itself; "),
        (["--encoder", "missing/encoder"], "missing"),
        (["--epochs", "2"], "--epochs has no effect with --set steps; leave it out"),
        (["--device", "tpu9"], "this machine has no device 'tpu9'; set "),
        (["-o", "both.tsv"], "both.tsv: is a file, not a folder; choose another output path"),
        (["-o", "."], ".: this folder holds other files and will not be overwritten; choose another output path"),
        (["missing.toml"], "missing.toml: cannot be read: No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_one_line(command, options, here, wrong, message, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (here / "short.txt").write_text("one\ntwo\n")
    code, output, errors = command("encoder", "finetune", *options, *wrong)
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1].startswith(f"isoglot: {message}"), errors
    assert "Traceback" not in errors
    assert not (here / "out").exists()


@pytest.mark.parametrize("missing", ["--encoder", "--parallel", "-o"])
def test_what_is_missing_is_named(command, options, missing):
    at = options.index(missing)
    name = {"-o": "output"}.get(missing, missing.removeprefix("--"))
    code, output, errors = command("encoder", "finetune", *options[:at], *options[at + 2 :])
    assert (code, output) == (2, "")
    what, option = ("text", "parallel or --text") if name == "parallel" else (name, name)
    assert errors == f"isoglot: the command: no {what} given; set --{option}\n"


def test_help_of_both_commands(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    for name, expected in (
        ("finetune", ["[RECIPE.toml]", "--preset", "--objectives", "--parallel", "--dry-run", "torchrun"]),
        ("resume", ["isoglot encoder resume"]),
    ):
        code, output, errors = command("encoder", name, "--help")
        assert code == 0
        assert all(part in output for part in expected), (output, errors)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_view_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    pairs = {"de-en": 1.5, "tr-en": 3.0}
    record = StepRecord(1, 2, 4.5, {"word_ot": 4.0, "anchor": 0.5}, pairs, 1e-4, 1.0, 6000, 2.0)
    with TrainingView() as view:
        view.show(record)
        view.tell("goes on")
        view.show(StepRecord(**{**record.record(), "step": 2}, evaluation={"semantic": 0.25, "structural": 1.0}))
    shown = screen.getvalue()
    for part in ("step 1 of 2: loss 4.5 (word_ot 4, anchor 0.5)", "tr-en", "note: goes on", "after step", "0.250"):
        assert part in shown
    with TrainingView(speaks=False) as view:
        view.show(record)
        view.tell("nothing")
    assert screen.getvalue() == shown


def test_the_view_in_a_pipe_says_little(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(training_view.time, "monotonic", lambda: now[0])
    with TrainingView() as view:
        for step in range(1, 31):
            now[0] += 1.0
            view.show(StepRecord(step, 30, 1.0, {"l2": 1.0}, {"de-en": 1.0}, 1e-4, 1.0, 10, 1.0))
    steps = [line.split(" of ")[0] for line in capsys.readouterr().err.splitlines()]
    assert steps == ["step 1", "step 11", "step 21", "step 30"]


def test_torchrun_starts_several_processes(tiny_folder, text_files, tmp_path):
    out = tmp_path / "out"
    recipe = f"encoder finetune --preset l2 -e {tiny_folder} --parallel north={text_files / 'both.tsv'} -o {out}"
    settings = "--pivot south --set steps=2 --set batch=4 --set segmenter=spaces --device cpu"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "isoglot"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *recipe.split(), *settings.split()], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"written to {out}") == 1
    assert (out / "model.safetensors").is_file()
