"""Folders of results: alignments, aligned spaces with re-rankers, joint, distilled and static-aligned ones."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligned import Aligned, Reranker
from isoglot.aligners import Alignment, aligner
from isoglot.cli.align_many import _distilled
from isoglot.distill import DISTILLED_FOLDER as DISTILLED
from isoglot.errors import IsoglotError, locating
from isoglot.joint import JointSpace
from isoglot.pipelines import ContextualPairs, align_pair, align_static
from isoglot.pipelines.training_run import _vectors
from isoglot.reproductions.static_contextual.words import read_vectors
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space

from .target import Unsound, check_finite, check_space, check_text, target

WORDS, DIM = 60, 5
_some = np.random.default_rng(5).normal(size=(4, DIM)).astype(np.float32)


@cache
def _pair() -> Any:
    return simulate_pair(n_words=WORDS, dim=DIM, noise=0.2, seed=1)


def _aligner(method: str, **settings: Any) -> Any:
    return aligner(method, **settings)


def _alignment(method: str, **settings: Any) -> Any:
    def make(folder: Path) -> None:
        pair = _pair()
        _aligner(method, **settings).fit(pair.src, pair.tgt, pair.lexicon).save(folder / "a")

    return make


#: Numbers above this are finite but overflow when they are multiplied: no reader can tell them from meant ones.
LARGE = 1e15


def tame(alignment: Alignment) -> bool:
    """Whether all learned numbers are finite, which must be, and of a size to calculate with."""
    learned = [*alignment._tensors().values(), *alignment.src_normaliser.state, *alignment.tgt_normaliser.state]
    check_finite(*learned)
    return all(np.abs(one.astype(np.float64)).max(initial=0) < LARGE for one in learned)


def read_alignment(folder: Path) -> None:
    alignment = Alignment.load(folder / "a")
    if not tame(alignment):
        return
    for side in ("src", "tgt"):
        mapped = alignment.transform(_some, side)
        check_finite(mapped)
        if mapped.ndim != 2 or len(mapped) != len(_some) or mapped.dtype != np.float32:
            raise Unsound(f"mapped to {mapped.dtype} of shape {mapped.shape}")
        with contextlib.suppress(IsoglotError):  # not every map can be undone
            check_finite(alignment.inverse_transform(mapped, side))


target("alignment-procrustes", "folders", _alignment("procrustes"), read_alignment)
target("alignment-cca", "folders", _alignment("cca"), read_alignment)
target(
    "alignment-least-squares", "folders", _alignment("least-squares", normalise="centre,abtt:1,unit"), read_alignment
)


def _make_aligned(folder: Path) -> None:
    pair = _pair()
    outcome = align_pair(pair.src, pair.tgt, _aligner("procrustes"), train=pair.lexicon, test=pair.lexicon, rerank=True)
    outcome.aligned.save(folder / "a")


def read_aligned(folder: Path) -> None:
    aligned = Aligned.load(folder / "a")
    for name, space in aligned.spaces.items():
        if name != space.lang:
            raise Unsound("a space under another name")
        check_space(space)
    means = [one for pair in aligned.means.values() for one in pair]
    check_finite(*means)
    numbers = [*means, *(space.vectors for space in aligned.spaces.values())]
    if not all(map(tame, aligned.alignments.values())) or any(np.abs(one).max(initial=0) > LARGE for one in numbers):
        return
    source, target_name = aligned.names[:2]
    for found in (
        aligned.retriever(source, target_name).top(3),
        *(reranker.retriever(aligned).top(3) for reranker in aligned.rerankers.values()),
    ):
        check_finite(found.scores)
    for alignment in aligned.alignments.values():
        check_finite(alignment.transform(_some, "src"))


target("aligned", "folders", _make_aligned, read_aligned)


def _make_reranker(folder: Path) -> None:
    pair = _pair()
    aligners = [_aligner("procrustes"), _aligner("cca")]
    Reranker.train(pair.src, pair.tgt, pair.lexicon, aligners, candidates=8).save(folder / "r")
    Aligned.pair(aligners[0].fit(pair.src, pair.tgt, pair.lexicon), pair.src, pair.tgt).save(folder / "a")


def _read_reranker(folder: Path) -> None:
    aligned = Aligned.load(folder / "a")
    with locating(str(folder / "r")):  # one of other vectors is refused, by whoever knows where it is from
        check_finite(Reranker.load(folder / "r").retriever(aligned).top(3).scores)


target("reranker", "folders", _make_reranker, _read_reranker, victims=("r/**/*",))


def _make_static(folder: Path) -> None:
    pair = _pair()
    spaces = {"north": pair.src, "south": pair.tgt}
    align_static(spaces, "north", inducer="as-is", aligner=_aligner("procrustes"), align_all=True, seed=0).save(
        folder / "a"
    )


def _read_static(folder: Path) -> None:
    read_aligned(folder)
    for space in read_vectors(folder / "a", ("north", "south")).values():
        check_space(space)


target("static-aligned", "folders", _make_static, _read_static)


def make_distilled(folder: Path) -> None:
    """As `isoglot distill` leaves it."""
    pair = _pair()
    with DISTILLED.replacing(folder / "a") as place:
        for lang, space in (("north", pair.src), ("south", pair.tgt)):
            Space(lang, space.words, space.vectors, space.counts).save(place / f"{lang}.safetensors")
        DISTILLED.write_manifest(place, {"languages": {"north": {}, "south": {}}})


def _read_distilled(folder: Path) -> None:
    for lang, path in _distilled(str(folder / "a")).items():
        check_space(Space.load(path, lang=lang))
    check_space(_vectors(folder / "a", "north", lambda step, done, total: None))


target("distilled", "folders", make_distilled, _read_distilled)


def _joint() -> JointSpace:
    words = tuple(f"word{i}" for i in range(30))
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 50, size=(30, 2)) + np.array([1, 0])
    return JointSpace(("north", "south"), words, rng.normal(size=(30, DIM)).astype(np.float32), counts)


def _make_joint(folder: Path) -> None:
    (folder / "j").mkdir()
    _joint().write_into(folder / "j")


def _read_joint(folder: Path) -> None:
    joint = JointSpace.load(folder / "j")
    check_finite(joint.vectors)
    check_text(joint.words)
    if joint.counts.min(initial=0) < 0:
        raise Unsound("counts below zero")
    for lang in joint.langs:
        check_space(joint.view(lang), some=False)
    joint.reallocate(0.9).kinds()


target("joint", "folders", _make_joint, _read_joint)


def _make_contextual(folder: Path) -> None:
    rng = np.random.default_rng(0)
    sides = []
    for lang in ("north", "south"):
        names = [f"{lang}{i % 7}@{i}:{i % 3}" for i in range(20)]
        sides.append(Space(lang, names, rng.normal(size=(20, DIM)).astype(np.float32)))
    pairs = np.stack([np.arange(20), np.arange(20)[::-1]], axis=1)
    ContextualPairs(sides[0], sides[1], pairs, {"method": "itermax"}).save(folder / "c")


def _read_contextual(folder: Path) -> None:
    found = ContextualPairs.load(folder / "c")
    check_space(found.src)
    check_space(found.tgt)
    check_finite(*found.matched)


target("contextual-pairs", "folders", _make_contextual, _read_contextual)
