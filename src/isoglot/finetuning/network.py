"""The network that is trained: an encoder, sometimes its head for masked tokens, and the losses of a batch.

One call computes the loss of one batch (of a language pair, of text, or of words), so that a wrapper for several
processes sees a whole forward pass. Each process encodes its share of the sentences and receives the hidden states of
the others, so that every objective sees the whole batch: contrasts and counts are the same as in a single process.
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
from isoglot.finetuning.grown_embedding import grow_in_place, merge_in_place
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, Predictions
from isoglot.finetuning.objectives.mlm import IGNORED, MLM, Masked, Vocabulary
from isoglot.finetuning.settings import TrainingSettings

#: Where the head for masked tokens hangs.
_HEADS = ("cls", "lm_head", "predictions")
#: Number of groups of similar length that a batch is split into on a CPU. Samplers already put sentences of similar
#: length together, but a quarter of a batch is still padding; two groups save a seventh of a step, more save nothing.
_GROUPS = 2


class Network(nn.Module):
    """Encoder and objectives.

    Args:
        loaded: the encoder, which is trained in place.
        objectives: what is to be minimised.
        settings: only `layer`, `freeze`, `lora`, `new_head` and `seed` matter here.
        texts: whether there is monolingual text, whose masked tokens are then guessed.
        old_pieces: number of pieces that the vocabulary had before new ones were added, for `freeze="old"`.
        rank, processes: determine the share of each batch that this process encodes.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        objectives: Sequence[Objective],
        settings: TrainingSettings = TrainingSettings(),
        *,
        texts: bool = False,
        old_pieces: int | None = None,
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
        # Not a submodule: it must not be trained, saved or wrapped.
        self._start: list[Any] = []
        if "start" in needs:
            self._start.append(copy.deepcopy(self.encoder).eval().requires_grad_(False))
        # A model that makes sentence vectors of its own makes them of its last layer.
        self._own_sentences = (
            bool({"sentences", "source"} & needs)
            and self.layer == loaded.depth
            and hasattr(self.encoder, "sentence_vectors")
        )
        if settings.freeze.strip() == "old":
            if old_pieces is None:
                remedy = "set pieces, or freeze something else"
                raise ConfigError("no new pieces, so everything would be frozen", where="freeze", remedy=remedy)
            self.requires_grad_(False)
            grow_in_place(self.encoder, old_pieces)
        else:
            self._freeze(settings.freeze, loaded.depth, loaded.depth if "masked" in needs else self.layer)
        if settings.lora and settings.new_head:
            what = "adapters would learn towards a random head that stays as it is"
            remedy = (
                "learn the head first (`new_head`, with all layers in `freeze`), then the adapters without `new_head`"
            )
            raise ConfigError(what, where="lora", remedy=remedy)
        if settings.lora:
            torch.manual_seed(settings.seed)
            add_adapters(self.encoder, settings.lora)
            for name, parameter in self.named_parameters():
                if "lora_" not in name:  # including the head, which has no adapters
                    parameter.requires_grad_(False)
        if not any(one.requires_grad for one in self.parameters()):
            raise ConfigError("nothing is left to train", where="freeze")

    def trained(self) -> dict[str, nn.Parameter]:
        """Trained parameters, by name."""
        return {name: one for name, one in self.named_parameters() if one.requires_grad}

    def takers(self, kind: type[Batch]) -> tuple[Objective, ...]:
        """The objectives that use batches of this kind."""
        return tuple(one for one in self.objectives if takes(one, kind, self._texts))

    def forward(self, data: Batch, generator: Generator) -> tuple[Tensor, dict[str, tuple[Tensor, int]]]:
        """The weighted loss of a batch, and for each objective its sum over items and their number."""
        objectives = self.takers(type(data))
        batch = EncodedBatch(data, **self._hidden(data, objectives), masked=self._predictions(data, generator))
        loss: Tensor | None = None
        terms: dict[str, tuple[Tensor, int]] = {}
        for one in objectives:
            total, count = one.total(batch)
            if "masked" in one.needs:
                # Each process has seen only its own tokens; the sum over the others has no gradient here.
                whole, count = self._summed(total, count)
                value, total = total * self.processes / max(count, 1), whole
            else:
                # All processes have the same loss; gradients come from their own sentences and are averaged later.
                value = total * self.processes / max(count, 1)
            loss = one.weight * value if loss is None else loss + one.weight * value
            terms[one.objective.name] = (total.detach(), count)
        assert loss is not None
        if not loss.requires_grad:
            # Nothing to learn from, for example no pair short enough for TLM: a gradient of 0, since other processes
            # wait for one.
            loss = loss + 0 * sum(one.sum() for one in self.trained().values())
        return loss, terms

    def start_on(self, device: Any) -> None:
        """Move the frozen copy from before training, which is not a submodule, to a device."""
        self._start = [one.to(device) for one in self._start]

    def merge_adapters(self) -> None:
        """Merge low-rank adapters and vectors of new pieces into the weights and remove them."""
        merge_in_place(self.encoder)
        for name, module in list(self.encoder.named_modules()):
            if hasattr(module, "lora_A"):
                module.merge()
                parent = self.encoder.get_submodule(name.rpartition(".")[0])
                setattr(parent, name.rpartition(".")[2], module.get_base_layer())

    @torch.no_grad()
    def masked_loss(self, batch: TextBatch, generator: Generator) -> tuple[float, int]:
        """The sum over masked tokens of -log p(token), and their number, in this process alone."""
        (objective,) = (one for one in self.takers(TextBatch) if isinstance(one, MLM))
        (masked,) = objective.inputs(batch, self.vocabulary, generator, self.longest)
        logits, labels = self._guess(masked, slice(0, len(batch)))
        total, count = objective.total(EncodedBatch(batch, masked={"mlm": Predictions(logits, labels)}))
        return float(total), count

    def _hidden(self, data: Batch, objectives: Sequence[Objective]) -> dict[str, Tensor]:
        """The hidden states that the objectives need, by their name in `EncodedBatch`."""
        needs = frozenset().union(*(one.needs for one in objectives))
        share = self._share(len(data))
        if isinstance(data, WordBatch):
            return {"alone": self._gathered(self._states(self.encoder, data.side, share), len(data))}
        if not isinstance(data, PairBatch) or not needs - {"masked"}:
            return {}
        sides = {"src": data.src, "tgt": data.tgt} if needs - {"source", "teacher"} else {"src": data.src}
        hidden = {
            which: self._gathered(self._states(self.encoder, side, share), len(data)) for which, side in sides.items()
        }
        if self._own_sentences:
            for which, side in sides.items():
                # Each process makes those of its own share, or the gradient of what makes them would count too often.
                own = self.encoder.sentence_vectors(hidden[which][share], side.mask[share])
                hidden[f"{which}_sentences"] = self._gathered(own, len(data))
        if "start" in needs:
            with torch.no_grad():
                hidden["start"] = self._gathered(self._states(self._start[0], data.tgt, share), len(data))
        return hidden

    def _states(self, encoder: Any, side: Side, share: slice) -> Tensor:
        """Hidden states (b, T, d) of the rows of a share, encoded in groups of similar length to save padding."""
        ids, mask = _inputs(side, share)
        if ids.device.type != "cpu":  # reading lengths would wait for the GPU, where padding is cheap
            return self._layer_states(encoder, ids, mask)[: share.stop - share.start]
        # One lookup for all groups: its gradient is as large as the vocabulary.
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
        output = encoder(**inputs, output_hidden_states=True)
        return output.hidden_states[self.layer]  # type: ignore[no-any-return]

    def _predictions(self, data: Batch, generator: Generator) -> dict[str, Predictions]:
        predictions: dict[str, Predictions] = {}
        if not isinstance(data, PairBatch | TextBatch):
            return predictions
        for one in self.takers(type(data)):
            if isinstance(one, MLM):
                # All processes draw the same masks; each uses those of its own sentences.
                drawn = one.inputs(data, self.vocabulary, generator, self.longest)
                guesses = [self._guess(masked, self._share(len(masked.side))) for masked in drawn]
                if guesses:
                    logits, labels = (torch.cat(parts) for parts in zip(*guesses, strict=True))
                    predictions[one.objective.name] = Predictions(logits, labels)
                else:
                    device = next(self.parameters()).device
                    nothing = torch.zeros(0, self.vocabulary.size, device=device)
                    predictions[one.objective.name] = Predictions(
                        nothing, torch.zeros(0, dtype=torch.long, device=device)
                    )
        return predictions

    def _guess(self, masked: Masked, share: slice) -> tuple[Tensor, Tensor]:
        """Scores of the vocabulary for the masked tokens, and the tokens that were there."""
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
        """Hidden states of the whole batch; only our own share has a gradient."""
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
        """Totals over all processes."""
        if self.processes == 1:
            return total, count
        both = torch.stack([total.detach().double(), total.new_tensor(count).double()])
        torch.distributed.all_reduce(both)
        return both[0], int(both[1])

    def _freeze(self, what: str, depth: int, top: int) -> None:
        """Freeze the named layers, those above the top one, and what no loss reaches."""
        for name, parameter in self.named_parameters():
            if "pooler" in name or (name.startswith("encoder.sentence.") and not self._own_sentences):
                parameter.requires_grad_(False)
        stack = layer_stack(self.encoder)
        frozen = {number for number in range(depth + 1) if number > top} | parse_frozen(what, depth)
        if what and stack is None:
            raise ConfigError(f"cannot find the layers of a {self.encoder.config.model_type}", where="freeze")
        if stack is None:
            return
        for number, layer in enumerate(stack, start=1):
            if number in frozen:
                layer.requires_grad_(False)
        if 0 in frozen:
            self.encoder.embeddings.requires_grad_(False)


def takes(objective: Objective, kind: type[Batch], texts: bool) -> bool:
    """Whether an objective uses batches of a kind; `texts` says whether there is monolingual text."""
    if "static" in objective.needs:
        return kind is WordBatch
    if texts and isinstance(objective, MLM) and objective.monolingual:
        return kind is TextBatch
    return kind is PairBatch


def _inputs(side: Side, share: slice) -> tuple[Tensor, Tensor]:
    """Tokens and mask for a model. An empty share gets one sentence, which is ignored, as models need at least one."""
    rows = share if share.stop > share.start else slice(0, 1)
    return side.ids[rows], side.mask[rows].long()


def parse_frozen(text: str, depth: int) -> set[int]:
    """Numbers of the layers not to train; 0, or "embeddings", is the embedding layer.

    >>> sorted(parse_frozen("embeddings, 2-4", 6))
    [0, 2, 3, 4]
    """
    layers: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.replace("embeddings", "0"))
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= depth:
            raise ConfigError(
                f"cannot freeze {part!r} of an encoder with {depth} layers",
                where="freeze",
                remedy="write it like embeddings,1-3",
            )
        layers.update(range(first, last + 1))
    return layers


def _layer(number: int, depth: int) -> int:
    if not -depth - 1 <= number <= depth:
        raise ConfigError(f"an encoder of {depth} layers has no layer {number}", where="layer")
    return number if number >= 0 else depth + 1 + number


def add_adapters(encoder: Any, rank: int) -> None:
    """Put low-rank adapters on all linear layers; weights that were frozen get none that learns."""
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
