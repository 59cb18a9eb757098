"""How results are shown: --quiet, --verbose, --csv, --latex, and names that are nearly right."""

from __future__ import annotations

import csv
import io

import pytest

from isoglot.cli.grammar import commands

BLI = ("evaluate", "bli", "out", "--test", "north-south.txt")


def test_tables_as_csv_and_latex(isoglot, aligned):
    rows = list(csv.reader(io.StringIO(isoglot(*BLI, "--csv", cwd=aligned.parent).stdout)))
    assert rows[0] == ["metric", "value", "95% interval", "denominator", "n", "coverage"]
    assert [row[0] for row in rows[1:]] == ["P@1, csls", "P@5, csls", "P@10, csls", "MRR, csls"]
    lines = isoglot(*BLI, "--latex", cwd=aligned.parent).stdout.splitlines()
    assert r"\begin{tabular}{lrllrr}" in lines
    assert sum(line.endswith(r"\\") for line in lines) == 5
    done = isoglot(*BLI, "--latex", "--json", cwd=aligned.parent)
    assert (done.returncode, done.stderr) == (2, "isoglot: --json and --latex exclude each other; give one of them\n")


def test_quiet_and_verbose(isoglot, languages, tmp_path):
    command = ("align", "north.vec", "south.vec", "-l", "north-south.txt", "-m", "procrustes", "-o", tmp_path / "out")
    usual, quiet, verbose = (isoglot(*command, *flag, cwd=languages) for flag in ((), ("--quiet",), ("--verbose",)))
    assert usual.stdout == quiet.stdout == verbose.stdout != ""
    assert "try: isoglot translate" in usual.stderr
    assert [line.partition(":")[0] for line in quiet.stderr.splitlines()] == ["warning"]
    assert any(line.startswith("normalising: ") and line.endswith(" s") for line in verbose.stderr.splitlines())
    assert len(verbose.stderr) > len(usual.stderr)
    done = isoglot(*command, "-q", "-v", cwd=languages)
    assert done.stderr == "isoglot: --quiet and --verbose exclude each other; give one of them\n"


def test_a_figure_that_both_protocols_agree_on_is_one_row(isoglot, aligned, tmp_path):
    assert isoglot(*BLI, cwd=aligned.parent).stdout.count("P@1, csls") == 1
    # With a word that no vectors have the protocols differ.
    text = (aligned.parent / "north-south.txt").read_text("utf-8")
    (tmp_path / "more.txt").write_text(text + "nowhere nothing\n", "utf-8")
    shown = isoglot("evaluate", "bli", aligned, "--test", tmp_path / "more.txt").stdout
    assert shown.count("P@1, csls") == 2
    assert "full" in shown
    assert "in-vocabulary" in shown


def test_tables_fit_eighty_columns(isoglot, aligned, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(aligned.parent)
    code, shown, _ = command(*BLI)
    assert code == 0
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alignn"], "isoglot has no command 'alignn'; did you mean 'align'?"),
        (["finetune"], "isoglot has no command 'finetune'; "
         "use: isoglot encoder finetune or isoglot reproduce finetune"),
        (["static-align"], "isoglot has no command 'static-align'; use: isoglot align --pivot"),
        (["evaluate", "bly"], "evaluate has no command 'bly'; did you mean 'bli'?"),
        (["align", "--seeds", "5"], "align has no option --seeds; use --pairs (how many teach)"),
        (["reproduce", "finetune", "--lines", "5"], "reproduce finetune has no option --lines; use --pairs"),
        (["inspect", "--seeds", "5"], "inspect has no option --seeds; see: isoglot inspect --help"),
        (["align", "--heldout", "5"], "align has no option --heldout; did you mean --held-out?"),
        (["align", "--score", "cosin"], "Invalid value for '--score': 'cosin' is no choice; did you mean 'cosine'?"),
        (["methods", "--set", "a=1"], "methods has no option --set; see: isoglot methods --help"),
    ],
)  # fmt: skip
def test_the_nearest_right_name_is_told(isoglot, arguments, message):
    done = isoglot(*arguments)
    assert (done.returncode, done.stderr) == (2, f"isoglot: {message}\n")


@pytest.mark.parametrize("group", ["", "encoder", "evaluate", "reproduce"])
def test_help_of_groups_shows_no_types(command, monkeypatch, group):
    monkeypatch.setenv("COLUMNS", "80")
    _, shown, _ = command(*filter(None, [group]), "--help")
    assert "--help" in shown
    assert "<bool>" not in shown


@pytest.mark.parametrize("one", commands(), ids=lambda one: one.name)
def test_help_fits_a_terminal_and_its_examples_can_be_pasted(command, monkeypatch, one):
    monkeypatch.setenv("COLUMNS", "80")
    _, shown, _ = command(*one.path, "--help")
    assert max(map(len, shown.splitlines())) <= 80
    assert "list[" not in shown
    assert "<bool>" not in shown
    examples = one.help.partition("Examples:")[2].replace("\b", "").split("\n")
    pasted = " ".join(shown.replace("\\", " ").split())
    assert not [line for line in examples if " ".join(line.split()) not in pasted]
