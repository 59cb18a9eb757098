"""A dictionary without supervision: words of two languages that choose each other."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from isoglot.aligners import Aligner, Identity, aligner as named_aligner, induce, methods
from isoglot.errors import ConfigError, ShapeError
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.suggest import unknown

#: No alignment at all: for vectors that share a space already.
AS_IS = "as-is"
#: What the vectors are called that a language is aligned with.
OWN = "own vectors"


@dataclasses.dataclass(frozen=True)
class Induction:
    """How a dictionary came about: by which method, on which vectors, how many pairs, and what the method doubts."""

    by: str
    on: str
    pairs: int
    warning: str | None = None


def check_inducer(inducer: str | Aligner, seed: int = 0) -> str | Aligner:
    """The method that is meant, "as-is" as it is; raise unless it does without pairs.

    >>> check_inducer("as-is")
    'as-is'
    >>> check_inducer("cognates").method.name
    'cognates'
    """
    if inducer == AS_IS:
        return AS_IS
    if isinstance(inducer, str):
        known = [AS_IS, *(name for name, cls in methods().items() if cls.method.supervision != "supervised")]
        if inducer not in methods():
            raise unknown("way to induce a dictionary", inducer, known)
        inducer = named_aligner(inducer, seed=seed)
    if inducer.method.supervision == "supervised":
        raise ConfigError(
            f"{inducer.method.name} needs translation pairs, and there are none to induce a dictionary from",
            remedy="choose as-is, vecmap-unsupervised, cognates or another method that needs none",
        )
    inducer.check_extras()
    return inducer


def check_learner(method: Aligner) -> None:
    """Raise unless it learns from pairs and leaves the pivot in place."""
    if not _fits(type(method)):
        linear = [name for name, cls in methods().items() if _fits(cls)]
        raise ConfigError(
            f"{method.method.name} cannot learn from the induced dictionary and leave the pivot in place",
            remedy=f"choose one of: {', '.join(linear)}",
        )


def induce_dictionary(
    src: Space,
    tgt: Space,
    inducer: str | Aligner = AS_IS,
    *,
    frequent: int = 15_000,
    on: str = OWN,
    normalise: str = "unit,centre,unit",
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Progress = silent,
) -> tuple[Lexicon, Induction]:
    """Mutual CSLS neighbours among the most frequent words of both sides, after the inducer has aligned them.

    Args:
        on: what the vectors are called in the record.
        normalise: for "as-is"; a method has its own.
        checkpoint: where an iterative method keeps its state.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 8))
    >>> src, tgt = Space("aa", [f"a{i}" for i in range(30)], X), Space("bb", [f"b{i}" for i in range(30)], X)
    >>> dictionary, induction = induce_dictionary(src, tgt)
    >>> dictionary.pairs[0], induction
    (('a0', 'b0'), Induction(by='as-is', on='own vectors', pairs=30, warning=None))
    """
    src, tgt = (side.most_frequent(len(side)) for side in (src, tgt))  # in order of frequency
    method = check_inducer(inducer, seed)
    if isinstance(method, str):
        if src.dim != tgt.dim:
            raise ShapeError(
                f"{AS_IS} needs vectors of one space, and {src.lang} has {src.dim} dimensions, {tgt.lang} {tgt.dim}",
                remedy="induce the dictionary with a method, such as vecmap-unsupervised",
            )
        name, method = AS_IS, Identity(normalise=normalise)
    else:
        name = method.method.name
    alignment = method.fit(src, tgt, progress=progress, checkpoint=checkpoint if method.method.iterative else None)
    X, Y = alignment.transform(src.vectors, "src"), alignment.transform(tgt.vectors, "tgt")
    # Beyond the frequent words nobody is asked, so nobody needs to answer.
    found = induce(X[:frequent], Y[:frequent], np.eye(X.shape[1], dtype=np.float32), frequent=frequent)
    dictionary = Lexicon([(src.words[i], tgt.words[j]) for i, j in found.pairs], src.lang, tgt.lang)
    warning = alignment.info.get("warning")
    return dictionary, Induction(name, on, len(dictionary), None if warning is None else str(warning))


def _fits(cls: type[Aligner]) -> bool:
    return cls.method.supervision != "unsupervised" and cls.method.linear
