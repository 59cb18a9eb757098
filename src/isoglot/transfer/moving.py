"""Low-rank adapters and a head, trained on one encoder, put onto another of the same shape: as in MAD-X.

In MAD-X (Pfeiffer et al. 2020) a task adapter is trained upon the adapter of one language, and tested upon that
of another. Here a language's adapter is merged into its encoder, so it is all other weights that change.
"""

from __future__ import annotations

from typing import Any

from isoglot.encoders import LoadedModel
from isoglot.errors import ConfigError


def move_onto(model: Any, tokenizer: Any, encoder: LoadedModel) -> None:
    """Give the model all weights of the encoder but those that were trained.

    Args:
        model: a transformers model with a head, whose trained weights require a gradient.
        tokenizer: the one that the model reads by.
    """
    import torch

    if tokenizer.get_vocab() != encoder.tokenizer.get_vocab():
        raise ConfigError("has another vocabulary than the encoder of training", where=encoder.folder)
    others = encoder.network.state_dict()
    frozen = {
        name.replace(".base_layer", ""): weights
        for name, weights in model.base_model.named_parameters()
        if not weights.requires_grad
    }
    for name, weights in frozen.items():
        if name not in others or others[name].shape != weights.shape:
            raise ConfigError("has other weights than the encoder of training", where=encoder.folder)
    with torch.no_grad():
        for name, weights in frozen.items():
            weights.copy_(others[name])
