"""What becomes of one language of `static_alignment`: a dictionary is induced, a map learned from it and judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import Aligner, Alignment, Identity, judged_given, judged_pairs, onto_target
from isoglot.criteria import measure
from isoglot.lexicons import Lexicon
from isoglot.pipelines.induction import OWN, Induction, induce_dictionary
from isoglot.pipelines.static_choice import Figures, StaticChoice
from isoglot.progress import Progress
from isoglot.resumable import run_key
from isoglot.spaces import IntVector, Space
from isoglot.tasks import bli

#: Criteria that can choose, and whether more of each is better.
CRITERIA: Mapping[str, bool] = {"semantic": True, "structural": False, "dictionary": True}
#: P@1 of induced pairs that the map has not seen. Only for pairs from other vectors: those that the vectors have found
#: themselves, where they are, speak for leaving them there.
BY_DICTIONARY = "dictionary"
#: Share of the induced pairs that the map which is judged does not see.
HELD_OUT = 0.2
#: With fewer induced pairs than these nothing is aligned.
MIN_PAIRS = 20


@dataclasses.dataclass(frozen=True, eq=False)
class LanguageJob:
    """One language (src), the pivot (tgt), and all that decides what becomes of it; see `align_static`.

    `others`: vectors of both to induce the dictionary on, if not their own.
    """

    src: Space
    tgt: Space
    others: tuple[Space, Space] | None
    inducer: str | Aligner
    aligner: Aligner
    criterion: str
    align_all: bool
    frequent: int
    seed: int

    def key(self) -> str:
        """Tells it from jobs with other vectors or settings."""
        spaces = [space.fingerprint() for space in (self.src, self.tgt, *(self.others or ()))]
        methods = settings_of(self.inducer), settings_of(self.aligner)
        rest = self.criterion, self.align_all, self.frequent, self.seed
        return run_key(self.src.lang, self.tgt.lang, spaces, methods, rest)

    def unaligned(self) -> Alignment:
        """The same normalisation and no map."""
        return Identity(normalise=self.aligner.normalise).fit(self.src, self.tgt)

    def run(self, checkpoint: Path | None, progress: Progress) -> tuple[StaticChoice, Alignment]:
        """The choice, and the map of the whole dictionary (none but the normalisation if there are too few pairs)."""
        src, tgt = self.src, self.tgt
        dictionary, induction = induce_dictionary(
            *(self.others or (src, tgt)),
            self.inducer,
            frequent=self.frequent,
            on=OWN if self.others is None else "other vectors",
            normalise=self.aligner.normalise,
            checkpoint=checkpoint,
            progress=progress,
        )
        pairs = dictionary.indices(src, tgt)
        induction = dataclasses.replace(induction, pairs=len(pairs))
        unaligned = self.unaligned()
        if len(pairs) < MIN_PAIRS:
            return StaticChoice(src.lang, induction, self.criterion, None, None, False), unaligned
        shuffled = pairs[np.random.default_rng(self.seed).permutation(len(pairs))]
        unseen, seen = np.split(shuffled, [round(HELD_OUT * len(pairs))])
        method = self.aligner.keeping_target()
        judged = onto_target(method.fit(src, tgt, seen, progress=progress))
        if self.criterion == BY_DICTIONARY:
            before, after = (self._precision(one, unseen, progress) for one in (unaligned, judged))
        else:
            others = np.setdiff1d(np.arange(min(self.frequent, len(src))), seen[:, 0])
            before, after = (self._measured(one, others) for one in (unaligned, judged))
        better = after > before if CRITERIA[self.criterion] else after < before
        whole = onto_target(method.fit(src, tgt, pairs, progress=progress))
        chance = self._chance(unaligned, pairs, induction) if better else None
        helps = better and chance is None
        told = self.align_all and not helps
        return StaticChoice(src.lang, induction, self.criterion, before, after, helps or told, chance, told), whole

    def tested(self, alignment: Alignment, test: Lexicon, progress: Progress) -> dict[str, Figures]:
        """P@1 both ways; `test` goes from the pivot to the language."""
        states = {"raw": (self.src, self.tgt)}
        for name, one in (("before", self.unaligned()), ("after", alignment)):
            states[name] = (one.transform(self.src, "src"), one.transform(self.tgt, "tgt"))
        figures: dict[str, Figures] = {}
        for there in (True, False):
            figure: dict[str, float | int | None] = {}
            for name, (of_src, of_tgt) in states.items():
                sides = (of_tgt, of_src, test) if there else (of_src, of_tgt, test.invert())
                result = bli(*sides, ks=(1,), bootstrap=0, progress=progress)[0]
                figure |= {name: result.value, "n": result.n}
            names = (self.tgt.lang, self.src.lang) if there else (self.src.lang, self.tgt.lang)
            figures["-".join(names)] = figure
        return figures

    def _chance(self, unaligned: Alignment, pairs: IntVector, induction: Induction) -> str | None:
        """Why what was found may be no more than chance, if it may.

        Neighbours are found between any two spaces, and a map brings them closer, so that a criterion alone says yes.
        """
        if induction.warning is not None:  # by the method, which has compared itself with chance
            return induction.warning
        X, Y = unaligned.transform(self.src, "src").vectors, unaligned.transform(self.tgt, "tgt").vectors
        # Pairs from other vectors are evidence of their own, also where these vectors would find others by themselves.
        verdict = (judged_pairs if induction.on == OWN else judged_given)(X, Y, pairs, seed=self.seed)
        return None if verdict.aligned else verdict.reason

    def _measured(self, one: Alignment, rows: IntVector) -> float:
        """The criterion over these words of the source and the frequent ones of the target."""
        X, Y = one.transform(self.src, "src").vectors, one.transform(self.tgt, "tgt").vectors
        return float(getattr(measure(X[rows], Y[: self.frequent]), self.criterion))

    def _precision(self, one: Alignment, pairs: IntVector, progress: Progress) -> float:
        """P@1 of these pairs by CSLS."""
        words = [(self.src.words[i], self.tgt.words[j]) for i, j in pairs]
        lexicon = Lexicon(words, self.src.lang, self.tgt.lang)
        spaces = one.transform(self.src, "src"), one.transform(self.tgt, "tgt")
        return bli(*spaces, lexicon, ks=(1,), bootstrap=0, progress=progress)["P@1"]


def settings_of(method: str | Aligner) -> Any:
    """As plain data."""
    return method if isinstance(method, str) else {"method": method.method.name, **dataclasses.asdict(method)}
