"""Sentences of a batch are encoded in groups of like length, which changes neither losses nor gradients."""

from __future__ import annotations

import pytest

from isoglot.encoders import Encoder
from isoglot.training import make_pair, parse_recipe

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def batch(parallel, tiny):
    """Of very unequal lengths, not in their order."""
    lengths = (3, 1, 9, 2, 12, 5, 1)
    src, tgt = (
        [list(words)[:length] for words, length in zip(side, lengths, strict=False)]
        for side in (parallel.src, parallel.tgt)
    )
    return make_pair(tiny.model.tokenizer, src, tgt, 96, pair="north-south")


@pytest.fixture
def network(tiny_folder):
    from isoglot.training.network import Network

    def make(recipe, **options):
        return Network(Encoder(tiny_folder, device="cpu").model, parse_recipe(recipe), **options).double()

    return make


@pytest.mark.parametrize("layer", [-1, 1])
def test_states_are_those_of_each_sentence_alone(network, batch, layer):
    made, side = network("word_ot", layer=layer), batch.src
    found = made._states(made.encoder, side, slice(1, 6))
    assert found.shape[:2] == (5, side.ids.shape[1])
    for row, states in enumerate(found, start=1):
        length = int(side.mask[row].sum())
        own = slice(row, row + 1)
        alone = made.encoder(
            input_ids=side.ids[own, :length],
            attention_mask=side.mask[own, :length].long(),
            output_hidden_states=True,
        )
        torch.testing.assert_close(states[:length], alone.hidden_states[layer][0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("recipe", ["word_ot", "sentence_contrastive"])
def test_gradients_are_those_of_one_group(network, batch, recipe, monkeypatch):
    gradients = []
    for groups in (1, 3):
        monkeypatch.setattr("isoglot.training.network._GROUPS", groups)
        made = network(recipe)
        loss, _ = made(batch, torch.Generator())
        loss.backward()
        gradients.append({name: one.grad for name, one in made.trained().items()})
    first, second = gradients
    assert any(float(one.abs().max()) > 1e-3 for one in first.values())
    for name, one in first.items():
        torch.testing.assert_close(second[name], one, rtol=1e-8, atol=1e-10)
