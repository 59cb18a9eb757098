"""`isoglot align --pivot` without lexicons, as a user meets it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from isoglot.distill import DISTILLED_FOLDER as KIND
from isoglot.lexicons import Lexicon
from isoglot.spaces import Space


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """A folder as `isoglot distill` leaves it: a pivot and a language that is where it should be; and a lexicon."""
    folder = tmp_path_factory.mktemp("static-align")
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 12))
    with KIND.replacing(folder / "static") as place:
        for lang, vectors in (("en", base), ("fr", base + 0.2 * rng.normal(size=base.shape))):
            Space(lang, [f"{lang}{i}" for i in range(300)], vectors).save(place / f"{lang}.safetensors")
        KIND.write_manifest(place, {"languages": {"en": {}, "fr": {}}})
    Lexicon([(f"en{i}", f"fr{i}") for i in range(100)], "en", "fr").save(folder / "en-fr.txt")
    return folder


@pytest.fixture
def run(command, static, monkeypatch):
    monkeypatch.chdir(static)
    monkeypatch.setenv("COLUMNS", "160")  # narrow terminals fold what is looked for
    return lambda *args: command("align", *args)


def test_a_distilled_folder_becomes_an_aligned_one(run, command, static):
    code, out, err = run("static", "--pivot", "en", "--test", "en-fr=en-fr.txt", "-o", "out")
    assert code == 0, err
    assert "as it was" in out
    assert "fr: kept as it was: semantic " in err
    assert "written to out" in err
    assert len(Space.load(static / "out" / "fr.safetensors")) == 300
    assert not (static / "out.work").exists()
    code, out, err = command("evaluate", "bli", "out", "--test", "en-fr.txt", "--from", "en", "--to", "fr", "--json")
    assert code == 0, err
    assert json.loads(out)["results"][0]["value"] > 0.9


def test_all_are_aligned_where_asked(run, static):
    """The same language that is kept as it was else."""
    code, out, err = run("static", "--pivot", "en", "--align-all", "-o", "all")
    assert code == 0, err
    assert "fr: aligned, as all are to be: semantic " in err
    assert "as it was" not in out
    choice = json.loads((static / "all" / "config.json").read_text("utf-8"))["languages"]["fr"]
    assert (choice["aligned"], choice["told"]) == (True, True)
    assert choice["after"] <= choice["before"]


def test_named_files_other_vectors_and_json(run, static):
    files = [f"{lang}=static/{lang}.safetensors" for lang in ("en", "fr")]
    others = [argument for file in files for argument in ("--from-vectors", file)]
    code, out, err = run(*files, *others, "--induce", "as-is", "--pivot", "en", "-m", "procrustes", "--json", "-o", "j",
                         "--keep-work")  # fmt: skip
    assert code == 0, err
    document = json.loads(out)
    assert document["languages"]["fr"]["induction"]["on"] == "other vectors"
    assert document["settings"]["aligner"]["method"] == "procrustes"
    assert (static / "j.work").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--pivot", "en"], "nowhere: no such folder"),
        (["en-fr.txt", "--pivot", "en"], "is a file, not a folder"),
        (["static", "--pivot", "es"], "the pivot 'es' is not among the languages; one of: en, fr"),
        (["en=static/en.safetensors", "fr", "--pivot", "en"], "must be LANGUAGE=FILE, not 'fr'"),
        (["en=a", "en=b", "--pivot", "en"], "en is given twice"),
        (["en=a.vec", "fr=b.vec", "--pivot", "en"], "a.vec: no such file"),
        (["static", "--pivot", "en", "--induce", "cognate"], "did you mean 'cognates'?"),
        (["static", "--pivot", "en", "--induce", "procrustes"], "needs translation pairs"),
        (["static", "--pivot", "en", "--method", "vecmop"], "did you mean 'vecmap'?"),
        (["static", "--pivot", "en", "--set", "whitn=no"], "did you mean 'whiten'?"),
        (["static", "--pivot", "en", "--criterion", "best"], "choose one of: semantic, structural"),
        (["static", "--pivot", "en", "--test", "en-de=en-fr.txt"], "the pairs are: en-fr"),
        (["static", "--pivot", "en", "--from-vectors", "fr=static/fr.safetensors"], "missing for the pivot 'en'"),
    ],
)
def test_mistakes_are_one_line(run, static, arguments, said):
    code, out, err = run(*arguments, "-o", "bad")
    assert code == 2
    assert said in err.splitlines()[-1]
    assert out == ""
    assert not (static / "bad").exists()


def test_nothing_else_is_overwritten(run):
    code, _, err = run("static", "--pivot", "en", "-o", "static")
    assert code == 2
    assert "will not be overwritten" in err


#: Dies in the second language, when its method has kept a state twice.
KILLED = """
import os, signal
from isoglot.checkpoints import Checkpoint
from isoglot.pipelines.static_job import LanguageJob

Checkpoint.seconds = 0.0
save, align, seen = Checkpoint.save, LanguageJob.run, []

def keep(self, *args):
    save(self, *args)
    seen.append("state")
    if seen.count("language") == 2 and seen[-2:] == ["state", "state"]:
        os.kill(os.getpid(), signal.SIGKILL)

def look(*args):
    seen.append("language")
    return align(*args)

Checkpoint.save, LanguageJob.run = keep, look
from isoglot.cli import main
main()
"""


def test_a_killed_run_goes_on_to_the_same_bits(run, static):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    french = Space.load(static / "static" / "fr.safetensors")
    Space("de", [f"de{i}" for i in range(300)], french.vectors @ turn).save(static / "de.safetensors")
    files = ["en=static/en.safetensors", "fr=static/fr.safetensors", "de=de.safetensors"]
    arguments = [*files, "--pivot", "en", "--induce", "vecmap-unsupervised", "-m", "procrustes", "-o"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, "align", *arguments, "killed"],
        cwd=static, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [path.parent.name[:3] for path in static.glob("killed.work/*/induction.checkpoint")] == ["de-"]
    assert not (static / "killed").exists()
    for name in ("killed", "whole"):
        code, _, err = run(*arguments, name)
        assert code == 0, err
        assert ("note: fr was finished earlier" in err) == (name == "killed")
    assert not (static / "killed.work").exists()
    for lang in ("en", "fr", "de"):
        one, other = ((static / name / f"{lang}.safetensors").read_bytes() for name in ("killed", "whole"))
        assert one == other, lang
    one, other = (json.loads((static / name / "config.json").read_text("utf-8")) for name in ("killed", "whole"))
    assert one["languages"] == other["languages"]
