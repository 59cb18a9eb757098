"""The documentation site: its navigation, its links, and the pages that are made from the code."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import posixpath
import re
from pathlib import Path

import pytest
import yaml
from docs.pages import api, build, commands, methods

from isoglot.aligners import Aligner
from isoglot.cli.grammar import commands_and_groups

ROOT = Path(__file__).parent.parent
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
METHODS = methods.own_methods()
COMMANDS = commands_and_groups()


def targets(nav):
    for entry in nav:
        for target in entry.values():
            if isinstance(target, str):
                yield target
            else:
                yield from targets(target)


def test_the_navigation_names_every_page_once_and_no_other():
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert sorted(targets(CONFIG["nav"])) == sorted([*pages, *build.ROOT_PAGES.values()])


@pytest.fixture(scope="module")
def pages():
    return build.site_pages(CONFIG["repo_url"])


def test_links_of_the_site_lead_to_its_pages_and_files(pages):
    for path, text in pages.items():
        for link in re.findall(r"\]\(([^)#\s]+?)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
            if not link.startswith("https://"):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
                assert target in pages or (ROOT / "docs" / target).is_file(), f"{path}: {link}"


def test_all_generated_parts_are_filled_in(pages):
    assert not [path for path, text in pages.items() if "<!-- generated" in text]


def test_the_site_needs_no_network():
    assert CONFIG["theme"]["font"] is False
    for script in (*CONFIG["extra"]["polyfills"], *CONFIG["extra_css"]):
        assert (ROOT / "docs" / script).is_file()


def test_sources_are_written_whole(tmp_path, pages):
    config = yaml.safe_load(build.write_sources(tmp_path / "site").read_text("utf-8"))
    written = {path.relative_to(tmp_path / "site/docs").as_posix() for path in tmp_path.rglob("*.md")}
    assert written == set(pages)
    (below_methods,) = [entry["Methods"] for entry in config["nav"] if "Methods" in entry]
    assert below_methods[0] == "methods.md"
    assert {path for entry in below_methods[1:] for path in entry.values()} == {
        f"methods/{name}.md" for name in METHODS
    }


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_what_a_reader_must_know(name):
    cls = METHODS[name]
    doc = methods.parse(cls.__doc__ or "")
    assert cls.method.cost != "-"
    assert cls.method.paper != "-" or name == "identity"
    assert doc.text
    assert doc.differs
    assert all(item.endswith(".") for item in doc.differs)
    assert set(methods.described(cls)) == {field.name for field in dataclasses.fields(cls)}


@pytest.mark.parametrize("name", METHODS)
def test_the_page_of_a_method_shows_all_of_it(name, pages):
    page = pages[f"methods/{name}.md"]
    for field in dataclasses.fields(METHODS[name]):
        assert f"`{field.name}`" in page
        assert f"`{field.default!r}`" in page
    for heading in ("What it does", "Use", "Settings", "Differs from the paper"):
        assert f"\n## {heading}\n" in page


def test_settings_of_a_base_are_described_by_the_base():
    assert (
        methods.described(METHODS["vecmap"])["normalise"] == methods.parse(Aligner.__doc__ or "").settings["normalise"]
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_and_option_has_a_help_text(command):
    assert command.help
    assert not [one.names for one in command.parameters if not one.help]


def test_the_command_reference_shows_every_command_and_option(pages):
    for command in COMMANDS:
        page = pages[f"commands/{command.path[0]}.md"]
        for one in command.parameters if not command.is_group else ():
            assert all(f"`{name}`" in page for name in one.names if name != "--help"), command.name
        for example in commands.split_help(command.help)[1]:
            assert example in page
    assert "`isoglot align`" in pages["commands.md"]


def test_what_method_pages_say_of_the_command_line_is_true():
    (align,) = [command for command in COMMANDS if command.path == ("align",)]
    assert "--method" in {name for one in align.parameters for name in one.names}


def test_parameters_of_commands_are_read_as_the_help_shows_them():
    (align,) = [command for command in COMMANDS if command.path == ("align",)]
    options = {one.names[0]: one for one in align.parameters}
    assert options["--output"].names == ("--output", "-o")
    assert options["--output"].required
    assert options["--output"].value == "PATH"
    assert options["--lexicon"].repeatable
    assert options["--json"].value == ""
    assert options["--json"].default == ""
    assert options["--limit"].default == "200,000"


def test_the_api_reference_has_every_room_and_the_front_door(pages):
    fronts = {path.parent.name for path in api.PACKAGE.glob("*/__init__.py")} - {"cli", "reproductions"}
    assert {room.name for room in api.rooms()} == fronts
    for name in api.front_door():
        assert f"::: isoglot.{name}\n" in pages["python.md"] + "\n"
    assert "::: isoglot.tasks.rfeval.rfeval\n" in pages["python/tasks.md"]  # also the name of a module
    assert "::: isoglot.spaces.load_space\n" in pages["python/spaces.md"]
    assert "(../python.md#isoglot.Space)" in pages["python/spaces.md"]
    assert "[`Cognates`](../methods/cognates.md)" in pages["python/aligners.md"]
    assert "::: isoglot.aligners.Cognates" not in pages["python/aligners.md"]


@pytest.mark.parametrize("name", ["api", "build", "commands", "doctests", "markdown", "methods"])
def test_examples_of_the_generator(name):
    if name == "doctests":
        pytest.importorskip("griffe")
    module = importlib.import_module(f"docs.pages.{name}")
    assert doctest.testmod(module).failed == 0
