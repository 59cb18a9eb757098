"""The folder that training leaves: other libraries load it and get the same vectors."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from isoglot.encoders import Encoder, quiet
from isoglot.errors import InputError, MissingExtraError
from isoglot.finetuning import RUN, RUN_FORMAT, check_export, check_output, save_encoder

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return tmp_path_factory.mktemp("export")


@pytest.fixture(params=["word_ot + anchor", "word_ot + mlm", "lora"])
def trained(request, exported, trainer):
    """An encoder after a few steps, and the folder it was saved to. Asked for again, the run is at its end."""
    recipe = "word_ot + anchor" if request.param == "lora" else request.param
    folder = exported / request.param.replace(" ", "")
    made = trainer(recipe, folder / RUN, steps=2, lora=2 if request.param == "lora" else 0)
    made.run()
    save_encoder(made.encoder, folder)
    return made, folder


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_all_libraries_give_the_same_vectors(trained, tiny, lines):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    made, folder = trained
    texts = [*lines[0][:12], *lines[1][:12]]
    expected = made.encoder.sentences(texts)
    assert not np.allclose(expected, tiny.sentences(texts), atol=1e-3)
    np.testing.assert_allclose(Encoder(folder, device="cpu").sentences(texts), expected, atol=1e-5)

    with quiet():
        tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
        sentences = SentenceTransformer(str(folder), device="cpu")
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    means = (hidden * mask).sum(1) / mask.sum(1)
    np.testing.assert_allclose(means.numpy(), expected, atol=1e-5)

    found = sentences.encode(texts, show_progress_bar=False)
    np.testing.assert_allclose(found, unit(expected), atol=1e-5)
    assert sentences.max_seq_length == tiny.model.longest

    # A head is there if it was trained.
    if made.network.masked is not None:
        from transformers import AutoModelForMaskedLM

        with quiet():
            whole, loading = AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
        assert not loading["missing_keys"]
        head = made.network.masked.state_dict()
        for name, one in whole.state_dict().items():
            assert torch.equal(one, head[name]), name


def test_a_folder_is_written_again(trained, killed_name):
    made, folder = trained
    (folder / "mine.txt").write_text("notes")
    (folder / killed_name("model")).mkdir()
    before = {path.relative_to(folder) for path in folder.rglob("*")}
    weights = (folder / "model.safetensors").read_bytes()
    save_encoder(made.encoder, folder)
    after = {path.relative_to(folder) for path in folder.rglob("*")}
    assert {path for path in before if not path.name.endswith(".part")} == after
    assert (folder / "model.safetensors").read_bytes() == weights
    assert (folder / RUN / "log.jsonl").exists()


def test_others_may_read_what_the_umask_lets_them(trained, tmp_path):
    made, _ = trained
    before = os.umask(0o027)
    try:
        save_encoder(made.encoder, tmp_path / "out")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert set(modes.values()) == {0o640}
    assert "model.safetensors" in modes


def test_only_folders_of_ours_are_written_to(tmp_path):
    check_output(tmp_path / "new")
    check_output(tmp_path)
    # Left by a run that was killed while it linked words.
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / "links-de-en-0123.pharaoh").write_text("")
    (tmp_path / RUN / ".links-tr-en-0123.pharaoh.x.part").write_text("")
    check_output(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files and will not be overwritten; choose another"):
        check_output(tmp_path)
    (tmp_path / RUN / "recipe.json").write_text("{}")
    with pytest.raises(InputError, match="holds other files"):
        check_output(tmp_path)
    (tmp_path / RUN / "recipe.json").write_text(json.dumps({"format": RUN_FORMAT}))
    check_output(tmp_path)
    with pytest.raises(InputError, match="is a file, not a folder"):
        check_output(tmp_path / "notes.txt")


def test_a_missing_library_is_told_before(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sentence_transformers.base.modules", None)
    with pytest.raises(MissingExtraError, match=r"sentence-transformers \(6 or newer\).*pip install .*\[training\]"):
        check_export()
