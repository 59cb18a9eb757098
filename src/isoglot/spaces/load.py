"""Reading and writing Spaces in any format: `load_space`, `save_space`, and the table of formats.

The format of a file is recognised by its content, never by its name alone. Text and other slow formats are cached in
binary form. What each format holds, and what happens to dirty files, is in docs/formats.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigError, InputError
from isoglot.files import check_writable
from isoglot.languages import guess_language
from isoglot.named_data import locate
from isoglot.progress import Progress, silent
from isoglot.spaces.cache import CacheFailure, CacheSink, SpaceCache
from isoglot.spaces.formats.base import Content, Request, reading
from isoglot.spaces.formats.sniff import sniff
from isoglot.spaces.formats.streams import COMPRESSIONS
from isoglot.spaces.report import LoadReport
from isoglot.spaces.space import Space
from isoglot.suggest import hint
from isoglot.threads import available_threads


@dataclasses.dataclass(frozen=True)
class Format:
    """One row of the table: `module` (in `isoglot.spaces.formats`) is imported when the format is first used."""

    name: str
    holds: str
    suffixes: tuple[str, ...]
    module: str
    writer: str = "write"
    aliases: tuple[str, ...] = ()
    cached: bool = False
    compressible: bool = False


FORMATS = (
    Format("safetensors", "Isoglot's own form, memory-mapped", (".safetensors",), "native", aliases=("native",)),
    Format(
        "text",
        "word2vec and fastText text, with header",
        (".vec", ".txt"),
        "text",
        aliases=("word2vec", "vec", "word2vec-text", "fasttext-text"),
        cached=True,
        compressible=True,
    ),
    Format(
        "glove",
        "the same without header",
        (".glove",),
        "text",
        writer="write_glove",
        cached=True,
        compressible=True,
    ),
    Format(
        "word2vec-binary",
        "word2vec's binary form",
        (".bin", ".w2v"),
        "word2vec",
        aliases=("word2vec-bin", "binary"),
        compressible=True,
    ),
    Format(
        "fasttext",
        "fastText models with n-grams",
        (".ftbin",),
        "fasttext",
        aliases=("fasttext-bin", "fasttext-binary"),
        cached=True,
    ),
    Format("gensim", "gensim KeyedVectors", (".kv",), "keyedvectors", aliases=("keyedvectors", "kv")),
    Format("spacy", "the vectors of a spaCy pipeline (a folder)", (), "spacy_folder"),
    Format("navec", "navec's quantised archives (lossy)", (".tar",), "navec", cached=True),
    Format("npz", "numpy arrays `words` and `vectors`", (".npz",), "npz", aliases=("numpy",)),
)


def load_space(
    path: str | Path,
    *,
    lang: str | None = None,
    limit: int | None = None,
    format: str | None = None,
    cache: bool = True,
    threads: int | None = None,
    progress: Progress = silent,
) -> Space:
    """Read a file or folder of word vectors.

    Args:
        path: the file, or an entry of the catalogue such as "vectors/fr". Compressed text (gz, xz, zst, bz2) is read
            directly.
        lang: language code; by default the one stored in the file, else the one in its name ("cc.fr.300.vec").
        limit: read only this many words, the first (most frequent) ones.
        format: a format's name, if the content should not decide.
        cache: keep text and other slow formats in binary form for the next load.
        threads: for parsing text; by default two if available.
        progress: called with `(step, done, total)`.

    The Space's `report` lists what had to be repaired.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "en.vec")
    >>> _ = path.write_text("2 3\\nthe .1 .2 .3\\ncat 1 2 3\\n")
    >>> load_space(path, cache=False)
    Space('en', 2 words x 3)
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"limit must be at least 1, not {limit}")
    threads = available_threads(threads or min(2, available_threads(None)))
    path, languages = locate(path, "vectors", progress)
    if not path.is_file() and not path.is_dir():
        raise InputError("is not a regular file", where=str(path), remedy="save the stream to a file first")
    if languages and lang is None:
        [lang] = languages
    with reading(path, "file"):
        file_format = find_format(format) if format else find_format(sniff(path))
    if file_format.name != "spacy" and path.is_dir():
        raise InputError(f"is a folder, not a file of format {file_format.name}", where=str(path))
    report = LoadReport(str(path), file_format.name)
    content = None
    if cache and file_format.cached:
        content = _through_cache(path, file_format, limit, threads, report, progress)
    if content is None:
        request = Request(path, report, limit, progress, threads)
        content = _read(file_format, request)
    assert content.vectors is not None
    name = lang if lang is not None else content.lang or guess_language(path)
    return Space(name, content.words, content.vectors, content.counts, content.subwords, report, str(path))


def save_space(space: Space, path: str | Path, *, format: str | None = None, progress: Progress = silent) -> None:
    """Write a Space. The format follows from the file name's ending unless given.

    `.bin` is word2vec's binary form, or a fastText model if the Space has n-grams. A name ending in `.gz`, `.xz`,
    `.zst` or `.bz2` after that is compressed. A folder for spaCy needs `format="spacy"`.
    """
    path = Path(path).expanduser()
    file_format = output_format(path, format, subwords=space.subwords is not None)
    if len(space) == 0:
        raise InputError("a Space without words cannot be written", where=str(path))
    try:
        "\n".join(space.words).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError("a word has lone surrogates, so it is not valid text", where=str(path)) from error
    try:
        getattr(_module(file_format), file_format.writer)(space, path, progress)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=str(path)) from error


def output_format(path: Path, format: str | None = None, *, subwords: bool = False) -> Format:
    """The format that `save_space` would write to `path`; raises if it could not: for checks before long work."""
    file_format = find_format(format) if format else _format_of_name(path, subwords)
    if path.suffix in COMPRESSIONS and not file_format.compressible:
        raise InputError(
            f"{file_format.name} files are not compressed", where=str(path), remedy="leave out that ending"
        )
    if path.is_dir() and file_format.name != "spacy":
        raise InputError("is a folder", where=str(path), remedy="give a file in it")
    check_writable(path)
    return file_format


def find_format(name: str) -> Format:
    """The row of the table with this name or alias."""
    key = name.lower().replace("_", "-")
    for row in FORMATS:
        if key == row.name or key in row.aliases:
            return row
    names = [row.name for row in FORMATS]
    aliases = [alias for row in FORMATS for alias in row.aliases]
    raise ConfigError(
        f"unknown format {name!r}", remedy=hint(key, names + aliases, f"known formats: {', '.join(names)}")
    )


def _through_cache(
    path: Path, file_format: Format, limit: int | None, threads: int, report: LoadReport, progress: Progress
) -> Content | None:
    """Content from the cache, or read into it; None if the cache cannot be used."""
    # Both text formats are read the same way and share their entries.
    cache = SpaceCache(path, file_format.module)
    content = cache.find(limit, report, progress)
    if content is not None:
        return content
    request = Request(path, report, limit, progress, threads, digest=hashlib.sha256())
    request.make_sink = lambda dim, rows: cache.sink(request, dim)
    try:
        content = _read(file_format, request)
        # Only now: the report so far is stored in the cache, and this is not the file's fault.
        for name in cache.damaged:
            report.add("damaged cache entry", "made again", str(cache.folder / name))
        return content
    except CacheFailure as error:
        report.counts.clear()
        report.first.clear()
        report.add(f"cache cannot be written ({error})", "loaded without it", str(cache.folder))
        return None
    finally:
        if isinstance(request.opened, CacheSink):
            request.opened.discard()


def _read(file_format: Format, request: Request) -> Content:
    with reading(request.path, f"{file_format.name} file"):
        content: Content = _module(file_format).read(request)
        if content.counts is not None and content.counts.min(initial=0) < 0:
            request.report.add("counts below zero", "all counts left out", str(request.path))
            content.counts = None
        if content.vectors is None:
            assert request.opened is not None
            content.vectors = request.opened.finish(content)
        return content


def _module(file_format: Format) -> Any:
    return importlib.import_module(f"isoglot.spaces.formats.{file_format.module}")


def _format_of_name(path: Path, subwords: bool) -> Format:
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    if plain.suffix == ".bin" and subwords:
        return find_format("fasttext")
    for row in FORMATS:
        if plain.suffix.lower() in row.suffixes:
            return row
    endings = ", ".join(suffix for row in FORMATS for suffix in row.suffixes)
    raise InputError(
        "cannot tell the format from the file name",
        where=str(path),
        remedy=f"end the name in one of {endings}, or name the format",
    )
