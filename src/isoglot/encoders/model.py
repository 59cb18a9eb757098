"""A transformers model that turns pieces of tokens into rows: loaded once, run in batches of like length.

Only the layers that are asked for are computed where the architecture lets us cut the rest off.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders.layers import Layers
from isoglot.encoders.loading import (
    choose_device,
    choose_dtype,
    clear_errors,
    embedding_rows,
    libraries,
    load_pretrained,
    made_up,
    quiet,
    tokens_at_once,
)
from isoglot.encoders.names import find_model
from isoglot.encoders.pieces import Piece, TokenMap, batches
from isoglot.encoders.use_weights import is_use_folder
from isoglot.errors import ConfigError, FormatError, InputError
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix

#: Tokens that a causal model reads at once unless told otherwise: they could take far more than a CPU wants.
CAUSAL_LONGEST = 2048
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


class LoadedModel:
    """Model and tokenizer on a device. `depth` layers above the embedding, `width` dimensions."""

    def __init__(
        self, name: str | Path, *, device: str = "auto", dtype: str = "auto", progress: Progress = silent
    ) -> None:
        torch, _ = libraries()
        self._torch = torch
        self.folder = find_model(name, progress)
        self.device = choose_device(torch, device)
        self.dtype = choose_dtype(torch, dtype, self.device)
        progress("loading the encoder", 0, 1)
        with quiet(), clear_errors(self.folder):
            self.tokenizer, self._model, missing = load_pretrained(self.folder, self.dtype)
        progress("loading the encoder", 1, 1)
        config = self._model.config
        self.config = config
        if getattr(config, "is_encoder_decoder", False) or not hasattr(config, "hidden_size"):
            raise InputError(f"{config.model_type} is no plain encoder", where=str(name), remedy="name one like BERT")
        self._made_up = made_up(missing, str(name))
        if self._made_up and str(config.model_type) in _STACKS:
            # Else `save` would write random weights as if they were learned, other ones each time.
            self._model.pooler = None
        self._model.eval().to(self.device)
        self._whole = self._model
        self._rows = embedding_rows(self._model)
        with clear_errors(self.folder):  # settings may be of any type
            self.depth = int(config.num_hidden_layers)
            self.width = int(config.hidden_size)
            self.longest = tokens_at_once(config, self.tokenizer)
        if self.tokenizer.pad_token_id is None:
            if self.tokenizer.eos_token_id is None:
                raise InputError("its tokenizer has no padding token", where=str(name), remedy="name one like BERT")
            self.tokenizer.pad_token = self.tokenizer.eos_token  # as usual for causal models; the mask hides it
        #: Whether it makes sentence vectors of its own.
        self.has_sentence_vectors = hasattr(self._model, "sentence_vectors")
        with torch.inference_mode(), quiet(), clear_errors(self.folder):
            #: Whether tokens know only what stands before them.
            self.causal = self._probe()
        if self.causal:
            self.longest = min(self.longest, CAUSAL_LONGEST)

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
        # The same model may lie elsewhere when a run resumes, and saving it notes other things beside its settings.
        noted = ("_name_or_path", "architectures", "transformers_version")
        settings = {name: value for name, value in self.config.to_dict().items() if name not in noted}
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
        whole: bool = False,
        step: str = "encoding",
        progress: Progress = silent,
    ) -> FloatMatrix:
        """Weighted sums of token vectors, (1, rows, d); with `stacked` one for each of the k layers, (k, rows, d); with
        `whole` of the vectors that the model itself makes of pieces."""
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
                output = self._output(chosen, hidden=layers.numbers != (self.depth,))
                if whole:
                    vectors = output.pooler_output.float().cpu()
                    shares = torch.tensor([[sum(piece.weights)] for piece in chosen])
                    out[0].index_add_(0, torch.tensor([piece.rows[0] for piece in chosen]), shares * vectors)
                else:
                    states = self._states(output, layers, stacked)  # (k, tokens with padding, d)
                    _add(torch, out, states, chosen, token_map)
                done += sum(len(piece.ids) for piece in chosen)
                progress(step, done, total)
        progress(step, max(total, 1), max(total, 1))
        result: FloatMatrix = out.numpy()
        return result

    def _probe(self) -> bool:
        """Run it on next to nothing, where sizes in config.json that do not fit one another show, and see whether what
        follows a token changes its vector."""
        torch, padding = self._torch, int(self.tokenizer.pad_token_id)
        ids = torch.tensor([[padding, padding], [padding, 0 if padding else 1]], device=self.device)
        same, other = self._model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[:, 0]
        return self.depth > 0 and bool(torch.allclose(same, other, rtol=1e-4, atol=1e-6))

    def _output(self, pieces: Sequence[Piece], *, hidden: bool) -> Any:
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
        return self._model(
            input_ids=ids.to(self.device), attention_mask=mask.to(self.device), output_hidden_states=hidden
        )

    def _states(self, output: Any, layers: Layers, stacked: bool) -> Any:
        torch = self._torch
        if layers.numbers == (self.depth,):
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
    torch, transformers = libraries()
    with quiet(), clear_errors(loaded.folder), torch.random.fork_rng(devices=[]):
        torch.manual_seed(new_head or 0)
        whole, loading = _masked_class(transformers, loaded.folder).from_pretrained(
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


def _masked_class(transformers: Any, folder: str) -> Any:
    if not is_use_folder(Path(folder)):
        return transformers.AutoModelForMaskedLM
    from isoglot.encoders.use_model import UseForMaskedLM

    return UseForMaskedLM


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
        text = str(tokenizer.backend_tokenizer.to_str())
        # What stands before them, cutting and padding, other libraries set as they go.
        return text[max(text.find('"added_tokens"'), 0) :]
    return json.dumps(tokenizer.get_vocab(), sort_keys=True)
