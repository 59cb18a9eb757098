"""A missing package is told before anything is read, and with the extra that brings it."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from isoglot.aligners import aligner, methods
from isoglot.cli.app import app
from isoglot.errors import MissingExtraError
from isoglot.extras import _INSTALLED_BY, EXTRAS, require
from isoglot.installation import install_command

LEXICON = "a.vec b.vec -l l.txt -o out"
ENCODER = "de.txt en.txt -e model"
#: Module that is missing, command with files that are not there, extra that the error names.
MISSING = [
    ("torch", f"align {LEXICON} -m muse".replace("-l l.txt ", ""), "torch"),
    ("torch", f"align {LEXICON} -m fcnn", "torch"),
    ("zuko", f"align {LEXICON} -m realnvp", "flows"),
    ("pymanopt", f"align {LEXICON} -m geomm", "manifolds"),
    ("faiss", f"align {LEXICON} -m muse-supervised --set backend=faiss", "ann"),
    ("torch", f"compare {LEXICON} -m procrustes -m fcnn", "torch"),
    ("zuko", "reproduce density --quick", "flows"),
    ("accelerate", "reproduce finetune", "training"),
    ("usearch", "lexicon out -o d.tsv --backend usearch", "ann"),
    ("faiss", "evaluate bli out --test l.txt --backend faiss", "ann"),
    ("gensim", "export out -o vectors --format kv", "gensim"),
    ("gensim", "convert a.vec -o a.kv", "gensim"),
    ("transformers", f"encoder extract {ENCODER} -o out", "encoders"),
    ("transformers", f"encoder align {ENCODER} -o out", "encoders"),
    ("transformers", f"evaluate tatoeba {ENCODER}", "encoders"),
    ("transformers", "evaluate rfeval wmt --languages de-en -e model", "encoders"),
    ("transformers", "evaluate similarity simlex-999 -e model", "encoders"),
    ("torch", "evaluate cbli pairs --method fcnn", "torch"),
    ("transformers", f"wordalign {ENCODER}", "encoders"),
    ("thot", "wordalign de.txt en.txt --word-method hmm", "word-alignment"),
    ("thot", f"encoder extract {ENCODER} -o out --word-method hmm", "word-alignment"),
    ("transformers", "project l.conll a.txt b.txt --encoder model", "encoders"),
    ("transformers", "encoder distill en.txt -e model -o out", "encoders"),
    ("accelerate", "encoder finetune --preset best -e model --parallel de=a.txt,b.txt -o out", "training"),
    ("peft", "encoder finetune --preset best -e model --parallel de=a.txt,b.txt -o out --set lora=4", "training"),
    ("torch", "align en=a.vec fr=b.vec --pivot en --induce gan-realnvp -o out", "flows"),
]


#: Built once: the whole tree of commands takes a quarter of a second.
COMMAND = get_command(app)


def error_of(command: str) -> Exception | None:
    """What running it in this process raises."""
    try:
        COMMAND.main(command.split(), standalone_mode=False)
    except Exception as error:
        return error
    return None


def hide(monkeypatch, *hidden):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in hidden else find(name, *rest))


@pytest.mark.parametrize(("module", "command", "extra"), MISSING, ids=[f"{m}: {c}" for m, c, _ in MISSING])
def test_a_missing_package_is_told_first(tmp_path, monkeypatch, module, command, extra):
    monkeypatch.chdir(tmp_path)
    hide(monkeypatch, module)
    error = error_of(command)
    assert isinstance(error, MissingExtraError), error
    assert str(error).endswith(f"; install it with: {install_command(extra)}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", methods())
def test_methods_say_what_they_need(name, monkeypatch):
    chosen = aligner(name)
    hide(monkeypatch, *(module for extra in EXTRAS.values() for module in extra))
    if chosen.requires:
        with pytest.raises(MissingExtraError, match=name):
            chosen.fit(None, None)  # before it looks at anything
    else:
        chosen.check_extras()


def test_muse_needs_torch_only_to_train_adversaries(monkeypatch):
    hide(monkeypatch, "torch")
    aligner("muse", starts="distribution,principal").check_extras()
    with pytest.raises(MissingExtraError, match="torch"):
        aligner("muse").check_extras()


def test_extras_are_those_of_the_package():
    path = Path(__file__).parents[1] / "pyproject.toml"
    named = tomllib.loads(path.read_text("utf-8"))["project"]["optional-dependencies"]
    for extra in EXTRAS:
        assert _INSTALLED_BY.get(extra, extra) in named
        installed = " ".join(named[_INSTALLED_BY.get(extra, extra)])
        for package in EXTRAS[extra].values():
            assert package.split(" ")[0] in installed
        require(extra, "this test")  # all are installed where tests run
