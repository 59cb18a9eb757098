"""What the guides show works: their Python blocks and `isoglot` commands are run, in order, in one folder a page."""

from __future__ import annotations

import re
import shlex
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import isoglot.aligners.base
from isoglot.aligners.base import METHODS
from isoglot.cli.app import app
from isoglot.cli.grammar import commands

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Steps that a page trains for its figures, and those that show as well that its commands work.
SHORTER = {"docs/monolingual.md": {" steps=250 ": " steps=12 ", " steps=60 ": " steps=4 "}}


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / page).read_text("utf-8"))


PAGES = [
    str(path.relative_to(ROOT))
    for path in sorted((ROOT / "docs").glob("*.md"))
    if BLOCK.search(path.read_text("utf-8"))
]


@pytest.mark.parametrize("page", PAGES)
def test_pages_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    names: dict[str, object] = {}
    shorter = SHORTER.get(page, {})
    assert all(steps in (ROOT / page).read_text("utf-8") for steps in shorter)
    for language, text in blocks(page):
        for steps, few in shorter.items():
            text = text.replace(steps, few)
        if language == "python":
            exec(compile(text, page, "exec"), names)
            continue
        for line in text.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "isoglot"
            outcome = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert outcome.exit_code == 0, f"{line}\n{outcome.output}"


def test_the_guide_shows_the_main_commands():
    assert "docs/guide.md" in PAGES
    text = (ROOT / "docs" / "guide.md").read_text("utf-8")
    for command in ("info", "align", "lexicon", "export", "evaluate bli"):
        assert f"\nisoglot {command}" in text


def test_the_contributors_example_is_a_working_method(monkeypatch):
    ((_, text),) = [block for block in blocks("CONTRIBUTING.md") if block[0] == "python"]
    module = types.ModuleType("median_shift")
    monkeypatch.setitem(sys.modules, "median_shift", module)
    monkeypatch.setattr(METHODS, "_things", dict(METHODS.all()))  # the example is no method for other tests
    exec(compile(text, "CONTRIBUTING.md", "exec"), module.__dict__)
    shift = module.MedianShift
    assert isinstance(shift, type)
    assert issubclass(shift, isoglot.aligners.base.Aligner)
    X = np.random.default_rng(0).normal(size=(20, 3)) + 5
    mapped = shift(normalise="none").fit(X, X - 2).transform(X)
    np.testing.assert_allclose(np.median(mapped, axis=0), np.median(X - 2, axis=0), atol=1e-5)


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+?)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


COMMANDS = {command.path: command for command in commands()}
ALL_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_every_command_shown_exists_with_its_options(page):
    for line in page.read_text("utf-8").splitlines():
        if not line.startswith("isoglot "):
            continue
        words = shlex.split(line, comments=True)[1:]
        command = COMMANDS.get(tuple(words[:2])) or COMMANDS.get(tuple(words[:1]))
        assert command is not None, line
        options = {name for parameter in command.parameters for name in parameter.names}
        unknown = [word for word in words if re.match(r"--?[a-z]", word) and word not in {*options, "--help"}]
        assert unknown == [], line
