"""`isoglot data get` with licences that have to be accepted by name, and parallel text by its name in the catalogue."""

from __future__ import annotations

import pytest

from isoglot.catalogue import fetching
from isoglot.cli.encoder_inputs import open_parallel
from isoglot.errors import ConfigError
from isoglot.progress import silent


@pytest.fixture
def no_download(monkeypatch, tmp_path):
    def fail(*_: object) -> None:
        raise AssertionError("nothing may be downloaded")

    monkeypatch.setattr(fetching, "_download", fail)
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    "args",
    [
        ("data", "get", "encoder/gemma-3-270m"),
        ("data", "get", "vectors/fr", "vectors/tr", "encoder/gemma-3-270m", "--accept-licence", "agpl-3.0"),
        ("encoder", "distill", "en=a.txt", "-e", "encoder/gemma-3-270m", "-o", "out"),
    ],
    ids=["alone", "after others", "by another command"],
)
def test_the_command_that_accepts_is_told(command, no_download, tmp_path, args):
    (tmp_path / "a.txt").write_text("one two\n")
    code, _, errors = command(*args, cwd=tmp_path)
    assert code == 2
    assert errors.startswith("isoglot: encoder/gemma-3-270m: its licence binds what you do with it (Gemma Terms of Use")
    assert errors.endswith("run once: isoglot data get encoder/gemma-3-270m --accept-licence gemma\n")


def test_an_accepted_licence_is_passed_to_its_entry(command, monkeypatch):
    asked = []

    def fetch(entry, progress, *, accept_licence):
        asked.append((entry.name, accept_licence))
        return entry.name

    monkeypatch.setattr("isoglot.catalogue.fetch", fetch)
    licences = ("--accept-licence", "gemma", "--accept-licence", "agpl-3.0")
    code, _, errors = command("data", "get", "vectors/fr", "vectors/tr", "encoder/gemma-3-270m", *licences)
    assert code == 0, errors
    assert asked == [("vectors/fr", None), ("vectors/tr", "agpl-3.0"), ("encoder/gemma-3-270m", "gemma")]


def test_parallel_text_by_name(monkeypatch):
    asked = []
    monkeypatch.setattr("isoglot.catalogue.load_parallel", lambda *args, **more: asked.append((*args, more["name"])))
    for name in ("parallel/en-de", "parallel/pt-br-en", "parallel/zh-hant-cs-help"):
        open_parallel([name], silent)
    assert asked == [
        ("en", "de", "parallel/en-de"),
        ("pt-br", "en", "parallel/pt-br-en"),
        ("zh-hant", "cs", "parallel/zh-hant-cs-help"),
    ]
    with pytest.raises(ConfigError, match=r"no entry 'parallel/en-dee'; did you mean"):
        open_parallel(["parallel/en-dee"], silent)
