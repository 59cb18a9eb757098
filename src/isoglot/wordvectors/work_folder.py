"""Training that can be killed and started again: a work folder holds the corpus, the state and the finished vectors."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from isoglot.files import remove_kept
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix
from isoglot.text import read_text, segmenter
from isoglot.verified import keep_vectors, kept_vectors
from isoglot.wordvectors.corpus import LONGEST_LINE, Corpus, CorpusSettings, TextFile
from isoglot.wordvectors.training import Training, Translations, train, training_key

Lexicons = Mapping[tuple[str, str], Lexicon]
_CORPUS, _VECTORS, _STATE = "corpus", "vectors.safetensors", "training.checkpoint"
_SAMPLE_WORDS = 200_000


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A corpus, a vector for each of its words, and how long training took (0: it was there already)."""

    corpus: Corpus
    vectors: FloatMatrix
    seconds: float


def train_texts(
    texts: Sequence[TextFile],
    folder: str | Path,
    corpus_settings: CorpusSettings,
    settings: Training,
    lexicons: Lexicons | None = None,
    *,
    threads: int | None = None,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda line: None,
) -> Trained:
    """Train, resume, or reopen what the same texts and settings have left in `folder`."""
    folder = Path(folder)
    corpus = Corpus.build(texts, folder / _CORPUS, corpus_settings, progress=progress)
    needs_pairs = settings.replace > 0 or settings.translate
    table = translations_of(corpus, lexicons or {}) if needs_pairs else None
    key = training_key(corpus, settings, table)
    finished = folder / _VECTORS
    vectors = _finished(finished, key)
    if vectors is not None:
        tell(f"training was finished earlier: {finished}")
        return Trained(corpus, vectors, 0.0)
    started = time.perf_counter()
    vectors = train(
        corpus,
        settings,
        translations=table,
        checkpoint=folder / _STATE,
        threads=threads,
        progress=progress,
        resumed=tell,
    )
    keep_vectors(finished, vectors, {"key": key})
    return Trained(corpus, vectors, time.perf_counter() - started)


def remove_work(folder: str | Path) -> None:
    """Remove what `train_texts` left in `folder`, and the folder if it holds nothing else."""
    remove_kept(folder, (_CORPUS, _VECTORS, _STATE))


def translations_of(corpus: Corpus, lexicons: Lexicons) -> Translations:
    """The pairs of these lexicons, by (source language, target language), as rows of the corpus."""
    pairs: list[tuple[int, int]] = []
    for (source, target), lexicon in lexicons.items():
        rows = [_rows_of(corpus, lang) for lang in (source, target)]
        pairs += [(rows[0][a], rows[1][b]) for a, b in lexicon if a in rows[0] and b in rows[1]]
    return Translations.of(len(corpus.words), np.array(pairs, dtype=np.int64).reshape(-1, 2))


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a training run would take, extrapolated from the first lines of each text.

    `running_words` are those of the texts; the time counts lines that are left out or repeated.
    """

    running_words: dict[str, int]
    words_per_second: float
    minutes: float

    def sentence(self) -> str:
        """For people.

        >>> Cost({"en": 60_000, "fr": 70_000}, 250_000.0, 0.04).sentence()
        'about 60,000 running words of en, 70,000 of fr: 0.0 minutes of training at 250,000 words/s'
        """
        (first, words), *others = self.running_words.items()
        texts = [f"{words:,} running words of {first}", *(f"{count:,} of {lang}" for lang, count in others)]
        return (
            f"about {', '.join(texts)}: {self.minutes:.1f} minutes of training at {self.words_per_second:,.0f} words/s"
        )


def estimate(
    texts: Sequence[TextFile],
    corpus_settings: CorpusSettings,
    settings: Training,
    *,
    threads: int | None = None,
) -> Cost:
    """Train on a sample for a moment and extrapolate; nothing is left behind."""
    with tempfile.TemporaryDirectory() as place:
        totals, line_totals, samples = {}, {}, []
        for text in texts:
            words, share, lines = _sample(text, corpus_settings.segmenter)
            totals[text.lang] = round(words / share)
            line_totals[text.lang] = max(len(lines), words / LONGEST_LINE) / share
            sample = Path(place) / f"{text.lang}.txt"
            sample.write_text("\n".join(lines) + "\n", "utf-8")
            samples.append(TextFile(text.lang, sample))
        small = dataclasses.replace(corpus_settings, min_count=1)
        plain = dataclasses.replace(settings, epochs=1, replace=0.0, translate=False)
        corpus = Corpus.build(samples, Path(place) / "corpus", small)
        train(dataclasses.replace(corpus, lines=tuple(own[:10] for own in corpus.lines)), plain, threads=1)  # compile
        started = time.perf_counter()
        train(corpus, plain, threads=threads)
        speed = corpus.total / (time.perf_counter() - started)
    trained = sum(totals.values())
    if corpus_settings.lines_of is not None:
        wanted = line_totals[corpus_settings.lines_of]
        trained = round(sum(words * wanted / line_totals[lang] for lang, words in totals.items()))
    return Cost(totals, speed, settings.epochs * trained / speed / 60)


def _sample(text: TextFile, segmented_by: str) -> tuple[int, float, list[str]]:
    """Running words of the first lines, the share of the file they are, and the lines."""
    seen = [0.0, 1.0]

    def note(step: str, done: float, total: float | None) -> None:
        seen[:] = [done, total or done]

    split = segmenter(segmented_by, text.lang)
    lines: list[str] = []
    words = 0
    for block in read_text(text.path, encoding=text.encoding, progress=note):
        lines += block
        words += sum(len(split(line)) for line in block)
        if words >= _SAMPLE_WORDS:
            break
    return words, max(seen[0], 1) / max(seen[1], 1), lines


def _rows_of(corpus: Corpus, lang: str) -> dict[str, int]:
    column = corpus.langs.index(lang)
    return {corpus.words[row]: int(row) for row in np.flatnonzero(corpus.counts[:, column])}


def _finished(path: Path, key: str) -> FloatMatrix | None:
    found = kept_vectors(path)
    return found[0] if found is not None and found[1].get("key") == key else None  # else it is trained again
