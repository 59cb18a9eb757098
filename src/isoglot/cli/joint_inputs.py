"""How the arguments of `isoglot joint` become a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from isoglot.cli.console import print_json, say
from isoglot.cli.inputs import named_text, open_lexicon, parse_aligner
from isoglot.errors import ConfigError, InputError
from isoglot.lexicons import Lexicon
from isoglot.pipelines import JointJob
from isoglot.progress import Progress
from isoglot.wordvectors import CorpusSettings, TextFile, Training, estimate

__all__ = ["read_job", "read_text_argument", "tell_cost"]


def read_job(
    texts: Sequence[str],
    lexicons: Sequence[str],
    tests: Sequence[str],
    refine: str | None,
    settings: Sequence[str],
    gamma: str,
    *,
    variant: str,
    pivot: str | None,
    model: str,
    dim: int,
    epochs: int,
    window: int,
    min_count: int,
    limit: int,
    subwords: bool,
    segmenter: str,
    lower: bool,
    encoding: str | None,
    balance: bool,
    seed: int,
    progress: Progress,
) -> JointJob:
    files = [read_text_argument(text, encoding) for text in texts]
    langs = [file.lang for file in files]
    if len(set(langs)) < len(langs):
        raise ConfigError(
            f"two texts are named {next(lang for lang in langs if langs.count(lang) > 1)!r}",
            remedy="joint training needs different languages; name them as en=FILE fr=FILE",
        )
    _refuse_copies(files)
    method = refine or ("rcsls" if lexicons else "none")
    if settings and method == "none":
        raise ConfigError("--set is for the method of --refine, and there is none")
    aligner = None
    if method != "none":
        aligner = parse_aligner(method, settings, seed=seed, normalise=None, match_dimensions=False)
    return JointJob(
        files,
        _lexicons(lexicons, langs, lower, progress),
        _lexicons(tests, langs, lower, progress),
        aligner,
        _gamma(gamma),
        variant,
        pivot,
        CorpusSettings(
            min_count=min_count,
            max_words=limit,
            lines_of=langs[-1] if balance and len(langs) > 1 else None,
            segmenter=segmenter,
            lower=lower,
            seed=seed,
        ),
        Training(model=model, dim=dim, epochs=epochs, window=window, subwords=subwords, seed=seed),
    )


def read_text_argument(text: str, encoding: str | None) -> TextFile:
    """`fr=presse.txt`, or a file whose name tells the language, such as `news.fr.txt`."""
    lang, path = named_text(text)
    if path.is_dir():
        raise InputError("is a folder, not a text", where=str(path))
    if not path.is_file():
        raise InputError(
            "is not a file on disk, and text is read twice", where=str(path), remedy="write it to a file first"
        )
    return TextFile(lang, path, encoding)


def tell_cost(
    texts: Sequence[TextFile], corpus: CorpusSettings, training: Training, threads: int | None, json: bool
) -> None:
    """What training would take, on standard error or as JSON."""
    cost = estimate(texts, corpus, training, threads=threads)
    if json:
        print_json(dataclasses.asdict(cost))
        return
    for lang, words in cost.running_words.items():
        say(f"{lang}: about {words:,} running words")
    say(f"about {cost.minutes:.1f} minutes of training at {cost.words_per_second:,.0f} running words/s")


def _refuse_copies(files: Sequence[TextFile]) -> None:
    for i, file in enumerate(files):
        for other in files[:i]:
            if file.path.samefile(other.path):
                raise InputError(f"is given twice, as {other.lang} and as {file.lang}", where=str(file.path))


def _lexicons(
    given: Sequence[str], langs: Sequence[str], lower: bool, progress: Progress
) -> dict[tuple[str, str], Lexicon]:
    found: dict[tuple[str, str], Lexicon] = {}
    for text in given:
        name, equals, file = text.partition("=")
        if equals and not Path(text).exists():
            source, target = _two_languages(name, langs)
            if not target:
                raise ConfigError(f"a lexicon is named as en-fr=FILE, not {text!r}")
        elif len(langs) == 2:
            (source, target), file = (langs[0], langs[1]), text
        else:
            raise ConfigError("with more than two texts a lexicon needs its languages", remedy=f"en-fr={text}")
        lexicon = open_lexicon(file, fold_case=lower, progress=progress, languages=(source, target))
        if (source, target) in found or (target, source) in found:
            raise ConfigError(f"two lexicons for {source}-{target}", remedy="join the files")
        found[source, target] = lexicon
    return found


def _two_languages(name: str, langs: Sequence[str]) -> tuple[str, str]:
    """`zh-Hant-en` is zh-Hant and en if these are the languages."""
    splits = [(name[:i], name[i + 1 :]) for i, letter in enumerate(name) if letter == "-"]
    known = [split for split in splits if split[0] in langs and split[1] in langs]
    return next(iter([*known, *splits]), (name, ""))


def _gamma(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"--gamma takes auto or a number from .5 to 1, not {text!r}") from None
