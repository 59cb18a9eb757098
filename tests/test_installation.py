"""The command that a message about an extra names fits how Isoglot was installed."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path

import pytest

from isoglot import installation
from isoglot.errors import MissingExtraError
from isoglot.installation import install_command


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Pretend that it was installed elsewhere, by an installer that left these notes."""

    def pretend(url: dict[str, object] | str | None = None, installer: str = "pip") -> None:
        folder = tmp_path / "isoglot-9.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: isoglot\nVersion: 9\n")
        (folder / "INSTALLER").write_text(f"{installer}\n")
        if url is not None:
            (folder / "direct_url.json").write_text(url if isinstance(url, str) else json.dumps(url))
        monkeypatch.setattr(installation, "_clone", lambda module: None)
        monkeypatch.setattr(metadata, "distribution", lambda name: metadata.PathDistribution(folder))

    return pretend


def test_a_clone_is_named_where_it_is(monkeypatch, tmp_path):
    root = Path(installation.__file__).parents[2]
    monkeypatch.chdir(root)
    assert install_command("flows") == "pip install -e '.[flows]'"
    monkeypatch.chdir(tmp_path)
    assert shlex.split(install_command("flows")) == ["pip", "install", "-e", f"{root}[flows]"]


def test_a_module_in_site_packages_is_no_clone(tmp_path):
    module = tmp_path / "lib" / "site-packages" / "isoglot" / "installation.py"
    assert installation._clone(module) is None
    source = tmp_path / "src" / "isoglot" / "installation.py"
    assert installation._clone(source) is None
    (tmp_path / "pyproject.toml").touch()
    assert installation._clone(source) == tmp_path.resolve()


@pytest.mark.parametrize(
    ("url", "arguments"),
    [
        (None, ["isoglot[flows]"]),
        ("not JSON", ["isoglot[flows]"]),
        ("[]", ["isoglot[flows]"]),
        ({"url": "file:///home/me/my%20code", "dir_info": {"editable": False}}, ["/home/me/my code[flows]"]),
        ({"url": "file:///tmp/isoglot-9.whl", "archive_info": {}}, ["isoglot[flows] @ file:///tmp/isoglot-9.whl"]),
        (
            {"url": "https://a.org/i.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            ["isoglot[flows] @ git+https://a.org/i.git"],
        ),
    ],
)
def test_other_ways_to_install(installed, url, arguments):
    installed(url)
    assert shlex.split(install_command("flows")) == ["pip", "install", *arguments]


def test_uv_is_named_where_uv_installed_it(installed):
    installed(installer="uv")
    assert install_command("flows") == "uv pip install 'isoglot[flows]'"


def test_a_copy_without_metadata(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(installation, "_clone", lambda module: None)
    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_command("flows") == "pip install 'isoglot[flows]'"


def test_the_error_says_it_in_one_line(installed):
    installed()
    error = MissingExtraError("zuko", "flows", "a normalizing flow")
    assert str(error) == "a normalizing flow needs zuko; install it with: pip install 'isoglot[flows]'"
