"""Everything a run reads: parallel text, monolingual text and static vectors, each for the objectives that use it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigError
from isoglot.finetuning.batches import Drawn, TextBatch
from isoglot.finetuning.monolingual_text import TextCorpus, TextSampler
from isoglot.finetuning.objectives.base import Objective
from isoglot.finetuning.objectives.mlm import MLM
from isoglot.finetuning.parallel_text import Corpus, Sampler
from isoglot.finetuning.settings import TrainingSettings
from isoglot.finetuning.static_words import WordSampler
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, Space

#: What objectives need that do not look at words.
_WHOLE_LINES = frozenset({"sentences", "source", "start", "teacher"})
#: Tokens of a word at most: few have more, and one of them would pad a thousand others.
_LONGEST_WORD = 32


@dataclasses.dataclass(frozen=True, eq=False)
class Sources:
    """Texts and vectors of a run; any may be missing.

    Args:
        static: vectors for each language, all in one space.
    """

    corpora: Sequence[Corpus] = ()
    texts: Sequence[TextCorpus] = ()
    static: Mapping[str, Space] = dataclasses.field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """What distinguishes these sources from others."""
        texts = {one.name: [one.digest, len(one.rows), len(one.held_out)] for one in self.corpora}
        texts |= {one.lang: [one.digest, len(one.rows), len(one.held_out)] for one in self.texts}
        return {"texts": texts, "vectors": {lang: space.fingerprint() for lang, space in self.static.items()}}

    def check(self, objectives: Sequence[Objective], width: int) -> None:
        """Raise if an objective lacks its data, or data lacks an objective.

        Parallel text needs no objective: it can be there for evaluation only.
        """
        plain = [one.objective.name for one in objectives if _plain(one)]
        static = [one for one in objectives if "static" in one.needs]
        pairs = [one.objective.name for one in objectives if one not in static and not (self.texts and _plain(one))]
        if self.texts and not plain:
            raise ConfigError("no objective reads monolingual text", where="text", remedy="add mlm to the objectives")
        if self.static and not static:
            remedy = "add static_dcca or static_mse to the objectives"
            raise ConfigError("no objective uses static vectors", where="static", remedy=remedy)
        if static and not self.static:
            remedy = "set `static`: language = vectors"
            raise ConfigError(f"{static[0].objective.name} needs static vectors", where="objectives", remedy=remedy)
        if pairs and not self.corpora:
            remedy = "set `text`: language = file" if pairs == plain else "set `parallel`: language = text"
            needed = "text" if pairs == plain else "parallel text"
            raise ConfigError(f"{pairs[0]} needs {needed}", where="objectives", remedy=remedy)
        for one in static:
            for space in self.static.values():
                one.check_dimensions(width, space.dim)


class Mixture:
    """Batches of all sources, each as often as its objectives need it.

    A step has `accumulation` draws. Each draw has a batch for every language pair and for every language with
    monolingual text, which share the blocks of a step. Words with static vectors come once per step, because a small
    batch of them correlates with anything.
    """

    def __init__(
        self,
        sources: Sources,
        objectives: Sequence[Objective],
        settings: TrainingSettings,
        tokenizer: Any,
        *,
        longest: int,
        teach: Callable[[Sequence[str]], FloatMatrix] | None = None,
        work: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        needs = frozenset().union(*(one.needs for one in objectives))
        self._accumulation = settings.accumulation
        self._pairs: Sampler | None = None
        self._texts: TextSampler | None = None
        self._words: WordSampler | None = None
        if sources.static:
            most = min(settings.max_length, longest, _LONGEST_WORD)
            self._words = WordSampler(
                sources.static, tokenizer, words=settings.words, max_length=most, seed=settings.seed
            )
        if sources.texts:
            each = round(settings.blocks / (len(sources.texts) * settings.accumulation))
            self._texts = TextSampler(
                sources.texts,
                tokenizer,
                blocks=max(1, each),
                length=min(settings.block_length, longest),
                seed=settings.seed,
            )
        if any("static" not in one.needs and not (sources.texts and _plain(one)) for one in objectives):
            fitting = dataclasses.replace(settings, max_length=min(settings.max_length, longest))
            self._pairs = Sampler(
                sources.corpora,
                tokenizer,
                fitting,
                links="links" in needs,
                idf="idf" in needs,
                whole=needs <= _WHOLE_LINES,
                teach=teach if "teacher" in needs else None,
                work=work,
                progress=progress,
            )

    @property
    def pairs_of_a_draw(self) -> int:
        """Number of language pairs to learn from."""
        return 0 if self._pairs is None else len(self._pairs.corpora)

    @property
    def draws_of_an_epoch(self) -> int:
        """Draws in one pass over the largest parallel text, else the largest monolingual text, else all words."""
        if self._pairs is not None:
            return self._pairs.batches_of_an_epoch
        if self._texts is not None:
            return self._texts.batches_of_an_epoch
        assert self._words is not None
        return self._words.batches_of_an_epoch * self._accumulation

    def draw(self, number: int) -> list[Drawn]:
        """Draw `number`, counted from 0."""
        share = 1 / self._accumulation
        drawn = []
        if self._pairs is not None:
            drawn += [dataclasses.replace(one, share=share) for one in self._pairs.draw(number)]
        if self._texts is not None:
            share /= len(self._texts.corpora)
            drawn += [dataclasses.replace(one, share=share) for one in self._texts.draw(number)]
        step, at = divmod(number, self._accumulation)
        if self._words is not None and not at:
            drawn.append(self._words.draw(step))
        return drawn

    def held_out(self) -> list[TextBatch]:
        """Monolingual text to evaluate on."""
        return [] if self._texts is None else self._texts.held_out()


def _plain(objective: Objective) -> bool:
    return isinstance(objective, MLM) and objective.monolingual
