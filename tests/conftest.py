"""For all tests: a tiny encoder of two invented languages, trained once a session, and parallel text new to it."""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from filelock import FileLock

from isoglot.encoders import Encoder, quiet
from isoglot.files import part_name
from isoglot.simulate import SimulatedParallel, simulate_encoder, simulate_parallel

# Two workers with a pool of torch threads each wait for each other more than they work. Set before torch is imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

#: Sentences of each language that the encoder is trained on, none of them the translation of another.
MONOLINGUAL = 1000
#: The first of the parallel sentences teach, the others test.
TAUGHT = 400
LANGUAGES = ("north", "south")


@pytest.fixture(scope="session")
def all_text() -> SimulatedParallel:
    return simulate_parallel(sentences=2 * MONOLINGUAL + TAUGHT + 100, words=80, seed=3)


@pytest.fixture(scope="session")
def parallel(all_text) -> SimulatedParallel:
    begin = 2 * MONOLINGUAL
    return dataclasses.replace(
        all_text, src=all_text.src[begin:], tgt=all_text.tgt[begin:], links=all_text.links[begin:]
    )


@pytest.fixture(scope="session")
def tiny_folder(all_text, tmp_path_factory) -> Path:
    """Shared by all workers: whoever comes first trains it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "tiny-encoder"
    with FileLock(shared / "tiny-encoder.lock"):
        if not folder.exists():
            north, south = all_text.src[:MONOLINGUAL], all_text.tgt[MONOLINGUAL : 2 * MONOLINGUAL]
            simulate_encoder(folder, {"north": north, "south": south}, steps=200)
    return folder


@pytest.fixture(scope="session")
def headless_folder(tiny_folder, tmp_path_factory) -> Path:
    """The tiny encoder without its head for masked tokens, as sentence encoders are."""
    from transformers import AutoModel, AutoTokenizer

    folder = tmp_path_factory.mktemp("headless")
    with quiet():
        AutoModel.from_pretrained(tiny_folder).save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder) -> Encoder:
    return Encoder(tiny_folder)


@pytest.fixture(scope="session")
def lines(parallel) -> tuple[list[str], list[str]]:
    """The parallel sentences as texts."""
    return [" ".join(words) for words in parallel.src], [" ".join(words) for words in parallel.tgt]


@pytest.fixture(scope="session")
def text_files(lines, tmp_path_factory) -> Path:
    """The parallel sentences in a folder: north.txt and south.txt, and both.tsv with a tab between them."""
    folder = tmp_path_factory.mktemp("texts")
    for name, side in zip(LANGUAGES, lines, strict=True):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in side), "utf-8")
    (folder / "both.tsv").write_text("".join(f"{src}\t{tgt}\n" for src, tgt in zip(*lines, strict=True)), "utf-8")
    return folder


def run_program(*args: object, stdin: str = "", cwd: Path | None = None) -> tuple[int, str, str]:
    """Run `isoglot ARGS` in this process, which need not load anything once more: exit code, output and errors."""
    from isoglot.cli import main

    before = Path.cwd()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8")), "utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    os.chdir(cwd or before)
    streams = mock.patch.multiple(sys, argv=["isoglot", *map(str, args)], stdin=given, stdout=out, stderr=err)
    try:
        with streams, pytest.raises(SystemExit) as ended:
            main()
    finally:
        os.chdir(before)
    said = [stream.buffer.getvalue().decode("utf-8", "surrogateescape") for stream in (out, err)]
    return int(ended.value.code or 0), said[0], said[1]


@pytest.fixture(scope="session")
def command() -> Callable[..., tuple[int, str, str]]:
    return run_program


@pytest.fixture(scope="session")
def linked(parallel):
    """Rows (n, 2) of the taught sentences' words that translate each other, in each language's running text."""
    offsets = [np.cumsum([0, *map(len, side)]) for side in (parallel.src, parallel.tgt)]
    return np.array(
        [
            (offsets[0][number] + i, offsets[1][number] + j)
            for number in range(TAUGHT)
            for i, j in sorted(parallel.links[number].sure)
        ]
    )


@pytest.fixture(scope="session")
def killed_name() -> Callable[..., str]:
    """Names as a process that is no more gave them to what it was writing."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return lambda name, suffix="part": part_name(name, suffix).replace(f"-{os.getpid()}-", f"-{process.pid}-")
