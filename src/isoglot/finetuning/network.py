"""The network that is trained: an encoder, sometimes its head for masked tokens, and the losses of a batch.

One call takes one batch (of one pair of languages, of text, or of words) to its loss, so that a wrapper for several
processes sees a whole forward pass. Each process encodes its share of the sentences and is told the hidden states of
the others, so that every objective sees the whole batch: sentences to be told apart, and counts to be divided by, are
those of one process.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from isoglot.encoders import LoadedModel, layer_stack, load_masked_model
from isoglot.errors import ConfigError, MissingExtraError
from isoglot.finetuning.batches import Batch, PairBatch, Side, TextBatch, WordBatch
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, Predictions
from isoglot.finetuning.objectives.mlm import IGNORED, MLM, Masked, Vocabulary
from isoglot.finetuning.settings import TrainingSettings

#: Where the head for masked tokens hangs.
_HEADS = ("cls", "lm_head", "predictions")
#: Into so many groups of like length a batch is split on a processor. Samplers put sentences of like length together
#: already; a quarter of a batch is padding all the same, and two groups take a seventh off a step. More gain nothing.
_GROUPS = 2


class Network(nn.Module):
    """Encoder and objectives.

    Args:
        loaded: the encoder, which is trained in place.
        objectives: what is to be minimised.
        settings: of which `layer`, `freeze`, `lora`, `new_head` and `seed` count here.
        texts: whether there is monolingual text, in which masked tokens are then guessed.
        rank, processes: which share of each batch this process encodes.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        objectives: Sequence[Objective],
        settings: TrainingSettings = TrainingSettings(),
        *,
        texts: bool = False,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        super().__init__()
        self.objectives = tuple(objectives)
        needs = frozenset().union(*(one.needs for one in self.objectives))
        self.layer = _layer(settings.layer, loaded.depth)
        self.rank, self.processes = rank, processes
        self.longest = loaded.longest
        self._texts = texts
        self.masked: Any = None
        if "masked" in needs:
            self.masked = load_masked_model(loaded, new_head=settings.seed if settings.new_head else None)
            self.head = next((getattr(self.masked, name) for name in _HEADS if hasattr(self.masked, name)), None)
            self.vocabulary = Vocabulary.of(loaded.tokenizer)
        self.encoder: Any = loaded.network
        # Not a submodule: it is neither trained nor saved nor wrapped.
        self._start: list[Any] = []
        if "start" in needs:
            self._start.append(copy.deepcopy(self.encoder).eval().requires_grad_(False))
        self._freeze(settings.freeze, loaded.depth, loaded.depth if "masked" in needs else self.layer)
        if settings.lora:
            torch.manual_seed(settings.seed)
            _add_adapters(self.encoder, settings.lora)
            for name, parameter in self.named_parameters():
                if "lora_" not in name:  # the head is not the encoder's
                    parameter.requires_grad_(False)
        if not any(one.requires_grad for one in self.parameters()):
            raise ConfigError("nothing is left to train", where="freeze")

    def trained(self) -> dict[str, nn.Parameter]:
        """What is trained, by name."""
        return {name: one for name, one in self.named_parameters() if one.requires_grad}

    def takers(self, kind: type[Batch]) -> tuple[Objective, ...]:
        """The objectives that take batches of this kind."""
        return tuple(one for one in self.objectives if takes(one, kind, self._texts))

    def forward(self, data: Batch, generator: Generator) -> tuple[Tensor, dict[str, tuple[Tensor, int]]]:
        """The weighted loss of a batch, and by objective its sum over all items and how many there are."""
        objectives = self.takers(type(data))
        batch = EncodedBatch(data, **self._hidden(data, objectives), masked=self._predictions(data, generator))
        loss: Tensor | None = None
        terms: dict[str, tuple[Tensor, int]] = {}
        for one in objectives:
            total, count = one.total(batch)
            if "masked" in one.needs:
                # Each process has seen its own tokens only; a sum of what the others saw has no gradient here.
                whole, count = self._summed(total, count)
                value, total = total * self.processes / max(count, 1), whole
            else:
                # All processes know the same loss; its gradient comes from their own sentences, and is averaged later.
                value = total * self.processes / max(count, 1)
            loss = one.weight * value if loss is None else loss + one.weight * value
            terms[one.objective.name] = (total.detach(), count)
        assert loss is not None
        if not loss.requires_grad:
            # Nothing to learn from, such as no pair that is short enough for TLM: a gradient of 0, which other
            # processes wait for.
            loss = loss + 0 * sum(one.sum() for one in self.trained().values())
        return loss, terms

    def start_on(self, device: Any) -> None:
        """Move the frozen start, which is no submodule, to a device."""
        self._start = [one.to(device) for one in self._start]

    def merge_adapters(self) -> None:
        """Put what low-rank adapters have learned into the weights, and take them away."""
        for name, module in list(self.encoder.named_modules()):
            if hasattr(module, "lora_A"):
                module.merge()
                parent = self.encoder.get_submodule(name.rpartition(".")[0])
                setattr(parent, name.rpartition(".")[2], module.get_base_layer())

    @torch.no_grad()
    def masked_loss(self, batch: TextBatch, generator: Generator) -> tuple[float, int]:
        """The sum over masked tokens of -log p(token), and how many there are, by this process alone."""
        (objective,) = (one for one in self.takers(TextBatch) if isinstance(one, MLM))
        (masked,) = objective.inputs(batch, self.vocabulary, generator, self.longest)
        logits, labels = self._guess(masked, slice(0, len(batch)))
        total, count = objective.total(EncodedBatch(batch, masked={"mlm": Predictions(logits, labels)}))
        return float(total), count

    def _hidden(self, data: Batch, objectives: Sequence[Objective]) -> dict[str, Tensor]:
        """What the objectives need, by its name in `EncodedBatch`."""
        needs = frozenset().union(*(one.needs for one in objectives))
        share = self._share(len(data))
        if isinstance(data, WordBatch):
            return {"alone": self._gathered(self._states(self.encoder, data.side, share), len(data))}
        if not isinstance(data, PairBatch) or not needs - {"masked"}:
            return {}
        found = {
            which: self._gathered(self._states(self.encoder, side, share), len(data))
            for which, side in (("src", data.src), ("tgt", data.tgt))
        }
        if "start" in needs:
            with torch.no_grad():
                found["start"] = self._gathered(self._states(self._start[0], data.tgt, share), len(data))
        return found

    def _states(self, encoder: Any, side: Side, share: slice) -> Tensor:
        """Hidden states (b, T, d) of the rows of a share; short rows are not encoded at the width of the longest."""
        ids, mask = _inputs(side, share)
        if ids.device.type != "cpu":  # the sizes would be waited for, and a graphics card has room for padding
            return self._layer_states(encoder, ids, mask)[: share.stop - share.start]
        # Looked up once for all groups: the gradient of a lookup is as large as the vocabulary.
        vectors = encoder.get_input_embeddings()(ids)
        lengths = mask.sum(1)
        groups = [rows for rows in lengths.argsort(stable=True).chunk(_GROUPS) if len(rows)]
        parts = []
        for rows in groups:
            width = int(lengths[rows].max())
            states = self._layer_states(encoder, None, mask[rows, :width], vectors[rows, :width])
            parts.append(nn.functional.pad(states, (0, 0, 0, ids.shape[1] - width)))
        return torch.cat(parts)[torch.cat(groups).argsort()][: share.stop - share.start]

    def _layer_states(self, encoder: Any, ids: Tensor | None, mask: Tensor, vectors: Tensor | None = None) -> Tensor:
        inputs = {"input_ids": ids, "inputs_embeds": vectors, "attention_mask": mask}
        if self.layer == int(encoder.config.num_hidden_layers):
            return encoder(**inputs).last_hidden_state  # type: ignore[no-any-return]
        found = encoder(**inputs, output_hidden_states=True)
        return found.hidden_states[self.layer]  # type: ignore[no-any-return]

    def _predictions(self, data: Batch, generator: Generator) -> dict[str, Predictions]:
        found: dict[str, Predictions] = {}
        if not isinstance(data, PairBatch | TextBatch):
            return found
        for one in self.takers(type(data)):
            if isinstance(one, MLM):
                # All processes draw the same masks; each then takes those of its sentences.
                drawn = one.inputs(data, self.vocabulary, generator, self.longest)
                guesses = [self._guess(masked, self._share(len(masked.side))) for masked in drawn]
                if guesses:
                    logits, labels = (torch.cat(parts) for parts in zip(*guesses, strict=True))
                    found[one.objective.name] = Predictions(logits, labels)
                else:
                    device = next(self.parameters()).device
                    nothing = torch.zeros(0, self.vocabulary.size, device=device)
                    found[one.objective.name] = Predictions(nothing, torch.zeros(0, dtype=torch.long, device=device))
        return found

    def _guess(self, masked: Masked, share: slice) -> tuple[Tensor, Tensor]:
        """Scores of the vocabulary for the masked tokens, and what they were."""
        labels = masked.labels[share].flatten()
        places = (labels != IGNORED).nonzero()[:, 0]
        ids, mask = _inputs(masked.side, share)
        if self.head is None:
            logits = self.masked(input_ids=ids, attention_mask=mask).logits.flatten(0, 1)[places]
        else:
            hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            logits = self.head(hidden.flatten(0, 1)[places])
        return logits, labels[places]

    def _share(self, rows: int) -> slice:
        """The sentences of a batch that this process encodes."""
        return slice(rows * self.rank // self.processes, rows * (self.rank + 1) // self.processes)

    def _gathered(self, own: Tensor, rows: int) -> Tensor:
        """Hidden states of the whole batch, of which our own have a gradient."""
        if self.processes == 1:
            return own
        most = -(-rows // self.processes)
        padded = torch.cat([own.detach(), own.new_zeros(most - len(own), *own.shape[1:])])
        parts = [torch.empty_like(padded) for _ in range(self.processes)]
        torch.distributed.all_gather(parts, padded)
        bounds = [rows * rank // self.processes for rank in range(self.processes + 1)]
        whole = [part[: bounds[rank + 1] - bounds[rank]] for rank, part in enumerate(parts)]
        whole[self.rank] = own
        return torch.cat(whole)

    def _summed(self, total: Tensor, count: int) -> tuple[Tensor, int]:
        """Of all processes together."""
        if self.processes == 1:
            return total, count
        both = torch.stack([total.detach().double(), total.new_tensor(count).double()])
        torch.distributed.all_reduce(both)
        return both[0], int(both[1])

    def _freeze(self, what: str, depth: int, top: int) -> None:
        """Stop training of the named layers, of those above the top one, and of what no loss reaches."""
        for name, parameter in self.named_parameters():
            if "pooler" in name:
                parameter.requires_grad_(False)
        stack = layer_stack(self.encoder)
        frozen = {number for number in range(depth + 1) if number > top} | parse_frozen(what, depth)
        if what and stack is None:
            raise ConfigError(f"layers of a {self.encoder.config.model_type} cannot be told apart", where="freeze")
        if stack is None:
            return
        for number, layer in enumerate(stack, start=1):
            if number in frozen:
                layer.requires_grad_(False)
        if 0 in frozen:
            self.encoder.embeddings.requires_grad_(False)


def takes(objective: Objective, kind: type[Batch], texts: bool) -> bool:
    """Whether an objective takes batches of a kind; `texts` tells whether there is monolingual text."""
    if "static" in objective.needs:
        return kind is WordBatch
    if texts and isinstance(objective, MLM) and objective.monolingual:
        return kind is TextBatch
    return kind is PairBatch


def _inputs(side: Side, share: slice) -> tuple[Tensor, Tensor]:
    """Tokens and mask for a model. It cannot take no sentence at all: it then gets one, which counts for nothing."""
    rows = share if share.stop > share.start else slice(0, 1)
    return side.ids[rows], side.mask[rows].long()


def parse_frozen(text: str, depth: int) -> set[int]:
    """Numbers of the layers that are not to be trained; 0, or "embeddings", are the vectors of the vocabulary.

    >>> sorted(parse_frozen("embeddings, 2-4", 6))
    [0, 2, 3, 4]
    """
    found: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.replace("embeddings", "0"))
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= depth:
            raise ConfigError(
                f"cannot freeze {part!r} of an encoder with {depth} layers",
                where="freeze",
                remedy="write it as embeddings,1-3",
            )
        found.update(range(first, last + 1))
    return found


def _layer(number: int, depth: int) -> int:
    if not -depth - 1 <= number <= depth:
        raise ConfigError(f"an encoder of {depth} layers has no layer {number}", where="layer")
    return number if number >= 0 else depth + 1 + number


def _add_adapters(encoder: Any, rank: int) -> None:
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingExtraError("peft", "training", "training with low-rank adapters") from error
    names = {name.rpartition(".")[2] for name, one in encoder.named_modules() if isinstance(one, nn.Linear)}
    frozen = {name for name, one in encoder.named_parameters() if not one.requires_grad}
    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=sorted(names)), encoder)
    for name, parameter in encoder.named_parameters():
        original = name.replace(".lora_A.default", "").replace(".lora_B.default", "")
        if original in frozen:
            parameter.requires_grad_(False)
