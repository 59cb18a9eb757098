"""Which program runs a model: torch with transformers, or numpy for the universal sentence encoder without torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from isoglot.encoders.names import find_here
from isoglot.encoders.use_numpy import NumpyUse
from isoglot.encoders.use_weights import is_use_folder
from isoglot.extras import has_extra, require
from isoglot.progress import Progress, silent

if TYPE_CHECKING:
    from isoglot.encoders.model import LoadedModel


def check_encoder(name: str | Path) -> None:
    """Raise before other work if what runs this encoder is not installed."""
    if has_extra("encoders"):
        return
    folder = find_here(name)
    require("use" if folder is not None and is_use_folder(Path(folder)) else "encoders", "an encoder")


def open_model(
    name: str | Path, *, device: str = "auto", dtype: str = "auto", progress: Progress = silent
) -> LoadedModel:
    """The model of this name, see `find_model`, run by what this machine has."""
    if not has_extra("encoders"):
        folder = find_here(name, progress)
        if folder is not None and is_use_folder(Path(folder)):
            # It has all that encoding asks of a model; to train one, torch is needed anyway.
            return cast("LoadedModel", NumpyUse(folder, progress))
    from isoglot.encoders.model import LoadedModel

    return LoadedModel(name, device=device, dtype=dtype, progress=progress)
