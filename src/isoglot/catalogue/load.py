"""Catalogue data as the objects the rest of Isoglot works with."""

from __future__ import annotations

from isoglot.catalogue.fetching import fetch
from isoglot.catalogue.table import entry, has_entry
from isoglot.errors import ConfigError
from isoglot.lexicons import Lexicon
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.text import ParallelText, read_lines


def load_vectors(name: str, *, limit: int | None = None, progress: Progress = silent) -> Space:
    """Vectors by language ("fr") or by full name ("vectors/ru-news", "fasttext/cc.de"); fetched if need be."""
    found = entry(name if "/" in name else f"vectors/{name}")
    if found.kind != "vectors":
        raise ConfigError(f"{found.name} holds no vectors", where="catalogue")
    return Space.load(fetch(found, progress), lang=found.languages[0], limit=limit, progress=progress)


def load_lexicon(src: str, tgt: str, *, name: str | None = None, progress: Progress = silent) -> Lexicon:
    """The catalogue's dictionary from `src` to `tgt`, reversed if only the other direction is there.

    `name`: another dictionary than the first choice, e.g. "lexicon/en-fi-freedict" or "muse/en-fr.train".
    """
    wanted = name or f"lexicon/{src}-{tgt}"
    if name is None and not has_entry(wanted) and has_entry(f"lexicon/{tgt}-{src}"):
        return load_lexicon(tgt, src, progress=progress).invert()
    found = entry(wanted)
    lexicon = Lexicon.load(fetch(found, progress), *found.languages)
    if found.languages == (src, tgt):
        return lexicon
    if found.languages == (tgt, src):
        return lexicon.invert()
    raise ConfigError(f"{found.name} is not a dictionary between {src} and {tgt}", where="catalogue")


def load_parallel(
    src: str, tgt: str, *, name: str | None = None, short: bool = False, progress: Progress = silent
) -> ParallelText:
    """Parallel text of two languages: sentences of four words or more, or with `short` the shorter ones.

    `name`: another text than the messages of a program, e.g. "parallel/en-de-help"; reversed if need be.
    """
    found = entry(name or f"parallel/{src}-{tgt}")
    if found.kind != "parallel" or set(found.languages) != {src, tgt}:
        raise ConfigError(f"{found.name} is not a text of {src} and {tgt}", where="catalogue")
    folder = fetch(found, progress)
    first, second = found.languages
    stem = "short" if short else "text"
    text = ParallelText.load(folder / f"{stem}.{first}", folder / f"{stem}.{second}", first, second)
    return text if (first, second) == (src, tgt) else text.invert()


def load_similarity(name: str, *, progress: Progress = silent) -> list[tuple[str, str, float]]:
    """Word pairs with people's similarity scores: "wordsim353" or "simlex999"."""
    rows = [line.split("\t") for line in read_lines(fetch(f"similarity/{name}", progress))]
    return [(first, second, float(score)) for first, second, score in rows]
