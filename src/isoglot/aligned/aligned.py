"""`Aligned`: what a person holds after aligning: translate, look around, take a dictionary, measure, export, save."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, overload

from isoglot.aligned.calibration import Calibration, calibrations
from isoglot.aligned.card import static_model_card
from isoglot.aligned.export import export_spaces
from isoglot.aligned.induction import InducedLexicon, induce
from isoglot.aligned.rerank import Reranker
from isoglot.aligned.shared import SharedSpaces
from isoglot.aligned.translation import Translation, translate
from isoglot.card_content import HERE
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.folders import Manifest
from isoglot.lexicons import Lexicon
from isoglot.manifests import Fields
from isoglot.plugins import late
from isoglot.progress import Progress, silent
from isoglot.retrieval import Retriever
from isoglot.small_tables import html_table
from isoglot.spaces import Space
from isoglot.suggest import hint


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Aligned(SharedSpaces):
    """Languages in one vector space, as `isoglot.align` returns and `isoglot.load` reads them.

    Args:
        rerankers: by (source name, target name), where any were trained; each serves its own direction only.
        calibrations: of confidences, by (source name, target name, whether re-ranked), where pairs were held out.

    >>> import numpy as np
    >>> from isoglot.aligners import Procrustes
    >>> en, fr = Space("en", ["cat", "dog"], np.eye(2)), Space("fr", ["chat", "chien"], np.eye(2)[::-1])
    >>> aligned = Aligned.pair(Procrustes(normalise="unit").fit(en, fr, [(0, 0), (1, 1)]), en, fr)
    >>> aligned
    Aligned(en: 2 words, fr: 2 words; 2 dimensions, procrustes)
    >>> aligned.translate("dog", k=1)
    dog (en) -> chien (fr) 1.00
    >>> aligned.lexicon().pairs
    (('cat', 'chat'), ('dog', 'chien'))
    """

    rerankers: Mapping[tuple[str, str], Reranker] = dataclasses.field(default_factory=dict)
    calibrations: Mapping[tuple[str, str, bool], Calibration] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        languages = ", ".join(f"{name}: {len(space):,} words" for name, space in self.spaces.items())
        facts = [f"{next(iter(self.spaces.values())).dim} dimensions", *self._facts()]
        return f"Aligned({languages}; {', '.join(facts)})"

    def _repr_html_(self) -> str:
        rows = [[name, f"{len(space):,}", ", ".join(space.words[:5])] for name, space in self.spaces.items()]
        dim = next(iter(self.spaces.values())).dim
        return html_table(
            f"Aligned: {', '.join([f'{dim} dimensions', *self._facts()])}", ["language", "words", "first words"], rows
        )

    def __getitem__(self, name: str) -> Space:
        """The mapped Space of a language."""
        if name not in self.spaces:
            raise ConfigError(f"no language {name!r} here", remedy=f"there are: {', '.join(self.spaces)}")
        return self.spaces[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.spaces)

    def __len__(self) -> int:
        return len(self.spaces)

    @overload
    def translate(self, words: str, k: int = ..., **settings: Any) -> Translation: ...
    @overload
    def translate(self, words: Iterable[str], k: int = ..., **settings: Any) -> list[Translation]: ...
    def translate(self, words: str | Iterable[str], k: int = 5, **settings: Any) -> Translation | list[Translation]:
        """The k best translations of one word, or of each of several.

        Args:
            settings: `source` and `target` languages, `score`, `rerank`; see `isoglot.aligned.translate`.
        """
        answers = translate(self, words, k=k, **settings)
        return answers[0] if isinstance(words, str) else answers

    def neighbours(self, word: str, k: int = 10, *, source: str | None = None) -> list[tuple[str, str, float]]:
        """The nearest words of all languages by cosine, as (language, word, cosine), nearest first.

        Args:
            source: the word's language; by default the first language that has the word.
        """
        if source is not None:
            self.direction(source)
        found = [(name, self.vector(name, word)) for name in ([source] if source else self.spaces)]
        name, vector = next(((name, v) for name, v in found if v is not None), (None, None))
        if name is None or vector is None:
            known = [one for space in self.spaces.values() for one in space.words[:50_000]]
            raise InputError(f"{word!r} has no vector here", remedy=hint(word, known, "try another spelling"))
        near: list[tuple[str, str, float]] = []
        for other, space in self.spaces.items():
            one = Retriever(vector[None], space.vectors, score="cosine")
            rows = one.top(min(k + 1, len(space)))
            near += [
                (other, space.words[row], float(score))
                for row, score in zip(rows.indices[0], rows.scores[0], strict=True)
                if row >= 0 and (other, space.words[row]) != (name, word)
            ]
        return sorted(near, key=lambda one: -one[2])[:k]

    def lexicon(self, **settings: Any) -> InducedLexicon:
        """A dictionary: the best translations of each source word, whose `entries` have scores and confidences.

        Args:
            settings: `k` translations, `mutual`, `limit`, `minimum` confidence, `skip`, `source`, `target`, ...; see
                `isoglot.aligned.induce`.
        """
        return induce(self, **settings)

    def calibrated(
        self,
        pairs: Lexicon,
        *,
        seen: Lexicon | None = None,
        both: bool = True,
        source: str | None = None,
        target: str | None = None,
        progress: Progress = silent,
    ) -> Aligned:
        """The same spaces with confidences calibrated on pairs. Where these are too few, confidences stay as they are.

        Args:
            seen: what was learned from; its words are not asked.
            both: also the other direction, for which the pairs must list all sources of a target.
        """
        source, target = self.direction(source, target)
        found = calibrations(self, pairs, source, target, seen=seen, both=both, progress=progress)
        return dataclasses.replace(self, calibrations={**self.calibrations, **found})

    def evaluate(self, test: Lexicon | str | Path | Iterable[tuple[str, str]], **settings: Any) -> Any:
        """How good it is on a test lexicon: results by metric, such as `["P@1"]`; see `isoglot.evaluate`."""
        return late("isoglot.tasks:evaluate")(self, test, **settings)

    def export(self, path: str | Path, format: str = "text", *, progress: Progress = silent) -> list[Path]:
        """Write the aligned vectors for other tools; returns what was written.

        Args:
            path: a folder.
            format: "text" or "binary" (word2vec's), "kv" (gensim's KeyedVectors), one file for each language; or
                "static-model", which sentence-transformers and model2vec load as one cross-lingual model.
        """
        card = static_model_card(HERE, self.spaces, self.alignments, self.info)
        return export_spaces(self.spaces, Path(path), format, card=card, progress=progress)

    def with_reranker(self, reranker: Reranker) -> Aligned:
        """The same spaces with this re-ranker for its direction, in place of an earlier one."""
        key = self.direction(reranker.source, reranker.target)
        return dataclasses.replace(self, rerankers={**self.rerankers, key: reranker})

    def reranker(self, source: str, target: str, wanted: bool | None = None) -> Reranker | None:
        """The re-ranker of this direction: None asks for it if there is one, True insists, False leaves it out."""
        found = None if wanted is False else self.rerankers.get((source, target))
        if wanted and found is None:
            raise ConfigError(
                f"no re-ranker for {source}-{target} here", remedy="align again with `rerank`, or leave re-ranking out"
            )
        return found

    def _facts(self) -> list[str]:
        """Method and first figure, where they are known."""
        methods = list(dict.fromkeys(alignment.method for alignment in self.alignments.values()))
        results = self.info.get("results") or []
        figures = [f"{results[0]['metric']} {results[0]['value']:.3f}"] if results else []
        return [*methods, *(["re-ranked"] if self.rerankers else []), *figures]

    def _write_more(self, folder: Path) -> dict[str, Any]:
        for (source, target), reranker in self.rerankers.items():
            place = folder / "rerank" / f"{source}-{target}"
            place.mkdir(parents=True)
            reranker.write_into(place)
        calibrations = [
            {"source": source, "target": target, "rerank": rerank, **one.record()}
            for (source, target, rerank), one in self.calibrations.items()
        ]
        return {"rerankers": [list(key) for key in self.rerankers], "calibrations": calibrations}

    @classmethod
    def _read_more(cls, folder: Path, manifest: Manifest, spaces: Mapping[str, Space]) -> dict[str, Any]:
        found, names = {}, list(spaces)
        for source, target in manifest.pairs("rerankers", among=names):
            place = folder / "rerank" / f"{source}-{target}"
            found[source, target] = reranker = Reranker.load(place)
            if (reranker.source, reranker.target) != (source, target):
                raise FormatError(f"is for {reranker.source}-{reranker.target}", where=str(place))
            if reranker.prior is not None and len(reranker.prior) != len(spaces[target]):
                raise FormatError(f"is for another vocabulary of {target}", where=str(place), remedy="align again")
        # Folders of earlier releases have none.
        listed = manifest.items("calibrations") if "calibrations" in manifest else []
        calibrations = {}
        for record in listed:
            if not isinstance(record, dict):
                raise manifest.wrong('"calibrations" is not a list of objects')
            fields = Fields(record, manifest.where, remedy=manifest.remedy)
            source, target = fields.one_of("source", names), fields.one_of("target", names)
            calibrations[source, target, fields.flag("rerank")] = Calibration.from_record(fields)
        return {"rerankers": found, "calibrations": calibrations}
