"""From tokens to the vector of a sentence in sentence-transformers' own modules, for every pooling of an `Encoder`."""

from __future__ import annotations

from typing import Any

from isoglot.encoders.encoder import Encoder


def pooling_modules(encoder: Encoder, *, special: bool = True, width: int | None = None) -> list[Any]:
    """The modules that follow the transformer.

    Args:
        special: whether special tokens count; without them, tokens were mapped, and their mean is taken of an encoder
            that otherwise makes sentence vectors of its own.
        width: dimensions of tokens, where maps before these modules changed them.
    """
    from sentence_transformers.sentence_transformer.modules import Pooling, WordWeights

    width = encoder.model.width if width is None else width
    mode = encoder.sentence_pooling
    if mode == "own" and special:
        return [Pooling(width, pooling_mode="mean_sqrt_len_tokens"), *_sentence_head(encoder.model.network.sentence)]
    mode = "mean" if mode == "own" else mode
    pooling = Pooling(width, pooling_mode=mode)
    if mode == "cls" or (special and not encoder.model.causal):
        return [pooling]
    vocabulary = _tokens_by_number(encoder.model.tokenizer)
    # As in `Encoder.sentences`: no weight for special tokens.
    return [WordWeights(vocabulary, {vocabulary[number]: 0.0 for number in encoder.special_tokens}), pooling]


def _sentence_head(head: Any) -> list[Any]:
    """The residual layers of the universal sentence encoder as plain ones: x = relu(x) - relu(-x) carries a vector past
    a layer, and what comes out of a relu passes the next one as it is."""
    import torch
    from sentence_transformers.base.modules import Dense

    def dense(matrix: Any, activation: Any) -> Any:
        outer, inner = matrix.shape
        return Dense(inner, outer, bias=False, activation_function=activation, init_weight=matrix.contiguous())

    first, second, skip, third, fourth, last_skip = (
        getattr(head, name).weight.detach().cpu().float()
        for name in ("first", "second", "skip", "third", "fourth", "last_skip")
    )
    past, inner = torch.eye(first.shape[1]), torch.eye(first.shape[0])
    return [
        dense(torch.cat([first, past, -past]), torch.nn.ReLU()),
        dense(torch.cat([second, skip, -skip], dim=1), torch.nn.ReLU()),
        dense(torch.cat([third, inner]), torch.nn.ReLU()),
        dense(torch.cat([fourth, last_skip], dim=1), torch.nn.Tanh()),
    ]


def _tokens_by_number(tokenizer: Any) -> list[str]:
    found = {number: token for token, number in tokenizer.get_vocab().items()}
    return [found.get(number, f"<{number}>") for number in range(max(found) + 1)]
