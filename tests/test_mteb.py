"""MTEB measures what we export, and finds the same figures as our own task. Runs where mteb is installed."""

from __future__ import annotations

import importlib.util
import types
from pathlib import Path

import numpy as np
import pytest

from isoglot.aligned import Aligned
from isoglot.aligners import Procrustes
from isoglot.encoders import AlignedEncoder
from isoglot.errors import ConfigError
from isoglot.simulate import simulate_pair
from isoglot.tasks import tatoeba

EXAMPLE = Path(__file__).parents[1] / "examples" / "mteb_encoder.py"
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("mteb_encoder", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def aligned_encoder(tiny, lines, tmp_path_factory):
    """The tiny encoder's languages under names that MTEB knows."""
    X, Y = (tiny.sentences(side[:100]) for side in lines)
    alignment = Procrustes().fit(X, Y, [(i, i) for i in range(100)])
    folder = tmp_path_factory.mktemp("aligned") / "en-de"
    AlignedEncoder(tiny, (alignment,), ("en", "de"), "sentence").save(folder)
    return folder


def bitext(columns):
    """A task of MTEB's on texts that are at hand: the n-th of one column is the n-th of the other."""
    datasets, mteb = pytest.importorskip("datasets"), pytest.importorskip("mteb")
    from mteb.abstasks import AbsTaskBitextMining

    first, second = columns

    class Bitext(AbsTaskBitextMining):
        parallel_subsets = True
        metadata = mteb.TaskMetadata(
            name="IsoglotBitext",
            description="Sentences and their translations, generated.",
            dataset={"path": "isoglot/none", "revision": "1"},
            type="BitextMining",
            eval_langs={f"{first}-{second}": ["eng-Latn", "deu-Latn"]},
            main_score="accuracy",
        )

        def load_data(self, **settings):
            self.dataset = {"test": datasets.Dataset.from_dict(columns)}
            self.data_loaded = True

    return Bitext()


def accuracy(model, columns):
    import mteb

    found = mteb.evaluate(model, bitext(columns), cache=None, co2_tracker=False, show_progress_bar=False)
    return found.task_results[0].scores["test"][0]["accuracy"]


def test_an_aligned_encoder_in_mteb(example, aligned_encoder, lines):
    columns = {"eng_Latn": list(lines[0][100:200]), "deu_Latn": list(lines[1][100:200])}
    bitext(columns)
    model = AlignedEncoder.load(aligned_encoder)
    X, Y = (model.sentences(texts, lang) for texts, lang in zip(columns.values(), ("en", "de"), strict=True))
    ours = [one.value for one in tatoeba(X, Y, score="cosine", bootstrap=0)]
    measured = accuracy(example.MtebEncoder(aligned_encoder), columns)
    assert measured in ours
    assert measured > 0.2


def test_a_static_model_in_mteb(tmp_path):
    pair = simulate_pair(n_words=300, dim=20, noise=0.1, seed=1)
    aligned = Aligned.pair(Procrustes().fit(pair.src, pair.tgt, pair.lexicon), pair.src, pair.tgt)
    aligned.export(tmp_path / "model", "static-model")
    words = pair.lexicon.pairs[:100]
    columns = {"eng_Latn": [source for source, _ in words], "deu_Latn": [target for _, target in words]}
    bitext(columns)
    from sentence_transformers import SentenceTransformer

    assert accuracy(SentenceTransformer(str(tmp_path / "model")), columns) > 0.8


def test_the_calls_that_mteb_makes(example, aligned_encoder, lines):
    """Without mteb: what it hands over, and what it wants back."""
    encoder = example.MtebEncoder(aligned_encoder)
    task = types.SimpleNamespace(name="Task", languages=["deu"])
    batches = [{"text": list(lines[1][:2])}, {"text": list(lines[1][2:3])}]
    whole = AlignedEncoder.load(aligned_encoder).sentences(list(lines[1][:3]), "de")
    for subset in ("de", "deu_Latn", "deu-Latn", "default"):
        found = encoder.encode(batches, task_metadata=task, hf_split="test", hf_subset=subset, batch_size=8)
        assert np.allclose(found, whole, atol=1e-6)
    assert encoder.similarity(whole, whole).shape == (3, 3)
    assert np.allclose(encoder.similarity_pairwise(whole, whole), 1, atol=1e-5)
    for subset in ("deu-eng", "fra_Latn"):
        with pytest.raises(ConfigError, match="does not say which language"):
            encoder.encode(batches, task_metadata=task, hf_split="test", hf_subset=subset)
