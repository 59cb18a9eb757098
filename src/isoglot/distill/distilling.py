"""From texts and an encoder to static vectors, one Space per language.

    OUT/README.md             the model card
    OUT/config.json           encoder, settings, versions, and figures of each language
    OUT/en.safetensors        words, vectors and counts of each language

During a run, OUT.work/en holds the chosen sentences and the state, saved every half minute: a killed run resumes and
gives the same vectors. Several runs on the same texts, such as seeds, share one pass (`distill_together`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import isoglot
from isoglot.distill.card import distilled_card
from isoglot.distill.one_pass import STATE, VECTORS, Distilled, Tell, check_states, identity_of, learn_in_one_pass
from isoglot.distill.sentences import Sentences
from isoglot.distill.settings import DistillSettings
from isoglot.encoders import Encoder
from isoglot.errors import ConfigError
from isoglot.files import remove_kept
from isoglot.folders import FolderKind
from isoglot.progress import Progress, silent
from isoglot.spaces import Space
from isoglot.wordvectors import TextFile

DISTILLED_FOLDER = FolderKind(
    "isoglot-distilled", "distilled vectors", "`isoglot encoder distill`", manifest="config.json"
)
_SENTENCES = "sentences"


def distill_text(
    encoder: Encoder,
    text: TextFile,
    settings: DistillSettings | None = None,
    work: str | Path | None = None,
    *,
    threads: int | None = None,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> Space:
    """The static vectors of one language's text.

    Args:
        work: a folder for the state, from which a killed run resumes; None for a temporary one.
        threads: for learning static vectors; the result does not depend on it.
        tell: receives one-line notes for the user.
    """
    settings = settings or DistillSettings()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()) if work is None else work)
        sentences = choose_sentences(text, settings, folder, progress=progress, tell=tell)
        (done,) = learn_in_one_pass(
            encoder, sentences, [(settings, folder)], threads=threads, progress=progress, tell=tell
        )
        return done.space


def distill_texts(
    encoder: Encoder,
    texts: Sequence[TextFile],
    output: str | Path,
    settings: DistillSettings | None = None,
    *,
    threads: int | None = None,
    keep_work: bool = False,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> dict[str, Distilled]:
    """The static vectors of each text, written to the folder `output`. All texts are read before any is encoded."""
    runs = {Path(output): settings or DistillSettings()}
    return distill_together(
        encoder, texts, runs, threads=threads, keep_work=keep_work, progress=progress, tell=tell
    )[Path(output)]  # fmt: skip


def distill_together(
    encoder: Encoder,
    texts: Sequence[TextFile],
    runs: Mapping[Path, DistillSettings],
    *,
    threads: int | None = None,
    keep_work: bool = False,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> dict[Path, dict[str, Distilled]]:
    """Several runs on the same texts, such as both methods or several seeds, each written to its folder.

    The encoder takes nearly all the time, and its vectors depend on neither: each text is encoded once for all runs
    that choose and read its sentences in the same way. Every run gives the same vectors as it would alone.
    """
    langs = [text.lang for text in texts]
    if len(set(langs)) < len(langs) or not langs:
        raise ConfigError(f"each text needs a different language, not {', '.join(langs) or 'none'}")
    for output in runs:
        DISTILLED_FOLDER.check_replaceable(output)
    done: dict[Path, dict[str, Distilled]] = {output: {} for output in runs}
    chosen: dict[tuple[Path, str], Sentences] = {}
    groups = _reading_groups(runs)
    for group in groups:
        for text in texts:
            sentences = choose_sentences(
                text, runs[group[0]], _work(group[0]) / text.lang, progress=progress, tell=tell
            )
            # The state of another run is an error: better now than after the other languages.
            check_states(encoder, sentences, [(runs[output], _work(output) / text.lang) for output in group])
            chosen.update({(output, text.lang): sentences for output in group})
    for group in groups:
        for lang in langs:
            each = [(runs[output], _work(output) / lang) for output in group]
            results = learn_in_one_pass(
                encoder, chosen[group[0], lang], each, threads=threads, progress=progress, tell=tell
            )
            for output, one in zip(group, results, strict=True):
                done[output][lang] = one
    for output, settings in runs.items():
        sentences_of = {lang: chosen[output, lang] for lang in langs}
        _write(output, encoder, settings, sentences_of, done[output], progress)
        if not keep_work:
            remove_work(output, langs)
    return done


def choose_sentences(
    text: TextFile,
    settings: DistillSettings,
    folder: Path,
    *,
    progress: Progress = silent,
    tell: Tell = lambda line: None,
) -> Sentences:
    """Filter and count sentences, or reopen those of an earlier run in the folder."""
    sentences = Sentences.build(text, folder / _SENTENCES, settings, progress=progress)
    if not sentences.parted:
        if settings.by_paragraph:
            raise ConfigError(
                "this text has no blank lines between paragraphs", where=str(text.path), remedy="use sentences"
            )
        if settings.min_sentences > 1:
            tell(f"{text.path.name} has no paragraphs (no blank lines): sentences are chosen by length alone")
    return sentences


def remove_work(output: Path, langs: Sequence[str]) -> None:
    """Remove the working files of these languages beside a folder, and their folder if it is then empty."""
    for lang in langs:
        remove_kept(_work(output) / lang, (_SENTENCES, STATE, VECTORS))
    remove_kept(_work(output), ())


def _work(output: Path) -> Path:
    return output.with_name(f"{output.name}.work")


def _reading_groups(runs: Mapping[Path, DistillSettings]) -> list[list[Path]]:
    """The runs in groups that read the same sentences in the same way."""
    groups: dict[str, list[Path]] = {}
    for output, settings in runs.items():
        groups.setdefault(json.dumps(settings.reading(), sort_keys=True), []).append(output)
    return list(groups.values())


def _write(
    output: Path,
    encoder: Encoder,
    settings: DistillSettings,
    sentences: Mapping[str, Sentences],
    done: Mapping[str, Distilled],
    progress: Progress,
) -> None:
    with DISTILLED_FOLDER.replacing(output) as temporary:
        for lang, one in done.items():
            one.space.save(temporary / f"{lang}.safetensors", progress=progress)
        content = {
            "encoder": identity_of(encoder),
            "settings": dataclasses.asdict(settings),
            "languages": {
                lang: {"text": sentences[lang].facts["text"], "fingerprint": one.space.fingerprint(), **one.figures}
                for lang, one in done.items()
            },
            "versions": _versions(),
        }
        distilled_card({lang: one.space for lang, one in done.items()}, content).write(temporary)
        DISTILLED_FOLDER.write_manifest(temporary, content)


def _versions() -> dict[str, str]:
    import torch
    import transformers

    return {
        "isoglot": isoglot.__version__,
        "numpy": np.__version__,
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
