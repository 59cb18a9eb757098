"""Methods compared on several pairs of languages in one call: a table for each pair, and one of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.aligners import Aligner
from isoglot.errors import ConfigError
from isoglot.pipelines.align import as_space
from isoglot.pipelines.compare import Contender, GivenLexicon, compare, contenders
from isoglot.pipelines.comparison import Comparison
from isoglot.progress import Progress, silent
from isoglot.small_tables import TableView
from isoglot.spaces import Space
from isoglot.suggest import unknown


@dataclasses.dataclass(frozen=True, repr=False)
class Comparisons(TableView):
    """A comparison for each pair of languages: `comparisons["en-fr"]` is one, and so is each item."""

    pairs: Mapping[tuple[str, str], Comparison]

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.pairs.values())

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, pair: str) -> Comparison:
        named = self.named()
        if pair not in named:
            raise unknown("pair", pair, named)
        return named[pair]

    def named(self) -> dict[str, Comparison]:
        """By names such as "en-fr"."""
        return {"-".join(pair): comparison for pair, comparison in self.pairs.items()}

    @property
    def title(self) -> str:
        return f"{next(iter(self)).metric} on {len(self)} pairs of languages"

    def table(self) -> tuple[list[str], list[list[str]], list[int]]:
        """Head, rows and which columns are numbers: a row for each method, best mean over all pairs first.

        With several runs a figure has their standard deviation beside it. A method that failed on a pair has no mean.
        """
        named = self.named()
        lines = []
        for label in dict.fromkeys(row.label for one in self for row in one):
            rows = [next((row for row in one if row.label == label), None) for one in self]
            means = [None if row is None else row.mean for row in rows]
            cells = [
                "-" if row is None or row.mean is None
                else f"{row.mean:.3f}" + ("" if row.deviation is None else f" ± {row.deviation:.3f}")
                for row in rows
            ]  # fmt: skip
            known = [mean for mean in means if mean is not None]
            mean = float(np.mean(known)) if len(known) == len(means) else None
            lines.append((mean, sum(known), [label, *cells, "-" if mean is None else f"{mean:.3f}"]))
        lines.sort(key=lambda line: (line[0] is None, -(line[0] or 0.0), -line[1]))
        return ["method", *named, "mean"], [cells for *_, cells in lines], list(range(1, len(named) + 2))

    def record(self) -> dict[str, Any]:
        head, rows, _ = self.table()
        return {"pairs": [one.record() for one in self], "summary": {"head": head, "rows": rows}}


def compare_pairs(
    spaces: Mapping[str, Space | str | Path],
    lexicons: Mapping[str | tuple[str, str], GivenLexicon],
    methods: str | Aligner | Sequence[str | Aligner | Contender] | None = None,
    *,
    tests: Mapping[str | tuple[str, str], GivenLexicon] = {},
    folder: str | Path | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> Comparisons:
    """`compare` on each pair of languages that has a lexicon.

    Args:
        spaces: by language: Spaces, files of vectors, or catalogue names.
        lexicons: by pair, "en-fr" or ("en", "fr"), which is also the direction.
        tests: lexicons of their own to test on, by pair.
        folder: where finished runs are kept, in a folder for each pair.
        settings: `runs`, `most_pairs`, `held_out`, ...; see `compare`.

    >>> from isoglot.simulate import simulate_pair
    >>> made = simulate_pair(n_words=400, dim=8, noise=0.3, seed=0)
    >>> spaces, lexicons = {"aa": made.src, "bb": made.tgt}, {"aa-bb": made.lexicon, "bb-aa": made.lexicon.invert()}
    >>> comparisons = compare_pairs(spaces, lexicons, ["procrustes", "identity"])
    >>> list(comparisons.named()), next(iter(comparisons["bb-aa"])).label
    (['aa-bb', 'bb-aa'], 'procrustes')
    """
    chosen = contenders(methods)
    given = {_pair(name, spaces): lexicon for name, lexicon in lexicons.items()}
    gold = {_pair(name, spaces): lexicon for name, lexicon in tests.items()}
    if not given:
        raise ConfigError("no pair of languages to compare on", where="lexicons", remedy="give a lexicon for each pair")
    for pair in gold:
        if pair not in given:
            raise ConfigError(f"a test for {'-'.join(pair)}, which has no lexicon", where="tests")
    used = dict.fromkeys(lang for pair in given for lang in pair)
    opened = {lang: as_space(spaces[lang], lang, progress=progress) for lang in used}
    outcomes = {}
    for done, (pair, lexicon) in enumerate(given.items()):
        progress("comparing pairs", done, len(given))
        place = None if folder is None else Path(folder) / "-".join(pair)
        outcomes[pair] = compare(
            opened[pair[0]], opened[pair[1]], lexicon, chosen,
            test=gold.get(pair), folder=place, progress=progress, **settings,
        )  # fmt: skip
    progress("comparing pairs", len(given), len(given))
    return Comparisons(outcomes)


def _pair(name: str | tuple[str, str], languages: Mapping[str, Any]) -> tuple[str, str]:
    """("zh-Hant", "en") of "zh-Hant-en", if these are languages."""
    splits = [(name[:i], name[i + 1 :]) for i, c in enumerate(name) if c == "-"] if isinstance(name, str) else [name]
    for source, target in splits:
        if source in languages and target in languages and source != target:
            return source, target
    shown = name if isinstance(name, str) else "-".join(name)
    raise ConfigError(f"{shown!r} is no pair of these languages", remedy=f"there are: {', '.join(languages)}")
