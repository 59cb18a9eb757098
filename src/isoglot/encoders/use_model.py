"""The universal sentence encoder, multilingual, as a model of transformers (Yang et al. 2020, the convolutional one).

Pieces are embedded; three stacks of two convolutions over 2, 3 and 5 neighbouring pieces add context; embedding and
stacks side by side, normalised and projected, are the vectors of tokens (layer 1; layer 0 is the embedding). Their sum
over the root of their number goes through two residual layers: the vector of the sentence, `pooler_output`.

Importing this module registers the model with transformers' Auto classes, so that all that works with a folder of
transformers works with it; a folder of the package's two files (see `use_weights`) opens as well as one that
`save_pretrained` wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import BaseModelOutputWithPooling, MaskedLMOutput

from isoglot.encoders.sentencepiece import tokenizer_json
from isoglot.encoders.use_weights import (
    LONGEST,
    MASK,
    ORDERS,
    PADDING,
    PIECES,
    UseWeights,
    is_use_folder,
    read_use_weights,
)

MODEL_TYPE = "use-multilingual"


class UseConfig(PreTrainedConfig):  # type: ignore[misc]
    """Sizes: of the vocabulary, of vectors, of each convolution, and of the sentence's inner layer."""

    model_type = MODEL_TYPE

    def __init__(
        self,
        vocab_size: int = 128_010,
        hidden_size: int = 512,
        convolution_size: int = 256,
        sentence_size: int = 320,
        layer_norm_eps: float = 1e-12,
        initializer_range: float = 0.02,
        pad_token_id: int = 3,
        **more: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.convolution_size = convolution_size
        self.sentence_size = sentence_size
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range
        self.num_hidden_layers = 1
        self.max_position_embeddings = LONGEST
        super().__init__(pad_token_id=pad_token_id, **{"tie_word_embeddings": True, **more})


class UseModel(PreTrainedModel):  # type: ignore[misc]
    """Tokens to vectors of tokens and of sentences."""

    config_class = UseConfig
    base_model_prefix = "encoder"

    def __init__(self, config: UseConfig) -> None:
        super().__init__(config)
        width, inner = config.hidden_size, config.convolution_size
        stacked, features = len(ORDERS) * inner, width + len(ORDERS) * inner
        self.embeddings = nn.Embedding(config.vocab_size, width)
        self.input_projection = nn.Linear(width, stacked)
        self.input_norm = nn.LayerNorm(stacked, eps=config.layer_norm_eps)
        self.convolutions = nn.ModuleList(_Stack(inner, order, before) for order, before in ORDERS)
        self.output_norm = nn.LayerNorm(features, eps=config.layer_norm_eps)
        self.output_projection = nn.Linear(features, width)
        self.sentence = _SentenceHead(width, config.sentence_size)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.embeddings = value

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_hidden_states: bool | None = None,
        **_: Any,
    ) -> BaseModelOutputWithPooling:
        embedded = self.embeddings(input_ids) if inputs_embeds is None else inputs_embeds  # (b, T, d)
        mask = embedded.new_ones(embedded.shape[:2]) if attention_mask is None else attention_mask.to(embedded.dtype)
        inner = self.input_norm(self.input_projection(embedded)).chunk(len(ORDERS), dim=-1)
        stacks = [stack(part, mask) for stack, part in zip(self.convolutions, inner, strict=True)]
        tokens = self.output_projection(self.output_norm(torch.cat([embedded, *stacks], dim=-1)))
        return BaseModelOutputWithPooling(
            last_hidden_state=tokens,
            pooler_output=self.sentence_vectors(tokens, mask),
            hidden_states=(embedded, tokens) if output_hidden_states else None,
        )

    def sentence_vectors(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The vectors of sentences (b, d), of length one, from those of their tokens (b, T, d)."""
        weights = mask.to(tokens.dtype)
        vectors: Tensor = self.sentence((tokens * weights[..., None]).sum(1), weights.sum(1))
        return vectors

    @classmethod
    def from_pretrained(cls, name: Any, *arguments: Any, **settings: Any) -> Any:
        """As transformers does it, and from the package's own files."""
        if not is_use_folder(Path(name)):
            return super().from_pretrained(name, *arguments, **settings)
        weights = read_use_weights(Path(name))
        with torch.device("meta"):
            model = cls(_config_of(weights))
        model.load_state_dict(_state(weights, model.config.vocab_size), assign=True)
        return model.to(settings.get("dtype") or torch.float32).eval()


class UseForMaskedLM(PreTrainedModel):  # type: ignore[misc]
    """With a head that guesses masked pieces; its last weights are the embeddings."""

    config_class = UseConfig
    base_model_prefix = "encoder"
    _tied_weights_keys: ClassVar[dict[str, str]] = {"lm_head.decoder.weight": "encoder.embeddings.weight"}

    def __init__(self, config: UseConfig) -> None:
        super().__init__(config)
        self.encoder = UseModel(config)
        self.lm_head = _MaskedHead(config)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head.decoder

    def set_output_embeddings(self, value: nn.Linear) -> None:
        self.lm_head.decoder = value

    def forward(self, **inputs: Any) -> MaskedLMOutput:
        return MaskedLMOutput(logits=self.lm_head(self.encoder(**inputs).last_hidden_state))

    @classmethod
    def from_pretrained(cls, name: Any, *arguments: Any, **settings: Any) -> Any:
        """As transformers does it; the package's own files hold no head, so that it is a new one."""
        if not is_use_folder(Path(name)):
            return super().from_pretrained(name, *arguments, **settings)
        encoder = UseModel.from_pretrained(name, **settings)
        model = cls(encoder.config).to(encoder.dtype)
        model.encoder = encoder
        model.tie_weights()
        return model, {"missing_keys": {f"lm_head.{name}" for name, _ in model.lm_head.named_parameters()}}


class _MaskedHead(nn.Module):
    def __init__(self, config: UseConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=1e-5)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.decoder(self.norm(nn.functional.gelu(self.dense(tokens))))
        return scores


def use_tokenizer(folder: Path) -> Any:
    """The tokenizer of the package's SentencePiece vocabulary."""
    from tokenizers import Tokenizer

    marks = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer_json(folder / PIECES)),
        pad_token=PADDING,
        mask_token=MASK,
        model_max_length=LONGEST,
        **marks,
    )


class _Stack(nn.Module):
    """Two convolutions over so many pieces, each added to its input; beyond the sentence there are zeros."""

    def __init__(self, width: int, order: int, before: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(width, width, order)
        self.second = nn.Conv1d(width, width, order)
        self._around = (before, order - 1 - before)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        inside = mask[:, None]  # (b, 1, T)
        states = states.transpose(1, 2)
        for convolution in (self.first, self.second):
            states = states * inside
            states = states + torch.relu(convolution(nn.functional.pad(states, self._around)))
        return states.transpose(1, 2)


class _SentenceHead(nn.Module):
    """Two residual layers without biases over the sum of the tokens, scaled by the root of their number."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, inner, bias=False)
        self.second = nn.Linear(inner, inner, bias=False)
        self.skip = nn.Linear(width, inner, bias=False)
        self.third = nn.Linear(inner, width, bias=False)
        self.fourth = nn.Linear(width, width, bias=False)
        self.last_skip = nn.Linear(inner, width, bias=False)

    def forward(self, total: Tensor, count: Tensor) -> Tensor:
        mean = total / count.clamp(min=1).sqrt()[:, None]
        inner = torch.relu(self.skip(mean) + self.second(torch.relu(self.first(mean))))
        outer = torch.tanh(self.last_skip(inner) + self.fourth(torch.relu(self.third(inner))))
        return nn.functional.normalize(outer, dim=-1)


def _config_of(weights: UseWeights) -> UseConfig:
    width, inner = weights.arrays["d0"].shape
    convolution = weights.arrays["b1_2"].shape[0]
    return UseConfig(
        len(weights.table),
        width,
        convolution_size=convolution,
        sentence_size=inner,
        layer_norm_eps=weights.eps,
        dtype="float32",
    )


def _state(weights: UseWeights, rows: int) -> dict[str, Tensor]:
    """The file's weights under the module's names."""
    plain = weights.arrays
    state = {
        "embeddings.weight": weights.embeddings(np.arange(rows)),
        "input_projection.weight": weights.joined("proj").T,
        "input_projection.bias": weights.joined("proj_b"),
        "input_norm.weight": weights.joined("ln_g"),
        "input_norm.bias": weights.joined("ln_b"),
        "output_norm.weight": plain["ln_g"],
        "output_norm.bias": plain["ln_b"],
        "output_projection.weight": plain["cnn_W"].T,
        "output_projection.bias": plain["cnn_b"],
    }
    for number, (order, _) in enumerate(ORDERS):
        for name, there in (("first", "1"), ("second", "2")):
            matrix = plain[f"w{there}_{order}"]  # (places x in, out)
            width = matrix.shape[1]
            state[f"convolutions.{number}.{name}.weight"] = matrix.reshape(order, width, width).transpose(2, 1, 0)
            state[f"convolutions.{number}.{name}.bias"] = plain[f"b{there}_{order}"]
    names = {"first": "d0", "second": "d1", "skip": "p1", "third": "d2", "fourth": "d3", "last_skip": "p3"}
    state |= {f"sentence.{name}.weight": plain[there].T for name, there in names.items()}
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in state.items()}


AutoConfig.register(MODEL_TYPE, UseConfig, exist_ok=True)
AutoModel.register(UseConfig, UseModel, exist_ok=True)
AutoModelForMaskedLM.register(UseConfig, UseForMaskedLM, exist_ok=True)
AutoTokenizer.register(UseConfig, fast_tokenizer_class=PreTrainedTokenizerFast, exist_ok=True)
