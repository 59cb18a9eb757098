"""Sentences of a batch are encoded in groups of like length, which changes neither losses nor gradients."""

from __future__ import annotations

import pytest

from isoglot.encoders import Encoder
from isoglot.finetuning import TrainingSettings, make_pair, parse_recipe

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
    from isoglot.finetuning.network import Network

    def make(recipe, **options):
        settings = TrainingSettings(**options)
        return Network(Encoder(tiny_folder, device="cpu").model, parse_recipe(recipe), settings).double()

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
        monkeypatch.setattr("isoglot.finetuning.network._GROUPS", groups)
        made = network(recipe)
        loss, _ = made(batch, torch.Generator())
        loss.backward()
        gradients.append({name: one.grad for name, one in made.trained().items()})
    first, second = gradients
    assert any(float(one.abs().max()) > 1e-3 for one in first.values())
    for name, one in first.items():
        torch.testing.assert_close(second[name], one, rtol=1e-8, atol=1e-10)


def test_a_new_head_follows_the_seed_and_leaves_the_encoder_alone(headless_folder, tiny_folder):
    from isoglot.finetuning.network import Network

    def made(folder, seed):
        recipe = parse_recipe("mlm")
        return Network(
            Encoder(folder, device="cpu").model,
            recipe,
            TrainingSettings(new_head=True, freeze="embeddings,1-3", seed=seed),
        )

    before = torch.get_rng_state()
    first, same, other = made(headless_folder, 4), made(headless_folder, 4), made(headless_folder, 5)
    assert torch.equal(torch.get_rng_state(), before)
    weights = [dict(one.head.named_parameters()) for one in (first, same, other)]
    for name, one in weights[0].items():
        assert torch.equal(one, weights[1][name]), name
    assert not torch.equal(*(one["predictions.transform.dense.weight"] for one in (weights[0], weights[2])))
    # Only the head is trained, and not the word vectors that it shares with the frozen encoder.
    assert {name.partition(".")[0] for name in first.trained()} == {"masked"}
    assert sorted(name for name in first.trained() if "cls." not in name or "decoder.weight" in name) == []
    # A head that is there stays.
    own, kept = Encoder(tiny_folder, device="cpu"), made(tiny_folder, 4)
    head = Network(own.model, parse_recipe("mlm")).head.state_dict()
    for name, one in kept.head.state_dict().items():
        assert torch.equal(one, head[name]), name


def test_an_encoder_without_a_head_says_how_to_learn_one(headless_folder):
    from isoglot.errors import ConfigError, InputError
    from isoglot.finetuning.network import Network

    with pytest.raises(InputError, match=r"has no head for masked tokens .*learn one \(set `new_head`\)"):
        Network(Encoder(headless_folder, device="cpu").model, parse_recipe("mlm"))
    with pytest.raises(
        ConfigError, match="lora: adapters would learn towards a random head that stays as it is; learn"
    ):
        Network(
            Encoder(headless_folder, device="cpu").model, parse_recipe("mlm"), TrainingSettings(lora=4, new_head=True)
        )
