"""The loop: what is summed, what moves, which weights are kept, and that a stopped run comes to the same end."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError
from isoglot.finetuning import PRESETS, EncodedBatch, Stopped, make_pair, objective, open_corpus

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def part(lines):
    """Some of the sentences, as a text of this language."""

    def make(lang, begin, count, held_out=0):
        return open_corpus(*(side[begin : begin + count] for side in lines), lang, "south", held_out=held_out)

    return make


def weights(encoder):
    return {name: one.detach().clone() for name, one in encoder.model.network.state_dict().items()}


def moved(before, after):
    """Names of the weights that are not the same bits any more."""
    assert before.keys() == after.keys()
    return {name for name, one in before.items() if not torch.equal(one, after[name])}


def same(before, after):
    return not moved(before, after)


@pytest.fixture
def gradients(monkeypatch):
    """Run a trainer of one step; its gradient by weight, before it is cut to a length."""
    from accelerate import Accelerator

    def run(made):
        found = {}
        whole = Accelerator.clip_grad_norm_

        def look(self, parameters, *rest):
            found.update({name: one.grad.clone() for name, one in made.network.trained().items()})
            return whole(self, parameters, *rest)

        with monkeypatch.context() as patch:
            patch.setattr(Accelerator, "clip_grad_norm_", look)
            made.run()
        return found

    return run


def assert_close(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-3, atol=1e-4)


def test_losses_of_pairs_are_summed_before_a_step(trainer, gradients, part, tmp_path):
    texts = [part("north", 0, 8), part("east", 8, 8)]
    each = []
    losses = []
    for number, corpora in enumerate([texts[:1], texts[1:], texts]):
        made = trainer(
            "word_ot + anchor",
            tmp_path / str(number),
            corpora=corpora,
            steps=1,
            watch=lambda record: losses.append(record),
        )
        each.append(gradients(made))
    assert_close(each[2], {name: each[0][name] + each[1][name] for name in each[0]})
    assert losses[2].loss == pytest.approx(losses[0].loss + losses[1].loss, rel=1e-5)
    assert losses[2].pairs == pytest.approx({"north-south": losses[0].loss, "east-south": losses[1].loss}, rel=1e-5)
    norm = sum(float(one.square().sum()) for one in each[2].values()) ** 0.5
    assert losses[2].gradient == pytest.approx(norm, rel=1e-4)


def test_batches_that_are_accumulated_count_as_one(trainer, gradients, part, tmp_path):
    # Sentences weigh the same in one batch of 16 as in two of 8.
    text = part("north", 0, 16)
    records = []
    two, one = (
        gradients(trainer("word_ot", tmp_path / str(count), corpora=[text], steps=1, watch=records.append, **sizes))
        for count, sizes in ((2, {"batch": 8, "accumulation": 2}), (1, {"batch": 16}))
    )
    assert_close(two, one)
    assert records[0].loss == pytest.approx(records[1].loss, rel=1e-5)
    assert records[0].tokens == records[1].tokens


def test_an_epoch_is_a_pass_over_the_largest_text(trainer, part, tmp_path):
    texts = [part("north", 0, 50), part("east", 50, 20)]
    made = trainer("word_ot", tmp_path, corpora=texts, steps=0, epochs=2, accumulation=2)
    assert made.steps == 6


def test_the_rate_rises_and_falls_and_stands_in_the_log(trainer, tmp_path):
    trainer("word_ot", tmp_path, steps=4, warmup=0.5, learning_rate=1e-3).run()
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [one["step"] for one in log] == [1, 2, 3, 4]
    assert [one["rate"] for one in log] == pytest.approx([5e-4, 1e-3, 1e-3, 5e-4])
    assert all(one["steps"] == 4 and one["seconds"] > 0 and one["tokens"] > 0 for one in log)
    assert all(one["loss"] == pytest.approx(one["terms"]["word_ot"]) for one in log)


def test_the_longest_gradient_may_be_bounded(trainer, tmp_path):
    """Adam looks at directions alone, so that a bound shows only where its small constant does."""
    ends = []
    for clip in (0.0, 1e-9):
        encoder = trainer("word_ot", tmp_path / str(clip), steps=1, clip=clip)
        before = weights(encoder.encoder)
        encoder.run()
        after = weights(encoder.encoder)
        ends.append(sum(float((after[name] - before[name]).abs().sum()) for name in before))
    assert ends[1] < 0.2 * ends[0]


# What moves.


def test_frozen_parts_stay_as_they_are(trainer, tmp_path):
    made = trainer("word_ot", tmp_path, steps=2, freeze="embeddings, 1")
    before = weights(made.encoder)
    made.run()
    changed = moved(before, weights(made.encoder))
    assert {name.split(".")[2] for name in changed} == {"1", "2"}
    assert all(name.startswith("encoder.layer.") for name in changed)


def test_layers_above_the_one_in_training_stay(trainer, tiny_folder, tmp_path):
    made = trainer("word_ot + anchor", tmp_path, encoder=Encoder(tiny_folder, device="cpu", layer=1), steps=2, layer=1)
    before = weights(made.encoder)
    made.run()
    changed = moved(before, weights(made.encoder))
    assert {name.split(".")[2] for name in changed if name.startswith("encoder.")} == {"0"}
    assert any(name.startswith("embeddings.") for name in changed)
    assert made.trained_weights < sum(one.numel() for one in before.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"freeze": "embeddings,1-3"}, "nothing is left to train"),
        ({"freeze": "2-9"}, "cannot freeze '2-9' of an encoder with 3 layers"),
        ({"freeze": "top"}, "cannot freeze 'top'"),
        ({"layer": 4}, "has no layer 4"),
        ({"precision": "fp16"}, "fp16 needs a GPU"),
    ],
)
def test_what_the_encoder_does_not_have_is_refused(trainer, tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        trainer("word_ot", tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def without_adapters(found):
    return {name.replace(".base_layer", ""): one for name, one in found.items() if "lora" not in name}


def test_adapters_learn_while_the_weights_rest(trainer, lines, tmp_path, monkeypatch):
    pytest.importorskip("peft")
    made = trainer("word_ot + anchor + 0.1*mlm", tmp_path, steps=4, lora=2, freeze="1")
    before = without_adapters(weights(made.encoder))
    assert all("lora_" in name for name in made.network.trained())
    assert made.trained_weights < 0.1 * sum(one.numel() for one in before.values())
    outputs = []
    merge = made.network.merge_adapters

    def look():
        assert same(before, without_adapters(weights(made.encoder)))
        outputs.append(made.encoder.sentences(lines[0][:20]))
        merge()

    monkeypatch.setattr(made.network, "merge_adapters", look)
    made.run()
    after = weights(made.encoder)
    assert not any("lora" in name or "base_layer" in name for name in after)
    # The frozen layer, the vectors of words, norms and biases rest after all.
    changed = moved(before, after)
    assert {name.split(".")[2] for name in changed} == {"1", "2"}
    assert all(name.endswith("weight") and "LayerNorm" not in name for name in changed)
    np.testing.assert_allclose(made.encoder.sentences(lines[0][:20]), outputs[0], atol=1e-5)


def test_the_target_language_at_rest_moves_nothing(trainer, tmp_path):
    made = trainer("anchor", tmp_path, steps=3)
    before = weights(made.encoder)
    made.run()
    assert same(before, weights(made.encoder))


# What is learned.


def divergence(encoder, corpus):
    """WordOT of the lines that were held out."""
    text = corpus.text(corpus.held_out)
    sides = [[line.split() for line in side] for side in (text.src, text.tgt)]
    pair = make_pair(encoder.model.tokenizer, *sides, 96)
    with torch.no_grad():
        hidden = [
            encoder.model.network(input_ids=side.ids, attention_mask=side.mask.long()).last_hidden_state
            for side in (pair.src, pair.tgt)
        ]
        return float(objective("word_ot").loss(EncodedBatch(pair, *hidden)))


def test_words_of_new_sentences_come_closer_to_their_translations(trainer, corpus, tmp_path):
    made = trainer("word_ot + anchor", tmp_path, steps=30, learning_rate=2e-3)
    before = divergence(made.encoder, corpus)
    made.run()
    assert divergence(made.encoder, corpus) < 0.8 * before


@pytest.mark.parametrize("name", ["wordot", "subot", "l2"])
def test_presets_of_papers_train(trainer, tmp_path, name):
    records = []
    made = trainer(PRESETS[name], tmp_path, steps=12, batch=24, watch=records.append)
    before = weights(made.encoder)
    outcome = made.run()
    assert (outcome.steps, outcome.chosen, outcome.early) == (12, 12, False)
    assert moved(before, weights(made.encoder))
    first, last = (np.mean([one.loss for one in chosen]) for chosen in (records[:3], records[-3:]))
    assert last < first


def test_all_objectives_may_be_mixed(trainer, tmp_path):
    records = []
    recipe = "word_ot + contrastive + sentence_contrastive + mlm + 0.5*tlm + anchor"
    made = trainer(recipe, tmp_path, steps=4, watch=records.append)
    head = {name: one.detach().clone() for name, one in made.network.trained().items() if ".cls." in name}
    before = weights(made.encoder)
    made.run()
    last = records[-1]
    assert all(value > 0 for value in last.terms.values())
    assert set(last.terms) == {"word_ot", "contrastive", "sentence_contrastive", "mlm", "tlm", "anchor"}
    whole = sum(value * (0.5 if name == "tlm" else 1) for name, value in last.terms.items())
    assert last.loss == pytest.approx(whole, rel=1e-5)
    assert head
    after = dict(made.network.named_parameters())
    assert all(not torch.equal(one, after[name]) for name, one in head.items())
    assert moved(before, weights(made.encoder))


def test_no_pair_is_short_enough_to_be_read_as_one(trainer, lines, tmp_path):
    """TLM alone then has nothing to learn from, which is no error."""
    long = [[" ".join(side[:12]) for _ in range(8)] for side in lines]
    text = open_corpus(*[[f"{line} {number}" for number, line in enumerate(side)] for side in long], "north", "south")
    records = []
    made = trainer("tlm", tmp_path, corpora=[text], steps=1, watch=records.append)
    before = weights(made.encoder)
    made.run()
    assert records[0].terms == {"tlm": 0.0}
    assert same(before, weights(made.encoder))


def test_a_small_text_begins_anew_or_pauses(trainer, part, tmp_path):
    texts = [part("north", 0, 24), part("east", 24, 8)]
    seen = {}
    for upsample in (True, False):
        records = seen.setdefault(upsample, [])
        trainer(
            "word_ot", tmp_path / str(upsample), corpora=texts, steps=4, upsample=upsample, watch=records.append
        ).run()
    assert all(set(one.pairs) == {"north-south", "east-south"} for one in seen[True])
    assert [len(one.pairs) for one in seen[False]] == [2, 1, 1, 2]


def test_batches_may_mix_languages(trainer, part, tmp_path):
    records = []
    texts = [part("north", 0, 16), part("east", 16, 16)]
    trainer("word_ot", tmp_path, corpora=texts, steps=2, mixed=True, watch=records.append).run()
    assert all(set(one.pairs) == {"mixed"} for one in records)


# Which weights are kept.


class Judge:
    """Gives the encoder made-up figures, and remembers its weights."""

    def __init__(self, values, name="semantic"):
        self.values = list(values)
        self.name = name
        self.seen = []

    def __call__(self, encoder):
        self.seen.append(weights(encoder))
        return {self.name: self.values[len(self.seen) - 1]}


def test_the_best_weights_are_kept_and_waiting_ends(trainer, tmp_path):
    judge, told = Judge([0.1, 0.3, 0.6, 0.5, 0.6, 0.9]), []
    watched = {"evaluate_every": 1, "patience": 2, "steps": 9, "choose": "semantic"}
    made = trainer("word_ot", tmp_path, evaluate=judge, tell=told.append, **watched)
    outcome = made.run()
    assert (outcome.steps, outcome.chosen, outcome.early) == (4, 2, True)
    assert (outcome.before, outcome.after) == ({"semantic": 0.1}, {"semantic": 0.6})
    assert same(weights(made.encoder), judge.seen[2])
    assert told == ["no improvement in 2 evaluations: stopping after step 4 of 9"]
    # A run that has come to its end is there to be had again, without a step.
    again = trainer("word_ot", tmp_path, evaluate=Judge([]), **watched)
    repeated = again.run()
    assert (repeated.steps, repeated.chosen, repeated.early) == (4, 2, True)
    assert same(weights(again.encoder), judge.seen[2])


def test_the_last_weights_may_be_chosen(trainer, tmp_path):
    judge = Judge([0.1, 0.9, 0.5])
    made = trainer("word_ot", tmp_path, evaluate=judge, evaluate_every=2, steps=4, choose="last")
    outcome = made.run()
    assert (outcome.steps, outcome.chosen, outcome.early) == (4, 4, False)
    assert outcome.after == {"semantic": 0.5}
    assert same(weights(made.encoder), judge.seen[2])
    assert not same(weights(made.encoder), judge.seen[1])


def test_weights_are_chosen_by_what_held_out_lines_find_and_harm_is_told(trainer, tmp_path):
    judge, told = Judge([]), []
    figures = [(0.5, 0.1, 1.0), (0.4, 0.9, 0.9), (0.7, 0.2, 0.5), (0.7, 0.3, 0.4), (0.6, 0.8, 0.4)]
    judge.values = [dict(zip(("retrieval", "semantic", "spread"), one, strict=True)) for one in figures]
    judge.name = "all"
    evaluate = lambda encoder: judge(encoder)["all"]  # noqa: E731
    outcome = trainer("word_ot", tmp_path, evaluate=evaluate, evaluate_every=1, steps=4, tell=told.append).run()
    assert outcome.chosen == 3  # ties are broken by the criterion
    assert told == [
        "step 1: fewer held-out translations are found than before training (0.400 instead of 0.500)",
        "step 2: vectors draw together (spread 0.50 of what it was): the anchor is too weak or the rate too high",
    ]


def test_without_held_out_translations_the_last_weights_are_kept(trainer, tmp_path):
    outcome = trainer("word_ot", tmp_path, evaluate=Judge([0.1, 0.9, 0.2]), evaluate_every=2, steps=4).run()
    assert outcome.chosen == 4


def test_figures_stand_in_the_log(trainer, tmp_path):
    trainer("word_ot", tmp_path, evaluate=Judge([0.1, 0.2, 0.3]), evaluate_every=2, steps=3).run()
    log = [json.loads(line).get("evaluation") for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert log == [None, {"semantic": 0.2}, {"semantic": 0.3}]


# Repetition and interruption.


def test_a_seed_gives_the_same_bits(trainer, tmp_path):
    ends = []
    for name, seed in (("first", 1), ("second", 1), ("third", 2)):
        made = trainer("word_ot + 0.1*mlm + anchor", tmp_path / name, steps=3, seed=seed)
        made.run()
        ends.append(weights(made.encoder))
    assert same(ends[0], ends[1])
    assert not same(ends[0], ends[2])


def with_dropout(folder):
    encoder = Encoder(folder, device="cpu")
    for module in encoder.model.network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.1
    return encoder


@pytest.mark.parametrize(
    ("number", "changes"),
    [(signal.SIGINT, {}), (signal.SIGTERM, {"dropout": True}), (signal.SIGTERM, {"lora": 2, "choose": "last"})],
    ids=["plain", "dropout", "lora"],
)
def test_an_interrupted_run_comes_to_the_same_end(trainer, tiny_folder, tmp_path, number, changes):
    if "lora" in changes:
        pytest.importorskip("peft")
    values = [0.1, 0.5, 0.2, 0.3]

    def make(folder, judge, **watch):
        encoder = with_dropout(tiny_folder) if "dropout" in changes else None
        return trainer(
            "word_ot + anchor", folder, encoder=encoder, evaluate=judge, evaluate_every=2, steps=6, **changes, **watch
        )

    whole = make(tmp_path / "whole", Judge(values))
    expected = whole.run()

    def interrupt(record):
        if record.step == 3:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(Stopped, match=r"stopped after step 3 of 6"):
        make(tmp_path / "stopped", Judge(values), watch=interrupt).run()
    assert signal.getsignal(number) is before
    told = []
    again = make(tmp_path / "stopped", Judge(values[2:]), tell=told.append)
    outcome = again.run()
    assert told == ["resuming after step 3 of 6"]
    assert (outcome.chosen, outcome.before, outcome.after) == (expected.chosen, expected.before, expected.after)
    assert same(weights(whole.encoder), weights(again.encoder))
    logs = [
        [json.loads(line)["loss"] for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        for name in ("whole", "stopped")
    ]
    assert logs[0] == logs[1]


def test_a_second_interruption_ends_at_once(trainer, tmp_path):
    def insist(record):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer("word_ot", tmp_path, watch=insist).run()


def test_timing_changes_nothing(trainer, tmp_path):
    made = trainer("word_ot + mlm", tmp_path / "run", accumulation=2)
    before = weights(made.encoder)
    seconds, tokens = made.time_batches()
    assert seconds > 0
    assert tokens > 0
    assert same(before, weights(made.encoder))
    assert all(one.grad is None for one in made.network.parameters())
    assert not (tmp_path / "run").exists()
