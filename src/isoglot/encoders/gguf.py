"""A model in one GGUF file, as quantised models are passed around: converted once to a folder that transformers loads.

transformers reads such files itself, but takes a minute for a small model each time; the folder opens in seconds.
Weights are kept in half precision, which is finer than any quantisation they come from.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isoglot.encoders.loading import clear_errors, libraries, quiet
from isoglot.errors import FormatError, InputError
from isoglot.extras import require
from isoglot.files import cache_directory, sha256_of_file
from isoglot.folders import FolderKind
from isoglot.locks import output_lock
from isoglot.progress import Progress, silent

SUFFIX = ".gguf"
_MAGIC = b"GGUF"
_KIND = FolderKind("isoglot-converted-encoder", "an encoder converted from a GGUF file", "Isoglot")
#: Larger weights do not fit half precision.
_MOST = 65504.0
_STEPS = "converting the model, which is done once"


def gguf_file(path: Path) -> Path | None:
    """The GGUF file that a path names: itself, or the only one in a folder without another model."""
    if path.is_file():
        return path if path.suffix.lower() == SUFFIX else None
    if not path.is_dir() or (path / "config.json").exists():
        return None
    files = sorted(one for one in path.iterdir() if one.suffix.lower() == SUFFIX)
    if len(files) > 1:
        what = f"{len(files)} GGUF files, {files[0].name} and {files[1].name} among them"
        raise InputError(what, where=str(path), remedy="name the one to use")
    return files[0] if files else None


def converted(path: Path, progress: Progress = silent) -> Path:
    """The folder with the model of a GGUF file, made if it is not there."""
    with path.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise FormatError("not a GGUF file", where=str(path))
    folder = cache_directory("gguf", sha256_of_file(path, progress)[:32])
    with output_lock(folder, wait=True):
        if not _KIND.owns(folder):
            _convert(path, folder, progress)
    return folder


def _convert(path: Path, folder: Path, progress: Progress) -> None:
    require("encoders", "an encoder")
    require("gguf", "a GGUF file")
    torch, transformers = libraries()
    progress(_STEPS, 0, 3)
    quietly = (quiet(), _without_bar(), clear_errors(str(path.parent)), torch.inference_mode())
    with _KIND.replacing(folder) as to, contextlib.ExitStack() as stack:
        for one in quietly:
            stack.enter_context(one)
        transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(to)
        progress(_STEPS, 1, 3)
        model = transformers.AutoModel.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
        progress(_STEPS, 2, 3)
        _bare(torch, model).save_pretrained(to)
    progress(_STEPS, 3, 3)


@contextlib.contextmanager
def _without_bar() -> Iterator[None]:
    """transformers draws a bar of its own here, which none of its settings turns off."""
    from transformers import modeling_gguf_pytorch_utils as reading

    bar = getattr(reading, "tqdm", None)
    if bar is not None:
        reading.tqdm = lambda items, **_: items
    try:
        yield
    finally:
        if bar is not None:
            reading.tqdm = bar


def _bare(torch: Any, model: Any) -> Any:
    """The same weights in a model that knows nothing of the file: transformers saves none that it read from one."""
    config = model.config
    del config.quantization_config
    with torch.device("meta"):
        bare = type(model)(config)
    state = model.state_dict()
    half = all(bool(one.isfinite().all()) and float(one.abs().max()) < _MOST for one in state.values() if one.numel())
    # Buffers that are computed and not saved (angles of positions) are taken over as they are.
    bare.load_state_dict(state, assign=True)
    bare.tie_weights()
    return bare.to(torch.float16) if half else bare
