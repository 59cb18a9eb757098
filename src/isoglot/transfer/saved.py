"""Trained heads as folders: `load_head` opens one, and it answers texts of any language that its encoder knows.

A folder holds what was learned (safetensors) and how (JSON), but not the encoder, only where it was.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigError, InputError, locating
from isoglot.folders import FolderKind, Manifest
from isoglot.manifests import Fields
from isoglot.progress import Progress, silent
from isoglot.text import LabelledSentence
from isoglot.transfer.by_language import LanguageVectors
from isoglot.transfer.examples import TASKS, Example, PairExample, Question
from isoglot.transfer.feature_store import FeatureStore
from isoglot.transfer.head import Fitting, Head, Predictions
from isoglot.transfer.heads import new_head
from isoglot.transfer.settings import HeadSettings
from isoglot.transfer.vectors import Source, TextVectors, check_source, open_vectors

HEAD_FOLDER = FolderKind("isoglot-head", "a trained head", "`isoglot transfer`", manifest="config.json")
_WEIGHTS = "head.safetensors"
_REMEDY = "give the one that it was trained on, as `encoder`"


@dataclasses.dataclass(frozen=True, eq=False)
class LoadedHead:
    """A head that was trained before.

    Args:
        language: that it was trained on.
        fitting: how it came about.
    """

    task: str
    language: str
    labels: tuple[str, ...]
    fitting: Fitting
    settings: HeadSettings
    head: Head

    def predict(self, items: Sequence[Any], lang: str | None = None, *, progress: Progress = silent) -> Predictions:
        """Answers for examples, or for what these are made of.

        Args:
            items: sentences as lists of words ("ner", "pos"), pairs of sentences ("nli"), or questions each with its
                context ("qa"); or the same as examples.
            lang: their language; default: that of training.
        """
        examples = [_example(self.task, item, number) for number, item in enumerate(items, start=1)]
        if not examples:
            return Predictions([])
        return self.head.predict(examples, lang or self.language, progress=progress)


def save_head(
    folder: str | Path,
    head: Head,
    task: str,
    language: str,
    encoder: Source | Mapping[str, Source],
    vectors: TextVectors,
    settings: HeadSettings,
    *,
    key: str = "",
) -> None:
    """Save a trained head, replacing an earlier one.

    Args:
        language: that it was trained on.
        encoder: what `vectors` were opened from; if it is in memory only, it must be given to `load_head`.
        key: tells this head from all others.
    """
    from safetensors.torch import save_file

    folder = Path(folder)
    with HEAD_FOLDER.replacing(folder) as temporary:
        weights = {name: one.cpu().contiguous().clone() for name, one in head.trained().items()}
        save_file(weights, temporary / _WEIGHTS, metadata={"format": "pt"})
        content = {
            "task": task,
            "language": language,
            "labels": head.labels,
            "encoder": _place(encoder, folder),
            "identity": vectors.identity(language),
            "fitting": dataclasses.asdict(head.fitting),
            "settings": dataclasses.asdict(settings),
            "key": key,
        }
        HEAD_FOLDER.write_manifest(temporary, content)


def load_head(
    folder: str | Path,
    encoder: Source | Mapping[str, Source] | None = None,
    *,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> LoadedHead:
    """Open a head that `run_transfer` saved.

    Args:
        encoder: the one that it was trained on, if that is elsewhere now; or one for each language, see `run_transfer`.
        cache: where a frozen encoder's vectors are kept; without it they stay in memory.
    """
    manifest = HEAD_FOLDER.read(folder)
    settings = _settings(manifest)
    if encoder is None:
        encoder = _found(manifest.get("encoder"), manifest)
    vectors: TextVectors
    with locating(str(folder)):
        for one in encoder.values() if isinstance(encoder, Mapping) else [encoder]:
            check_source(one, settings)
        if isinstance(encoder, Mapping):
            vectors = LanguageVectors(str(folder), encoder, settings, progress=progress)
        else:
            vectors = open_vectors(encoder, settings, progress=progress)
        store = FeatureStore(vectors, None if cache is None else Path(cache))
        return restored(manifest, vectors, settings, store)


def restored(manifest: Manifest, vectors: TextVectors, settings: HeadSettings, store: FeatureStore) -> LoadedHead:
    """The head of a folder, on vectors that are open already."""
    task, language = manifest.one_of("task", TASKS), manifest.text("language")
    if vectors.identity(language) != manifest.text("identity"):
        raise ConfigError("its encoder has changed", where=str(manifest.folder), remedy=_REMEDY)
    head = new_head(task, vectors, settings, store, language)
    labels = manifest.texts("labels", least=0 if task == "qa" else 2)
    head.restore(labels, manifest.tensors(_WEIGHTS), language)
    head.fitting = _fitting(manifest.fields("fitting"))
    return LoadedHead(task, language, tuple(labels), head.fitting, settings, head)


def saved_key(folder: Path) -> str | None:
    """What tells the head in a folder from all others; None if there is none that can be read."""
    try:
        return HEAD_FOLDER.read(folder).text("key")
    except InputError:
        return None


def _example(task: str, item: Any, number: int) -> Example:
    if isinstance(item, PairExample | LabelledSentence | Question):
        return item
    if isinstance(item, str):
        remedy = "give lists of words, or pairs of texts"
        raise InputError(f"item {number:,} is one string", where="items", remedy=remedy)
    if task in ("ner", "pos"):
        return LabelledSentence(item, [""] * len(item))
    if len(item) != 2:
        raise InputError(f"item {number:,} has {len(item)} texts, not 2", where="items")
    return PairExample(item[0], item[1], "") if task == "nli" else Question(str(number), item[0], item[1])


def _place(encoder: Source | Mapping[str, Source], folder: Path) -> Any:
    """Where the encoder is: a path as seen from the folder, or a name; by language if there are several."""
    if isinstance(encoder, Mapping):
        return {"languages": {lang: _place(one, folder) for lang, one in encoder.items()}}
    if not isinstance(encoder, str | Path):
        return None
    path = Path(encoder).expanduser()
    if not path.exists():
        return {"name": str(encoder)}
    try:
        return {"path": Path(os.path.relpath(path, folder)).as_posix()}
    except ValueError:  # on another drive
        return {"path": path.absolute().as_posix()}


def _found(place: Any, manifest: Manifest) -> Any:
    if place is None:
        raise ConfigError("its encoder was never saved", where=str(manifest.folder), remedy=_REMEDY)
    fields = Fields(place if isinstance(place, Mapping) else {}, manifest.where, remedy=manifest.remedy)
    if "languages" in fields:
        return {lang: _found(one, manifest) for lang, one in fields.mapping("languages").items()}
    if "name" in fields:
        return fields.text("name")
    path = Path(os.path.normpath(manifest.folder.absolute() / fields.text("path")))
    if not path.exists():
        raise InputError(f"its encoder is not at {path} any more", where=str(manifest.folder), remedy=_REMEDY)
    return path


def _settings(manifest: Manifest) -> HeadSettings:
    try:
        return HeadSettings(**manifest.mapping("settings"))
    except (TypeError, InputError) as error:
        raise manifest.wrong(f"its settings cannot be read: {error}") from error


def _fitting(fields: Fields) -> Fitting:
    dev = fields.get("dev")
    if not isinstance(dev, int | float):
        raise fields.wrong('"dev" is not a number')
    return Fitting(fields.integer("epoch"), float(dev), fields.integer("epochs"))
