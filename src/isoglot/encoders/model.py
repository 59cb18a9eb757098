"""A transformers model that turns pieces of tokens into rows: loaded once, run in batches of like length.

Only the layers that are asked for are computed where the architecture lets us cut the rest off.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders.layers import Layers
from isoglot.encoders.names import find_model, unreachable
from isoglot.encoders.pieces import Piece, batches
from isoglot.errors import ConfigError, FormatError, InputError, IsoglotError, MissingExtraError
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix

#: More than any encoder has.
_MOST_LAYERS = 1000

DTYPES = ("auto", "float32", "float16", "bfloat16")

#: Where the stack of layers hangs, for architectures whose hidden states are plain outputs of those layers: only there
#: does cutting off what lies above change nothing.
_STACKS = {
    "bert": "encoder",
    "roberta": "encoder",
    "xlm-roberta": "encoder",
    "camembert": "encoder",
    "electra": "encoder",
    "mpnet": "encoder",
    "distilbert": "transformer",
}


@dataclasses.dataclass(frozen=True)
class TokenMap:
    """Maps the selected tokens' states (k, n, d) to (1, n, dim) before they are pooled."""

    apply: Callable[[FloatMatrix], FloatMatrix]
    dim: int


class LoadedModel:
    """Model and tokenizer on a device. `depth` layers above the embedding, `width` dimensions."""

    def __init__(
        self, name: str | Path, *, device: str = "auto", dtype: str = "auto", progress: Progress = silent
    ) -> None:
        torch, transformers = _libraries()
        self._torch = torch
        self.folder = find_model(name, progress)
        self.device = _device(torch, device)
        self.dtype = _dtype(torch, dtype, self.device)
        progress("loading the encoder", 0, 1)
        with quiet(), _clear(self.folder):
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder)
            layers = getattr(transformers.AutoConfig.from_pretrained(self.folder), "num_hidden_layers", 1)
            if not isinstance(layers, int) or not 0 <= layers <= _MOST_LAYERS:
                raise FormatError(f"config.json says that it has {layers!r} layers", where=self.folder)
            self._model, loading = transformers.AutoModel.from_pretrained(
                self.folder, dtype=getattr(torch, self.dtype), output_loading_info=True
            )
        progress("loading the encoder", 1, 1)
        config = self._model.config
        self.config = config
        if getattr(config, "is_encoder_decoder", False) or not hasattr(config, "hidden_size"):
            raise InputError(f"{config.model_type} is no plain encoder", where=str(name), remedy="name one like BERT")
        self._made_up = _made_up(loading["missing_keys"], str(name))
        if self._made_up and str(config.model_type) in _STACKS:
            # Else `save` would write random weights as if they were learned, other ones each time.
            self._model.pooler = None
        self._model.eval().to(self.device)
        self._whole = self._model
        self._rows = _embedding_rows(self._model)
        with _clear(self.folder):  # settings may be of any type
            self.depth = int(config.num_hidden_layers)
            self.width = int(config.hidden_size)
            self.longest = _longest(config, self.tokenizer)
        if self.tokenizer.pad_token_id is None:
            raise InputError("its tokenizer has no padding token", where=str(name), remedy="name an encoder like BERT")
        with torch.inference_mode(), quiet(), _clear(self.folder):
            self._probe()

    @property
    def network(self) -> Any:
        """The transformers model itself, for those who train it."""
        return self._model

    def adopt(self, whole: Any) -> None:
        """Take a model with a head, whose encoder is run and trained from now on; `save` writes the head too."""
        self._whole = whole.eval().to(self.device)
        self._model = whole.base_model

    def fingerprint(self) -> str:
        """A short digest that tells models apart: settings, and samples of all weights."""
        # The same model may lie elsewhere when a run resumes.
        settings = {name: value for name, value in self.config.to_dict().items() if name != "_name_or_path"}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
        for name, tensor in self._model.state_dict().items():
            if name in self._made_up:
                continue
            flat = tensor.detach().flatten()
            sample = flat[:: max(1, flat.numel() // 64)][:64].float().cpu().numpy()
            digest.update(f"{name} {tuple(tensor.shape)}".encode())
            digest.update(sample.tobytes())
        digest.update(f"{self.dtype} {_vocabulary(self.tokenizer)}".encode())
        return digest.hexdigest()[:16]

    def run(
        self,
        pieces: Sequence[Piece],
        rows: int,
        layers: Layers,
        *,
        most_tokens: int,
        stacked: bool = False,
        token_map: TokenMap | None = None,
        step: str = "encoding",
        progress: Progress = silent,
    ) -> FloatMatrix:
        """Weighted sums of token vectors, (1, rows, d); with `stacked` one for each of the k layers, (k, rows, d)."""
        torch = self._torch
        kept = len(layers.numbers) if stacked and token_map is None else 1
        width = self.width if stacked else layers.dim(self.width)
        if token_map is not None:
            width = token_map.dim
        out = torch.zeros((kept, rows, width), dtype=torch.float32)
        total = sum(len(piece.ids) for piece in pieces)
        done = 0
        progress(step, 0, max(total, 1))
        with torch.inference_mode(), self._cut(max(layers.numbers)):
            for numbers in batches(pieces, most_tokens):
                chosen = [pieces[number] for number in numbers]
                states = self._states(chosen, layers, stacked)  # (k, tokens with padding, d)
                _add(torch, out, states, chosen, token_map)
                done += sum(len(piece.ids) for piece in chosen)
                progress(step, done, total)
        progress(step, max(total, 1), max(total, 1))
        result: FloatMatrix = out.numpy()
        return result

    def _probe(self) -> None:
        """Run it once on next to nothing: sizes in config.json that do not fit one another show here."""
        ids = self._torch.full((1, 2), int(self.tokenizer.pad_token_id), device=self.device)
        self._model(input_ids=ids, attention_mask=self._torch.ones_like(ids))

    def _states(self, pieces: Sequence[Piece], layers: Layers, stacked: bool) -> Any:
        torch = self._torch
        longest = max(len(piece.ids) for piece in pieces)
        ids = torch.full((len(pieces), longest), int(self.tokenizer.pad_token_id), dtype=torch.long)
        mask = torch.zeros((len(pieces), longest), dtype=torch.long)
        for row, piece in enumerate(pieces):
            ids[row, : len(piece.ids)] = torch.tensor(piece.ids, dtype=torch.long)
            mask[row, : len(piece.ids)] = 1
        if self._rows is not None and not 0 <= int(ids.min()) <= int(ids.max()) < self._rows:
            what = f"its tokenizer gives token {int(ids.max()):,}, but only {self._rows:,} have an embedding"
            raise FormatError(what, where=self.folder, remedy="get the model again")
        last_only = layers.numbers == (self.depth,)
        output = self._model(
            input_ids=ids.to(self.device), attention_mask=mask.to(self.device), output_hidden_states=not last_only
        )
        if last_only:
            chosen = [output.last_hidden_state]
        else:
            chosen = [output.hidden_states[number] for number in layers.numbers]
        if len(chosen) == 1:
            states = chosen[0][None]
        elif stacked:
            states = torch.stack(chosen)
        elif layers.combination == "concatenate":
            states = torch.cat(chosen, dim=-1)[None]
        else:
            states = torch.stack(chosen).sum(dim=0)[None]
            states = states / len(chosen) if layers.combination == "mean" else states
        return states.reshape(len(states), -1, states.shape[-1])

    @contextlib.contextmanager
    def _cut(self, top: int) -> Iterator[None]:
        """Run with the layers up to `top` only, where we know that this changes nothing below."""
        stack = layer_stack(self._model)
        if stack is None or len(stack) != self.depth or not 0 < top < self.depth:
            yield
            return
        parent = getattr(self._model, _STACKS[str(self.config.model_type)])
        parent.layer = stack[:top]
        try:
            yield
        finally:
            parent.layer = stack

    def save(self, folder: Path, *, depth: int | None = None) -> None:
        """Write model and tokenizer as transformers does; with `depth` only so many layers, where that can be done."""
        with quiet():
            self._save(folder, depth)

    def _save(self, folder: Path, depth: int | None) -> None:
        if depth is None or depth == self.depth:
            self._whole.save_pretrained(folder)
        else:
            place = _STACKS.get(str(self.config.model_type))
            if place is None:
                raise ConfigError(f"layers cannot be cut off a {self.config.model_type}")
            parent = getattr(self._model, place)
            stack, before = parent.layer, self.config.num_hidden_layers
            parent.layer, self.config.num_hidden_layers = stack[:depth], depth
            try:
                self._model.save_pretrained(folder)
            finally:
                parent.layer, self.config.num_hidden_layers = stack, before
        self.tokenizer.save_pretrained(folder)

    @property
    def can_be_cut(self) -> bool:
        """Whether `save` can leave off upper layers."""
        return str(self.config.model_type) in _STACKS


def layer_stack(network: Any) -> Any:
    """The list of a transformers model's layers, or None for architectures that we do not know."""
    parent = getattr(network, _STACKS.get(str(network.config.model_type), ""), None)
    return getattr(parent, "layer", None)


def load_masked_model(loaded: LoadedModel, new_head: int | None = None) -> Any:
    """The same model with its head for masked tokens; `loaded` then has the encoder in it.

    Args:
        new_head: the seed of a random head for a model that has none; None: such a model is an error.
    """
    torch, transformers = _libraries()
    with quiet(), _clear(loaded.folder), torch.random.fork_rng(devices=[]):
        torch.manual_seed(new_head or 0)
        whole, loading = transformers.AutoModelForMaskedLM.from_pretrained(
            loaded.folder, dtype=getattr(torch, loaded.dtype), output_loading_info=True
        )
    missing = sorted(name for name in loading["missing_keys"] if "position_ids" not in name)
    if missing and new_head is None:
        raise InputError(
            f"has no head for masked tokens ({missing[0]} and {len(missing) - 1} more are missing)",
            where=loaded.folder,
            remedy="learn one (set `new_head`), leave mlm and tlm out, or name a masked language model",
        )
    loaded.adopt(whole)
    return whole


def _add(torch: Any, out: Any, states: Any, pieces: Sequence[Piece], token_map: TokenMap | None) -> None:
    """Add each token's states (k, tokens, d) with its weight to its row of `out`."""
    longest = states.shape[1] // len(pieces)
    rows = np.full((len(pieces), longest), -1, dtype=np.int64)
    weights = np.zeros((len(pieces), longest), dtype=np.float32)
    for number, piece in enumerate(pieces):
        rows[number, : len(piece.rows)] = piece.rows
        weights[number, : len(piece.rows)] = piece.weights
    used = np.flatnonzero((rows.ravel() >= 0) & (weights.ravel() > 0))
    if not len(used):
        return
    chosen = states.index_select(1, torch.from_numpy(used).to(states.device)).float().cpu()
    if token_map is not None:
        mapped = token_map.apply(chosen.numpy())
        chosen = torch.from_numpy(np.ascontiguousarray(mapped))
    chosen = chosen * torch.from_numpy(weights.ravel()[used])[:, None]
    place = torch.from_numpy(rows.ravel()[used])
    for layer in range(len(out)):
        out[layer].index_add_(0, place, chosen[layer])


def _vocabulary(tokenizer: Any) -> str:
    """All that decides how text becomes tokens."""
    if tokenizer.is_fast:
        return str(tokenizer.backend_tokenizer.to_str())
    return json.dumps(tokenizer.get_vocab(), sort_keys=True)


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers and torch", "encoders", "an encoder") from error
    return torch, transformers


def _device(torch: Any, device: str) -> str:
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise ConfigError(f"this machine has no device {device!r}", remedy="set `device` to cpu") from error
    return device


def _dtype(torch: Any, dtype: str, device: str) -> str:
    if dtype not in DTYPES:
        raise ConfigError(f"unknown dtype {dtype!r}", remedy=f"one of: {', '.join(DTYPES)}")
    if dtype == "auto":
        return "float16" if device.startswith("cuda") else "float32"
    if device == "cpu" and dtype != "float32":
        check_native(dtype)
    return dtype


def check_native(dtype: str) -> None:
    """Refuse half precision on a CPU without instructions for it: emulated it is many times slower, and no smaller."""
    torch, _ = _libraries()
    check = {"bfloat16": "_is_mkldnn_bf16_supported", "float16": "_is_mkldnn_fp16_supported"}[dtype]
    native = getattr(torch.ops.mkldnn, check, None)  # torch can be built without mkldnn
    if native is None or not native():
        raise ConfigError(f"this machine's CPU has no {dtype}", remedy="use float32")


def _longest(config: Any, tokenizer: Any) -> int:
    """Tokens that the model takes at once, special ones included."""
    positions = int(getattr(config, "max_position_embeddings", 512) or 512)
    if "roberta" in config.model_type or config.model_type == "camembert":
        positions -= int(config.pad_token_id) + 1  # these count positions from after the padding token's
    elif config.model_type == "mpnet":
        positions -= 2  # the same, but it takes the padding token's number for granted
    return min(positions, int(min(tokenizer.model_max_length, 1_000_000)))


def _embedding_rows(model: Any) -> int | None:
    """How many tokens have an embedding; None for models that make theirs in another way."""
    with contextlib.suppress(NotImplementedError, AttributeError):
        return int(model.get_input_embeddings().num_embeddings)
    return None


def _made_up(missing: Iterable[str], where: str) -> frozenset[str]:
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
    _, transformers = _libraries()
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
def _clear(folder: str) -> Iterator[None]:
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
