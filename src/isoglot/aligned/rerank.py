"""Re-ranking: the best candidates of one or several aligners, scored again by a small model learned from the seeds.

The model is a softmax over a query's candidates of a weighted sum of features (`isoglot.aligned.rerank_features`),
with a penalty on the weights: a few dozen numbers, which a few hundred seed words suffice for. Seeds look too good
under an aligner that was fitted on them, so it learns from features of words the aligner has not seen: seeds are split
by source word, and each part is retrieved with aligners fitted on the others (cross-fitting, as in stacking:
Wolpert 1992, "Stacked generalization").

On disk, beside an alignment: `rerank.json`, `prior.safetensors` (see `isoglot.aligned.rerank_prior`), and `aligners/1`,
... for aligners beyond the first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.aligned.rerank_features import CandidateSearch, Queries, feature_names
from isoglot.aligned.rerank_model import RankingModel
from isoglot.aligned.rerank_prior import Prior, principal_directions, split_prior
from isoglot.aligned.rerank_training import cross_fit, learn, with_directions
from isoglot.aligned.shared import SharedSpaces
from isoglot.aligners import Aligner
from isoglot.errors import ConfigError, InputError, LexiconError
from isoglot.folders import FolderKind
from isoglot.lexicons import Lexicon, frequency_ranks
from isoglot.manifests import TensorFile
from isoglot.progress import Progress, silent
from isoglot.retrieval import Neighbours
from isoglot.spaces import Space

_KIND = FolderKind("isoglot-reranker", "a re-ranker", "`isoglot align` with re-ranking", manifest="rerank.json")
_PRIOR = "prior.safetensors"
#: More aligners than anybody would ask at once.
_MOST_VIEWS = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Reranker:
    """A learned order of candidates, for one direction.

    Args:
        source, target: the names of the two Spaces.
        model: weights of the features.
        candidates: how many candidates of a query are scored.
        neighbourhood: of CSLS.
        words: whether frequency and spelling are looked at, or the vectors alone.
        further: the two Spaces as aligned by methods beyond the first, whose candidates and scores count too.
        prior: for each target word, how likely a dictionary gives it at all, see `isoglot.aligned.rerank_prior`.
        info: how it was made, and `held_out`: P@1 on seed words that neither aligner nor model had seen, in the plain
            order and re-ranked.
        unseen: seed words, and the re-ranker as it is without having learned from them; not saved.
    """

    source: str
    target: str
    model: RankingModel
    candidates: int = 40
    neighbourhood: int = 10
    words: bool = True
    further: tuple[SharedSpaces, ...] = ()
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    prior: Prior | None = None
    unseen: tuple[tuple[str, ...], Reranker] | None = dataclasses.field(default=None, repr=False)

    @classmethod
    def train(
        cls,
        src: Space,
        tgt: Space,
        lexicon: Lexicon,
        aligners: Sequence[Aligner],
        *,
        candidates: int = 40,
        folds: int = 5,
        words: bool = True,
        penalty: float | None = None,
        neighbourhood: int = 10,
        seed: int = 0,
        rows: int | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Reranker:
        """Learn from the seeds of an alignment how to order its candidates.

        Args:
            src, tgt: the Spaces as they are before alignment.
            lexicon: the seed pairs. Words that are to test the result must not be among them.
            aligners: the first is the one whose alignment is re-ranked; others add candidates and opinions. Each is
                fitted once a fold; an unsupervised one only once.
            folds: parts of the seeds.
            words: False looks at vectors alone, for Spaces whose words are not spelled in any meaningful way (ids)
                and not in order of frequency.
            penalty: on the squared weights; by default the best on held-out seeds.
            rows: learn from candidates among the first rows of both Spaces alone; None for all.
        """
        _check(src, tgt, aligners, candidates, folds, penalty)
        usable = lexicon.restrict(src, tgt)
        sources = list(usable.by_source)
        if len(sources) < 2 * folds:
            raise LexiconError(
                f"a re-ranker needs at least {2 * folds} seed words in both spaces and has {len(sources)}",
                where=lexicon.source,
                remedy="give a larger lexicon, or leave re-ranking out",
            )
        seen = cross_fit(
            src,
            tgt,
            usable,
            aligners,
            candidates=candidates,
            folds=folds,
            words=words,
            neighbourhood=neighbourhood,
            seed=seed,
            rows=rows,
            threads=threads,
            progress=progress,
        )
        along = principal_directions(tgt.vectors)
        model, without, facts = learn(with_directions(seen, along), penalty)
        info = {
            "aligners": [{"method": a.method.name, "settings": dataclasses.asdict(a)} for a in aligners],
            "seed_words": len(sources),
            "folds": folds,
            "seed": seed,
            **facts,
        }

        def made(model: RankingModel, unseen: tuple[tuple[str, ...], Reranker] | None) -> Reranker:
            own, prior = split_prior(model, along)
            source, target = seen.direction
            return cls(
                source, target, own, candidates, neighbourhood, words, seen.further, info, prior=prior, unseen=unseen
            )

        last = tuple(word for word, part in zip(seen.words, seen.parts, strict=True) if part == seen.parts[-1])
        return made(model, (last, made(without, None)))

    def retriever(
        self, aligned: SharedSpaces, *, threads: int | None = None, progress: Progress = silent
    ) -> RerankedRetriever:
        """Search in `aligned` (of the first aligner) in the learned order; goes where a `Retriever` goes."""
        for name in (self.source, self.target):
            if name not in aligned.spaces:
                raise ConfigError(f"the re-ranker is for {self.source}-{self.target}, there is no {name!r} here")
            if name == self.target and self.prior is not None and len(self.prior) != len(aligned.spaces[name]):
                raise InputError(f"the re-ranker was made for another {name} vocabulary", remedy="train it again")
            for view in self.further:
                if list(view.spaces[name].words) != list(aligned.spaces[name].words):
                    raise InputError(f"the re-ranker was made for another {name} vocabulary", remedy="train it again")
        return RerankedRetriever(self, aligned, threads, progress)

    def describe(self) -> dict[str, Any]:
        """For a result's protocol: what was done to the plain order."""
        aligners = [entry["method"] for entry in self.info.get("aligners", [])]
        return {"candidates": self.candidates, "aligners": aligners, "words": self.words}

    def save(self, folder: str | Path) -> None:
        """Write the folder, replacing a re-ranker that is already there."""
        with _KIND.replacing(folder) as temporary:
            self.write_into(temporary)

    def write_into(self, folder: Path) -> None:
        """Write into an existing folder (for callers that make a larger folder in one piece)."""
        content = {
            "source": self.source,
            "target": self.target,
            "candidates": self.candidates,
            "neighbourhood": self.neighbourhood,
            "words": self.words,
            "further": len(self.further),
            "prior": self.prior is not None,
            "model": self.model.record(),
            "info": dict(self.info),
        }
        for number, view in enumerate(self.further, start=1):
            view.save(folder / "aligners" / str(number))
        if self.prior is not None:
            save_file({"prior": self.prior}, folder / _PRIOR)
        _KIND.write_manifest(folder, content)

    @classmethod
    def load(cls, folder: str | Path) -> Reranker:
        """Read what `save` wrote."""
        manifest = _KIND.read(folder)
        further = range(1, manifest.integer("further", least=0, most=_MOST_VIEWS) + 1)
        words = manifest.flag("words")
        try:
            model = RankingModel.from_record(manifest.items("model"))
        except (KeyError, TypeError, ValueError) as error:
            raise manifest.wrong(f'"model" is not a list of weights ({error})') from error
        if model.names != feature_names(1 + len(further), words=words):
            raise manifest.wrong("its features are not those of this release")
        return cls(
            manifest.text("source"),
            manifest.text("target"),
            model,
            manifest.integer("candidates", least=1),
            manifest.integer("neighbourhood", least=1),
            words,
            tuple(SharedSpaces.load(Path(folder) / "aligners" / str(number)) for number in further),
            manifest.mapping("info"),
            # Folders of earlier releases have none and do not say so.
            TensorFile.read(Path(folder) / _PRIOR).take("prior", (None,)).astype(np.float32)
            if "prior" in manifest and manifest.flag("prior")
            else None,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class RerankedRetriever:
    """Searches as a `Retriever` does, in the order of a `Reranker`.

    Scores are the candidates' shares of probability among those that were re-ranked; what stands below them keeps the
    plain order and has score 0.
    """

    reranker: Reranker
    aligned: SharedSpaces
    threads: int | None = None
    progress: Progress = silent

    @property
    def score(self) -> str:
        return "csls"

    @property
    def neighbourhood(self) -> int:
        return self.reranker.neighbourhood

    @property
    def backend(self) -> str:
        return "exact"

    @property
    def rerank(self) -> dict[str, Any]:
        """What a result's protocol says about it."""
        return self.reranker.describe()

    @property
    def shape(self) -> tuple[int, int]:
        """(source words, target words)."""
        return len(self.aligned.spaces[self.reranker.source]), len(self.aligned.spaces[self.reranker.target])

    def top(self, k: int, *, rows: npt.ArrayLike | None = None) -> Neighbours:
        """The k best targets of these source rows, or of all."""
        space = self.aligned.spaces[self.reranker.source]
        chosen = np.arange(len(space)) if rows is None else np.asarray(rows, dtype=np.int64)
        vectors = [view.spaces[self.reranker.source].vectors[chosen] for view in self._views]
        return self._order(Queries([space.words[row] for row in chosen], frequency_ranks(space)[chosen], vectors), k)

    def top_words(self, k: int, words: Sequence[str]) -> Neighbours:
        """The k best targets of these words, each of which must have a vector (see `SharedSpaces.vector`).

        A word outside the vocabulary counts as rarer than all within.
        """
        source = self.reranker.source
        space = self.aligned.spaces[source]
        ranks = frequency_ranks(space)
        rows = [next((space.index[form] for form in (word, word.lower()) if form in space), -1) for word in words]
        vectors = []
        for view in self._views:
            found = [view.vector(source, word) for word in words]
            missing = [word for word, vector in zip(words, found, strict=True) if vector is None]
            if missing:
                raise InputError(f"no vector for {missing[0]!r}", where=source)
            vectors.append(np.array(found, dtype=np.float32))
        return self._order(
            Queries(words, np.array([len(space) if row < 0 else ranks[row] for row in rows], dtype=np.int64), vectors),
            k,
        )

    @property
    def _views(self) -> list[SharedSpaces]:
        return [self.aligned, *self.reranker.further]

    def _order(self, queries: Queries, k: int) -> Neighbours:
        reranker = self.reranker
        if k < 1:
            raise ConfigError(f"k must be at least 1, not {k}", where="k")
        direction = (reranker.source, reranker.target)
        found = CandidateSearch.run(
            self._views,
            direction,
            queries,
            candidates=reranker.candidates,
            neighbourhood=reranker.neighbourhood,
            words=reranker.words,
            threads=self.threads,
            progress=self.progress,
        )
        shares = np.empty(found.candidates.shape)
        for rows, measured in found.blocks():
            self.progress("re-ranking", rows.start, len(queries))
            prior = None if reranker.prior is None else reranker.prior[found.candidates[rows]]
            shares[rows] = reranker.model.shares(measured, prior)
        self.progress("re-ranking", len(queries), len(queries))
        # Among equals the plain order, in which candidates come, decides.
        order = np.argsort(-shares, axis=1, kind="stable")
        indices = np.take_along_axis(found.candidates, order, axis=1)
        scores = np.take_along_axis(shares, order, axis=1).astype(np.float32)
        k = min(k, self.shape[1])
        if k > indices.shape[1]:
            plain = self.aligned.retriever(*direction, neighbourhood=reranker.neighbourhood, threads=self.threads)
            indices = _with_tail(indices, plain.top(k, vectors=queries.vectors[0]).indices)
            scores = np.pad(scores, ((0, 0), (0, k - scores.shape[1])))
        return Neighbours(indices[:, :k], scores[:, :k])


def _with_tail(first: npt.NDArray[np.int64], plain: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What was re-ranked, then what the plain order has beside it, as many as there are in `plain`."""
    return np.array(
        [list(dict.fromkeys([*a, *b]))[: len(b)] for a, b in zip(first.tolist(), plain.tolist(), strict=True)]
    )


def _check(
    src: Space, tgt: Space, aligners: Sequence[Aligner], candidates: int, folds: int, penalty: float | None
) -> None:
    if not (isinstance(src, Space) and isinstance(tgt, Space)):
        raise InputError("a re-ranker needs Spaces", remedy="wrap matrices in Space(...) and pass words=False")
    if not aligners:
        raise ConfigError("a re-ranker needs at least one aligner", where="aligners")
    if candidates < 2:
        raise ConfigError(f"must be at least 2, not {candidates}", where="candidates")
    if folds < 2:
        raise ConfigError(f"must be at least 2, not {folds}", where="folds")
    if penalty is not None and penalty <= 0:
        raise ConfigError(f"must be above 0, not {penalty}", where="penalty")
