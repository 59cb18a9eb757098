"""`evaluate`: a task on aligned spaces, given what a person has at hand."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.tasks.bli import bli
from isoglot.tasks.registry import named_task
from isoglot.tasks.result import Results

if TYPE_CHECKING:
    from isoglot.aligned import Aligned

#: Settings of `Aligned.retriever`, which keeps what it has computed once.
_SEARCH = ("score", "neighbourhood", "backend")


def evaluate(
    aligned: Aligned | tuple[Space, Space],
    test: Any,
    *,
    task: str = "bli",
    source: str | None = None,
    target: str | None = None,
    rerank: bool | None = None,
    threads: int | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> Results:
    """How good is it? By default P@k and MRR of word translation, under both protocols (see `bli`).

    Args:
        aligned: aligned spaces, or two Spaces that share a space.
        test: for "bli" a Lexicon, a file, a catalogue name or a list of pairs; for another task what it takes.
        task: a task over two Spaces: "bli", "cbli", "similarity", one of an entry point, or `module:function`.
        source, target: the direction, where there are more than two languages; default the first two.
        rerank: True insists on the re-ranker of the aligned spaces, False leaves it out; default: used if there is one.
        settings: of the task, such as `score` or `bootstrap`.

    >>> import numpy as np
    >>> en, fr = Space("en", ["cat", "dog"], np.eye(2)), Space("fr", ["chat", "chien"], np.eye(2))
    >>> evaluate((en, fr), [("cat", "chat"), ("dog", "chien")], bootstrap=0)["P@1"]
    1.0
    """
    if isinstance(aligned, tuple | list):
        if len(aligned) != 2:
            raise ConfigError(f"two spaces are evaluated, not {len(aligned)}", where="aligned")
        if source is not None or target is not None or rerank:
            raise ConfigError("a pair of spaces has one direction and no re-ranker", where="aligned")
        src, tgt = aligned
    else:
        names = aligned.direction(source, target)
        src, tgt = (aligned.spaces[name] for name in names)
    run = named_task(task)
    if run is not bli:
        return run(**_arguments(run, task, src, tgt, test), **settings)
    if not isinstance(aligned, tuple | list):
        reranker = aligned.reranker(*names, rerank)
        if reranker is not None:
            if any(key in settings for key in _SEARCH):
                raise ConfigError("a re-ranker brings its own candidates", remedy="leave `score` or `rerank` out")
            settings["retriever"] = reranker.retriever(aligned, threads=threads, progress=progress)
        else:
            search = {key: settings.pop(key) for key in _SEARCH if key in settings}
            settings["retriever"] = aligned.retriever(*names, **search, threads=threads, progress=progress)
    return bli(src, tgt, as_lexicon(test, src.lang, tgt.lang), **settings, threads=threads, progress=progress)


def as_lexicon(
    given: Lexicon | str | Path | Iterable[tuple[str, str]], src_lang: str = "", tgt_lang: str = ""
) -> Lexicon:
    """A Lexicon of what was given: itself, a file or catalogue name, or pairs of words."""
    if isinstance(given, Lexicon):
        return given
    if isinstance(given, str | Path):
        return Lexicon.load(given, src_lang, tgt_lang)
    return Lexicon([(str(first), str(second)) for first, second in given], src_lang, tgt_lang)


def _arguments(run: Any, name: str, src: Space, tgt: Space, test: Any) -> dict[str, Any]:
    """By the names of the task's parameters: `src`, `tgt`, and the first other one for what is tested."""
    parameters = list(inspect.signature(run).parameters)
    if not {"src", "tgt"} < set(parameters):
        raise ConfigError(f"{name} is no task over two spaces", where="task", remedy=f"call it: isoglot.tasks.{name}")
    return {"src": src, "tgt": tgt, next(one for one in parameters if one not in ("src", "tgt")): test}
