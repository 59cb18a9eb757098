"""The trained encoder as a plain folder: transformers loads it, and sentence-transformers too."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from isoglot.encoders import Encoder, pooling_modules, quiet
from isoglot.errors import InputError, MissingExtraError
from isoglot.files import part_name, remove_abandoned
from isoglot.manifests import read_json_object

#: The subfolder with log and checkpoints of the run that made the folder.
RUN = "training"
#: In it, the encoder that a run began with if it was made for this run.
START = "start"
#: What `format` in a run's recipe says.
RUN_FORMAT = "isoglot-training-run"


def check_output(folder: Path) -> None:
    """Raise unless the folder is missing, empty, or from an earlier run of ours."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", where=str(folder), remedy="choose another output path")
    with contextlib.suppress(OSError, InputError):
        if read_json_object(folder / RUN / "recipe.json").get("format") == RUN_FORMAT:
            return
    # A run that was killed before its first step has left word links or a new encoder at most.
    leftovers = (f"{RUN}/*links-*", f"{RUN}/*{START}*", f"{RUN}/*{START}*/*")
    others = (path for path in folder.rglob("*") if path.is_file() and not any(path.match(one) for one in leftovers))
    if any(others):
        raise InputError(
            "this folder holds other files and will not be overwritten",
            where=str(folder),
            remedy="choose another output path",
        )


def check_export() -> None:
    """Raise before long work if a library needed to write its result is missing."""
    try:
        import sentence_transformers.base.modules
        import sentence_transformers.sentence_transformer.modules  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("sentence-transformers (6 or newer)", "training", "saving the encoder") from error


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Write the model into the folder, beside existing files; each file is complete before it gets its name.

    Sentence vectors are those of `Encoder.sentences`, scaled to unit length.
    """
    check_export()
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.base.modules.transformer import Transformer

    folder.mkdir(parents=True, exist_ok=True)
    remove_abandoned(folder, "model")
    temporary = folder / part_name("model")
    temporary.mkdir(0o700)
    try:
        encoder.model.save(temporary)
        with quiet():
            words = Transformer(str(temporary))
            words.max_seq_length = encoder.model.longest
            modules = [words, *pooling_modules(encoder), Normalize()]
            SentenceTransformer(modules=modules, device="cpu").save(str(temporary), create_model_card=False)
        # sentence-transformers saves the model without its head, so save ours again.
        encoder.model.save(temporary)
        # safetensors creates private files; config.json follows the user's umask.
        readable = (temporary / "config.json").stat().st_mode
        # The list of modules goes last: it completes the folder.
        files = [path for path in temporary.rglob("*") if path.is_file()]
        for path in sorted(files, key=lambda one: (one.name == "modules.json", one)):
            path.chmod(readable)
            target = folder / path.relative_to(temporary)
            target.parent.mkdir(exist_ok=True)
            os.replace(path, target)
        for path in temporary.rglob("*"):  # modules without settings have an empty folder
            (folder / path.relative_to(temporary)).mkdir(exist_ok=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
