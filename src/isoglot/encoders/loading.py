"""What lies between a folder and a transformers model in memory: libraries, devices, and errors in one clear line."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from isoglot.encoders.use_weights import is_use_folder
from isoglot.errors import ConfigError, FormatError, InputError, IsoglotError, MissingExtraError, OfflineError

#: More than any encoder has.
_MOST_LAYERS = 1000

DTYPES = ("auto", "float32", "float16", "bfloat16")


def load_pretrained(folder: str, dtype: str) -> tuple[Any, Any, Iterable[str]]:
    """Tokenizer, model, and the names of weights that the folder does not have."""
    torch, transformers = libraries()
    # Registers its model with transformers: from here on, a folder of it is like any other.
    from isoglot.encoders.use_model import UseModel, use_tokenizer

    if is_use_folder(Path(folder)):
        return use_tokenizer(Path(folder)), UseModel.from_pretrained(folder, dtype=getattr(torch, dtype)), ()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    # Without any file of a tokenizer, transformers makes an empty one, to which all words are unknown.
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise FormatError(
            "its tokenizer is missing or empty", where=folder, remedy="get its tokenizer.json, or save one beside it"
        )
    layers = getattr(transformers.AutoConfig.from_pretrained(folder), "num_hidden_layers", 1)
    if not isinstance(layers, int) or not 0 <= layers <= _MOST_LAYERS:
        raise FormatError(f"config.json says that it has {layers!r} layers", where=folder)
    model, loading = transformers.AutoModel.from_pretrained(
        folder, dtype=getattr(torch, dtype), output_loading_info=True
    )
    return tokenizer, model, loading["missing_keys"]


def libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers and torch", "encoders", "an encoder") from error
    return torch, transformers


def choose_device(torch: Any, device: str) -> str:
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise ConfigError(f"this machine has no device {device!r}", remedy="set `device` to cpu") from error
    return device


def choose_dtype(torch: Any, dtype: str, device: str) -> str:
    if dtype not in DTYPES:
        raise ConfigError(f"unknown dtype {dtype!r}", remedy=f"one of: {', '.join(DTYPES)}")
    if dtype == "auto":
        return "float16" if device.startswith("cuda") else "float32"
    if device == "cpu" and dtype != "float32":
        check_native(dtype)
    return dtype


def check_native(dtype: str) -> None:
    """Refuse half precision on a CPU without instructions for it: emulated it is many times slower, and no smaller."""
    torch, _ = libraries()
    check = {"bfloat16": "_is_mkldnn_bf16_supported", "float16": "_is_mkldnn_fp16_supported"}[dtype]
    native = getattr(torch.ops.mkldnn, check, None)  # torch can be built without mkldnn
    if native is None or not native():
        raise ConfigError(f"this machine's CPU has no {dtype}", remedy="use float32")


def tokens_at_once(config: Any, tokenizer: Any) -> int:
    """Tokens that the model takes at once, special ones included."""
    positions = int(getattr(config, "max_position_embeddings", 512) or 512)
    if "roberta" in config.model_type or config.model_type == "camembert":
        positions -= int(config.pad_token_id) + 1  # these count positions from after the padding token's
    elif config.model_type == "mpnet":
        positions -= 2  # the same, but it takes the padding token's number for granted
    return min(positions, int(min(tokenizer.model_max_length, 1_000_000)))


def embedding_rows(model: Any) -> int | None:
    """How many tokens have an embedding; None for models that make theirs in another way."""
    with contextlib.suppress(NotImplementedError, AttributeError):
        return int(model.get_input_embeddings().num_embeddings)
    return None


def made_up(missing: Iterable[str], where: str) -> frozenset[str]:
    """Weights that were not saved and so are random: harmless in the pooler, which we never use, fatal elsewhere."""
    needed = sorted(name for name in missing if "pooler" not in name)
    if needed:
        raise FormatError(
            f"the weights are not those of config.json: {len(needed)} are missing, {needed[0]} among them",
            where=where,
            remedy="get the model again",
        )
    return frozenset(missing)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Bars of its own, and notes about unused weights (a head that is not loaded), are no business of our users."""
    _, transformers = libraries()
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(before)
        if bars:
            transformers.logging.enable_progress_bar()


@contextlib.contextmanager
def clear_errors(folder: str) -> Iterator[None]:
    """Whatever transformers stumbles over, one clear line."""
    try:
        yield
    except IsoglotError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        if Path(folder).is_dir() and isinstance(error, json.JSONDecodeError):
            raise FormatError("config.json is damaged", where=folder) from error
        raise unreachable(folder, error) from error


def unreachable(name: str, error: Exception) -> OfflineError | InputError:
    """What to tell when transformers could not load `name`."""
    if Path(name).is_dir():
        first = str(error).strip().splitlines() or [type(error).__name__]
        return FormatError(f"transformers cannot load this model ({first[0]})", where=name)
    return OfflineError(
        "no such folder or installed package, and the model hub cannot be reached or has no such model",
        where=name,
        remedy="check the name, or name a folder with the model",
    )
