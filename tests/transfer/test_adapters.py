"""Language adapters and task adapters, as in MAD-X: the task's low-rank adapters stand on those of another language."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file
from tests.conftest import run_program

from isoglot.transfer import HeadSettings, load_head, run_transfer

SMALL = ("steps=12", "blocks=8", "block_length=32", "learning_rate=0.01")


@pytest.fixture(scope="module")
def adapted(tiny_folder, text_files, tmp_path_factory):
    """The tiny encoder with the adapter of each language merged into it."""
    place = tmp_path_factory.mktemp("adapted")
    for lang in ("north", "south"):
        text = f"{lang}={text_files / f'{lang}.txt'}"
        arguments = ("--preset", "language-adapter", "-e", tiny_folder, "--text", text, "--set", *SMALL)
        code, _, errors = run_program("encoder", "finetune", *arguments, "-o", place / lang)
        assert code == 0, errors
    return {lang: place / lang for lang in ("north", "south")}


def weights_of(folder):
    return load_file(folder / "model.safetensors")


def test_an_adapter_moves_the_layers_and_neither_embeddings_nor_head(adapted, tiny_folder):
    before = weights_of(tiny_folder)
    north, south = (weights_of(adapted[lang]) for lang in ("north", "south"))
    moved = {name for name in before if not torch.equal(before[name], north[name])}
    assert moved
    # Low-rank adapters of all linear layers of the encoder; norms, embeddings and the head of masked tokens stay.
    assert all(name.startswith("bert.encoder.layer.") and name.endswith(".weight") for name in moved)
    assert not any("LayerNorm" in name for name in moved)
    query = "bert.encoder.layer.0.attention.self.query.weight"
    assert torch.linalg.matrix_rank(north[query] - before[query], atol=1e-5) <= 16
    assert not torch.equal(north[query], south[query])


def test_a_task_adapter_is_added_to_the_adapter_of_the_tested_language(adapted, planted, tmp_path):
    """Against merging by hand: the weights of the southern folder, plus what the task learned in the north."""
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    settings = HeadSettings(weights="lora", rank=4, learning_rate=5e-3, epochs=2, batch=16)
    train, dev = (planted("pos", "north", part)[:120] for part in ("train", "dev"))
    tests = {lang: planted("pos", lang, "test")[:30] for lang in ("north", "south")}
    table = run_transfer(
        "pos", {"madx": adapted}, train, dev, tests, source="north", settings=settings, output=tmp_path, bootstrap=0
    )
    head = load_head(tmp_path / "heads" / "madx.0")
    task = load_file(tmp_path / "heads" / "madx.0" / "head.safetensors")
    for run in table.runs:
        model = AutoModelForTokenClassification.from_pretrained(adapted[run.language], num_labels=len(head.labels))
        tokenizer = AutoTokenizer.from_pretrained(adapted[run.language])
        for name, A in task.items():
            if ".lora_A." in name:
                B = task[name.replace(".lora_A.", ".lora_B.")]
                layer = model.get_submodule(name.partition(".lora_A.")[0])
                layer.weight.data += 2 * B @ A  # alpha is twice the rank
        model.classifier.load_state_dict({name: task[f"classifier.{name}"] for name in ("weight", "bias")})
        for sentence, labels in zip(tests[run.language], run.predictions, strict=True):
            encoded = tokenizer([list(sentence.words)], is_split_into_words=True, return_tensors="pt")
            best = model(input_ids=encoded["input_ids"]).logits[0].argmax(-1).tolist()
            first = {word: place for place, word in reversed(list(enumerate(encoded.word_ids(0)))) if word is not None}
            assert labels == [head.labels[best[first[word]]] for word in range(len(sentence))]
    # It matters on which language's adapter the task's stands.
    alone = load_head(tmp_path / "heads" / "madx.0", {"*": adapted["north"]})
    assert alone.predict(tests["south"], "south").values != list(table.runs[1].predictions)
