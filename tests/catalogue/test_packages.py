from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from isoglot.catalogue import Artefact, pipconfig
from isoglot.catalogue.download import Connection
from isoglot.catalogue.packages import find_package_file
from isoglot.catalogue.pipconfig import PipSettings, parse_config_list, pip_settings
from isoglot.errors import DownloadError, InputError, OfflineError

WANTED = Artefact("package", "some_data-1.0.tar.gz", "Some_Data", "1.0", 3, "00")


def find(settings: PipSettings, connection: Connection) -> str:
    return find_package_file(WANTED, settings, connection, "vectors/xx")


def test_an_html_index_gives_the_exact_file(server: Any, connection: Connection) -> None:
    page = """<a href="../../f/some_data-1.0.1.tar.gz">x</a><a href='/f/some_data-1.0.tar.gz#sha256=1'>y</a>"""
    server.file("/simple/some-data/", page.encode(), **{"Content-Type": "text/html"})
    found = find(PipSettings((server.address + "/simple/",)), connection)
    assert found == server.address + "/f/some_data-1.0.tar.gz"


def test_a_json_index_gives_the_exact_file(server: Any, connection: Connection) -> None:
    page = json.dumps({"files": [{"filename": "x", "url": "https://files.example/a/some_data-1.0.tar.gz"}]})
    kind = {"Content-Type": "application/vnd.pypi.simple.v1+json"}
    server.file("/simple/some-data/", page.encode(), **kind)
    found = find(PipSettings((server.address + "/simple",)), connection)
    assert found == "https://files.example/a/some_data-1.0.tar.gz"
    assert "application/vnd.pypi.simple.v1+json" in server.requests[0][1]["Accept"]


@pytest.mark.parametrize("page", ["not json", "[]", '{"files": 3}', '{"files": [{}]}'])
def test_a_broken_json_index_has_no_files(server: Any, connection: Connection, page: str) -> None:
    server.file("/simple/some-data/", page.encode(), **{"Content-Type": "application/json"})
    with pytest.raises(DownloadError, match="index has no"):
        find(PipSettings((server.address + "/simple",)), connection)


def test_the_second_index_is_asked_when_the_first_has_nothing(server: Any, connection: Connection) -> None:
    server.file("/more/some-data/", b'<a href="some_data-1.0.tar.gz">x</a>', **{"Content-Type": "text/html"})
    settings = PipSettings((server.address + "/simple", server.address + "/more"))
    assert find(settings, connection) == server.address + "/more/some-data/some_data-1.0.tar.gz"


def test_folders_serve_as_index_and_as_links(tmp_path: Path, connection: Connection) -> None:
    project = tmp_path / "simple" / "some-data"
    project.mkdir(parents=True)
    (project / "index.html").write_text('<a href="../../files/some_data-1.0.tar.gz">x</a>')
    expected = (tmp_path / "files" / "some_data-1.0.tar.gz").as_uri()
    assert find(PipSettings(((tmp_path / "simple").as_uri(),)), connection) == expected
    assert find(PipSettings((str(tmp_path / "simple"),)), connection) == expected
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "some_data-1.0.tar.gz").write_bytes(b"abc")
    found = find(PipSettings((), (str(tmp_path / "links"),)), connection)
    connection.save(found, tmp_path / "copy", "x", size=3)
    assert (tmp_path / "copy").read_bytes() == b"abc"


def test_offline_only_if_no_index_answers_with_the_file(
    server: Any, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = "http://127.0.0.1:9/simple"
    with pytest.raises(OfflineError, match="vectors/xx: cannot reach"):
        find(PipSettings((gone, server.address + "/simple")), connection)
    server.package("some-data", "some_data-1.0.tar.gz", b"abc")
    assert find(PipSettings((gone, server.address + "/simple")), connection).endswith("some_data-1.0.tar.gz")


def test_nothing_anywhere_names_the_package(server: Any, connection: Connection) -> None:
    with pytest.raises(DownloadError, match=r"no some_data-1.0.tar.gz; .*Some_Data==1.0"):
        find(PipSettings((server.address + "/simple",)), connection)


def test_config_sections_have_ranks() -> None:
    text = (
        "download.index-url='https://c'\nglobal.index-url='https://a'\nglobal.extra-index-url='x y'\n"
        "wheel.index-url='https://z'\nnonsense\nglobal.cert=[broken\n:env:.proxy='p'"
    )
    assert parse_config_list(text) == {"index-url": "https://c", "extra-index-url": "x y", "proxy": "p"}


def test_the_users_pip_settings_are_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://one.example https://two.example")
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels")
    monkeypatch.delenv("PIP_CERT", raising=False)
    pip_settings.cache_clear()
    try:
        settings = pip_settings()
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        pip_settings.cache_clear()
        without = pip_settings()
    finally:
        pip_settings.cache_clear()
    assert settings == PipSettings(
        ("https://index.example/simple", "https://one.example", "https://two.example"), ("wheels",)
    )
    assert without == PipSettings((), ("wheels",))


def test_without_settings_pips_own_default_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    pip_settings.cache_clear()
    try:
        settings = pip_settings()
    finally:
        pip_settings.cache_clear()
    assert len(settings.indexes) == 1
    assert settings.indexes[0].startswith("https://")


def test_without_pip_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **options: object) -> object:
        raise OSError("no such program")

    monkeypatch.setattr(subprocess, "run", fails)
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    pipconfig.pip_settings.cache_clear()
    try:
        with pytest.raises(InputError, match="set PIP_INDEX_URL"):
            pip_settings()
    finally:
        pip_settings.cache_clear()
