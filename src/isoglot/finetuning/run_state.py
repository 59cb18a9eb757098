"""Checkpoints on disk, complete or absent: weights, Adam's averages, and the numbers to resume from.

Tensors are stored in safetensors and all else in JSON, so that nothing is unpickled. No state of random generators is
stored: batches, masks and dropout of a step follow from the seed and the step's number.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.errors import FormatError, InputError
from isoglot.files import atomic_path, remove_at_once
from isoglot.folders import FolderKind
from isoglot.manifests import read_json_object
from isoglot.opening import check_regular

if TYPE_CHECKING:
    from isoglot.finetuning.network import Network

#: Checkpoints that stay: should the disk damage the newest, there is one more.
KEPT = 2
_TENSORS, _STATE, _SEAL = "tensors.safetensors", "state.json", "sha256"
_KIND = FolderKind("isoglot-checkpoint", "a checkpoint", "`isoglot encoder finetune`", manifest=_STATE)


@dataclasses.dataclass(frozen=True)
class Best:
    """The best step so far, its figures, and the checksum of its weights, which only the writing process knows."""

    step: int
    figures: Mapping[str, float]
    sha256: str | None = None


@dataclasses.dataclass
class RunState:
    """Where a run stands, apart from its tensors.

    Args:
        before, latest: figures before training, and of the last evaluation.
        step: steps taken.
        losses: of recent steps, to compare new ones with.
        waited: evaluations since the best one.
        early: whether the run ended early because of that.
        scaler: state of the gradient scaler in half precision.
    """

    before: Mapping[str, float]
    latest: Mapping[str, float] = dataclasses.field(default_factory=dict)
    step: int = 0
    losses: list[float] = dataclasses.field(default_factory=list)
    best: Best | None = None
    waited: int = 0
    early: bool = False
    seconds: float = 0.0
    scaler: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RunState:
        """The state in a checkpoint's record."""
        best = record["best"]
        return cls(**{**record, "best": None if best is None else Best(**best)})


def run_tensors(network: Network, optimiser: Any) -> dict[str, Any]:
    """Trained weights, and the optimiser's state of each."""
    tensors: dict[str, Any] = {f"weights/{name}": one for name, one in network.trained().items()}
    averages = optimiser.state_dict()["state"]
    for number, name in enumerate(network.trained()):
        for key, value in averages.get(number, {}).items():
            tensors[f"optimiser/{name}/{key}"] = value
    return tensors


def put_tensors(tensors: Mapping[str, Any], network: Network, optimiser: Any, where: Path) -> None:
    """Restore what `run_tensors` returned."""
    weights = {name.removeprefix("weights/"): one for name, one in tensors.items() if name.startswith("weights/")}
    put_weights(network, weights, where)
    content = optimiser.state_dict()
    for number, name in enumerate(network.trained()):
        prefix = f"optimiser/{name}/"
        own = {key.removeprefix(prefix): one for key, one in tensors.items() if key.startswith(prefix)}
        if own:
            content["state"][number] = own
    optimiser.load_state_dict(content)


def put_weights(network: Network, weights: Mapping[str, Any], where: Path) -> None:
    """Copy weights into the trained ones."""
    import torch

    own = network.trained()
    if {name: one.shape for name, one in own.items()} != {name: one.shape for name, one in weights.items()}:
        raise InputError("the saved weights do not match those of this run", where=str(where))
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name])


def save_checkpoint(folder: Path, step: int, tensors: Mapping[str, Any], state: Mapping[str, Any]) -> Path:
    """Write a checkpoint into its own folder, then remove the oldest ones."""
    place = folder / f"step-{step:08d}"
    try:
        with _KIND.replacing(place) as temporary:
            _write_tensors(temporary / _TENSORS, tensors)
            # The manifest lists the tensors with their checksum, and is sealed itself.
            _KIND.write_manifest(temporary, {"step": step, **state})
            content = read_json_object(temporary / _STATE)
            write_json(temporary / _STATE, {**content, _SEAL: _digest(content)})
    except OSError as error:
        raise cannot_write(place, error) from error
    for old in _complete(folder)[:-KEPT]:
        remove_at_once(old)
    return place


def latest_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Tensors and state of the newest checkpoint, or None if there is none."""
    checkpoints = _complete(folder)
    if not checkpoints:
        return None
    try:
        manifest = _KIND.read(checkpoints[-1])
        content = dict(manifest.content)
        if content.pop(_SEAL, None) != _digest(content):
            raise manifest.wrong("is damaged (its checksum differs)")
        state = {name: value for name, value in content.items() if name not in ("format", "version", "files")}
        return load_tensors(manifest.file(_TENSORS)), state
    except InputError as error:
        earlier = "resume from the previous checkpoint" if len(checkpoints) > 1 else "start over"
        raise FormatError(error.what, where=error.where, remedy=f"remove {checkpoints[-1]} to {earlier}") from error


def save_tensors(path: Path, tensors: Mapping[str, Any]) -> None:
    """Write tensors into one file, atomically."""
    try:
        with atomic_path(path, own=True) as temporary:
            _write_tensors(temporary, tensors)
    except OSError as error:
        raise cannot_write(path, error) from error


def load_tensors(path: Path) -> dict[str, Any]:
    """The tensors of a file, by name."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        check_regular(path)
        return dict(load_file(path))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"cannot be read: {error}", where=str(path)) from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        return read_json_object(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object as JSON, atomically."""
    with atomic_path(path, own=True) as temporary:
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8", "backslashreplace")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def check_room(folder: Path, needed: int) -> None:
    """Raise, before a long run, if its checkpoints would not fit on the disk; existing ones count as reusable space."""
    parent = folder
    while not parent.exists():
        parent = parent.parent
    free = shutil.disk_usage(parent).free
    needed -= sum(path.stat().st_size for path in folder.rglob("*.safetensors"))
    if free < needed:
        raise InputError(
            f"the run may write up to {needed / 1e6:,.0f} MB, but only {free / 1e6:,.0f} MB are free",
            where=str(folder),
            remedy="free some disk space or choose another `output`",
        )


def _complete(folder: Path) -> list[Path]:
    # A folder gets its name once everything is in it, so any that has one is complete.
    return sorted(folder.glob("step-????????"))


def _write_tensors(path: Path, tensors: Mapping[str, Any]) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        # The system's error number is only in the text.
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def cannot_write(path: Path, error: OSError) -> InputError:
    """The error for a disk that is full or gone in the middle of a run."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = (
        "free some disk space and resume: the previous checkpoint is intact" if full else "is the disk still connected?"
    )
    return InputError(f"cannot be written: {error.strerror or error}", where=str(path), remedy=remedy)
