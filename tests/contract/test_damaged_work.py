"""What runs keep for themselves, damaged: made again or refused in one line; nothing waits and nothing is believed."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from isoglot.aligned import Aligned
from isoglot.aligners import Procrustes
from isoglot.catalogue.archive import Archive
from isoglot.distill import DistillSettings, Sentences
from isoglot.distill.one_pass import _finished as finished_distilling
from isoglot.encoders.cache import VectorCache
from isoglot.errors import FormatError, InputError, IsoglotError
from isoglot.files import atomic_path
from isoglot.finetuning import read_recipe
from isoglot.finetuning.run_log import cut_log
from isoglot.joint import JointSpace
from isoglot.resumable import earlier_run, keep_run
from isoglot.spaces import Space, load_space
from isoglot.tasks import read_wmt
from isoglot.verified import digest_of_array
from isoglot.wordvectors import Corpus, CorpusSettings, TextFile
from isoglot.wordvectors.work_folder import _finished as finished_training

VECTORS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
WORDS = [f"w{i}" for i in range(6)]


def pipe_in_place_of(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.fixture
def text(tmp_path):
    (tmp_path / "en.txt").write_text("a b c d\nb c d e\na c e b\n" * 5)
    return TextFile("en", tmp_path / "en.txt")


def test_long_errors_are_cut_in_the_middle():
    message = str(FormatError("odd value " + "x" * 5000, where="a.json", remedy="make it again"))
    assert message.startswith("a.json: odd value x")
    assert message.endswith("x; make it again")
    assert len(message) <= 1000


def test_a_pipe_in_a_work_folder_is_replaced(tmp_path):
    pipe_in_place_of(tmp_path / "state")
    with atomic_path(tmp_path / "state", own=True) as temporary:
        temporary.write_text("x")
    assert (tmp_path / "state").read_text() == "x"


@pytest.mark.parametrize("name", ["words.tsv", "tokens.i32", "starts.i64", "corpus.json"])
def test_pipes_in_a_corpus(text, tmp_path, name):
    settings = CorpusSettings(min_count=1, segmenter="spaces")
    words = Corpus.build([text], tmp_path / "corpus", settings).words
    pipe_in_place_of(tmp_path / "corpus" / name)
    with pytest.raises(InputError):
        Corpus.load(tmp_path / "corpus")
    if name != "corpus.json":  # without that, the folder may be anybody's
        assert Corpus.build([text], tmp_path / "corpus", settings).words == words


def test_counts_that_overflow_are_no_corpus(text, tmp_path):
    Corpus.build([text], tmp_path / "corpus", CorpusSettings(min_count=1, segmenter="spaces"))
    table = tmp_path / "corpus" / "words.tsv"
    table.write_text("".join(f"{line.split()[0]}\t{2**62}\n" for line in table.read_text().splitlines()))
    with pytest.raises(InputError, match="counts of words do not fit"):
        Corpus.load(tmp_path / "corpus")


@pytest.mark.parametrize("name", ["words.tsv", "bounds.safetensors", "sentences.txt"])
def test_pipes_in_chosen_sentences(text, tmp_path, name):
    settings = DistillSettings(min_count=1, min_tokens=2, min_sentences=1, segmenter="spaces")
    words = Sentences.build(text, tmp_path / "chosen", settings).words
    pipe_in_place_of(tmp_path / "chosen" / name)
    assert Sentences.build(text, tmp_path / "chosen", settings).words == words


@pytest.mark.parametrize(
    ("tensors", "figures"),
    [
        ({"vectors": VECTORS[:3]}, "{}"),
        ({"vectors": VECTORS.astype(np.int8)}, "{}"),
        ({"other": VECTORS}, "{}"),
        ({"vectors": VECTORS}, "[" * 100_000),
        ({"vectors": VECTORS}, "[]"),
        (None, None),
    ],
)
def test_finished_vectors_that_do_not_fit_are_made_again(tmp_path, tensors, figures):
    path = tmp_path / "v.safetensors"
    chosen = SimpleNamespace(lang="en", words=tuple(WORDS), counts=np.ones(6, dtype=np.int64))
    kept = {"key": "k", "sha256": digest_of_array(VECTORS), "figures": "{}"}
    save_file({"vectors": VECTORS}, path, metadata=kept)
    assert finished_distilling(path, "k", chosen) is not None
    np.testing.assert_array_equal(finished_training(path, "k"), VECTORS)
    if tensors is None:
        pipe_in_place_of(path)
    else:
        digest = digest_of_array(next(iter(tensors.values())))
        save_file(tensors, path, metadata={**kept, "sha256": digest, "figures": figures})
    assert finished_distilling(path, "k", chosen) is None
    if figures == "{}" and len(tensors.get("vectors", ())) != 3:  # how many are right, only sentences know
        assert finished_training(path, "k") is None


def test_pipes_in_caches_and_records(tmp_path):
    cache = VectorCache(tmp_path, "model")
    cache.put("key", VECTORS)
    pipe_in_place_of(tmp_path / "model" / "key.safetensors")
    assert cache.get("key") is None
    cache.put("key", VECTORS)
    np.testing.assert_array_equal(cache.get("key"), VECTORS)
    pipe_in_place_of(tmp_path / "run.json")
    assert earlier_run(tmp_path / "run.json", "k") is None
    keep_run(tmp_path / "run.json", {"key": "k"})
    assert earlier_run(tmp_path / "run.json", "k") == {"key": "k"}
    pipe_in_place_of(tmp_path / "log.jsonl")
    cut_log(tmp_path, 5)
    assert (tmp_path / "log.jsonl").read_text() == ""


def test_archives_that_are_none(tmp_path):
    pipe_in_place_of(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        Archive(tmp_path / "pipe")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("Q"), b"")
        archive.writestr("data.txt", b"some")
    # A name of zero bytes is an empty one.
    (tmp_path / "a.zip").write_bytes((tmp_path / "a.zip").read_bytes().replace(b"Q", b"\0"))
    assert Archive(tmp_path / "a.zip").read("data.txt") == [b"some"]


@pytest.mark.parametrize("name", ["x.safetensors", "x.ftbin", "x.kv", "x.npz"])
def test_counts_below_zero_are_left_out(tmp_path, name):
    pytest.importorskip("gensim")
    Space("en", WORDS, VECTORS, np.array([5, 4, -3, 2, 1, 1])).save(tmp_path / name)
    space = load_space(tmp_path / name, cache=False)
    assert space.words == tuple(WORDS)
    assert space.counts is None
    assert [problem for problem, _ in space.report.counts] == ["counts below zero"]


def test_a_vocabulary_larger_than_its_vectors(tmp_path):
    """navec: a few kilobytes would unpack to a gigabyte."""
    quantised = struct.pack("<4I", 1, 4, 1, 1) + bytes(1) + bytes(16)
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for name, data in (("vocab.bin", gzip.compress(bytes(1 << 22))), ("pq.bin", quantised)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    with pytest.raises(FormatError, match=r"vocab\.bin is truncated, too large"):
        load_space(tmp_path / "x.tar", format="navec", cache=False)


def test_names_that_are_not_utf8_are_kept(tmp_path):
    src, tgt = (Space(lang, WORDS, VECTORS, source=os.fsdecode(b"/a/\xff.vec")) for lang in ("en", "fr"))
    alignment = Procrustes().fit(src, tgt, [(i, i) for i in range(5)])
    Aligned.pair(alignment, src, tgt).save(tmp_path / "out")
    assert Aligned.load(tmp_path / "out").spaces["en"].source == src.source


def test_a_joint_space_of_other_words(tmp_path):
    tmp_path.joinpath("j").mkdir()
    counts = np.ones((6, 2), dtype=np.int64)
    JointSpace(("en", "fr"), tuple(WORDS), VECTORS, counts).write_into(tmp_path / "j")
    manifest, whole = tmp_path / "j" / "joint.json", (tmp_path / "j" / "joint.json").read_text()

    def seal(name):
        import hashlib

        content = json.loads(whole)
        content["files"][name] = hashlib.sha256((tmp_path / "j" / name).read_bytes()).hexdigest()
        manifest.write_text(json.dumps(content))

    tensors = load_file(tmp_path / "j" / "joint.safetensors")
    save_file({**tensors, "counts": -counts}, tmp_path / "j" / "joint.safetensors")
    seal("joint.safetensors")
    with pytest.raises(FormatError, match="damaged"):
        JointSpace.load(tmp_path / "j")
    save_file(tensors, tmp_path / "j" / "joint.safetensors")
    (tmp_path / "j" / "words.txt").write_text("w0\n" * 6)
    seal("words.txt")
    with pytest.raises(FormatError, match="a word of en stands twice"):
        JointSpace.load(tmp_path / "j")
    (tmp_path / "j" / "words.txt").write_bytes(b"\xff\n" * 6)
    seal("words.txt")
    with pytest.raises(FormatError, match="not UTF-8"):
        JointSpace.load(tmp_path / "j")


def test_recipes_name_their_file(tmp_path):
    path = tmp_path / "r.toml"
    base = 'preset = "l2"\nencoder = "e"\noutput = "o"\n[parallel]\nde = "a,b"\n[training]\n'
    for line in ("batch = 0", "mixed = 3", 'choose = "x"'):
        path.write_text(base + line)
        with pytest.raises(InputError) as caught:
            read_recipe(path)
        assert str(caught.value).startswith(f"{path}: {line.split()[0]}")


def test_systems_with_impossible_names(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "n-deen-src.de").write_text("eins\n")
    (tmp_path / "DA-seglevel.csv").write_text(f"LP DATA SYSTEM SID HUMAN\nde-en n {'9' * 5000} 1 0.5\n")
    with pytest.raises(InputError, match="no such file"):
        read_wmt(tmp_path, "de-en")


def test_checkpoints_and_best_weights_are_sealed(tmp_path):
    torch = pytest.importorskip("torch")
    from isoglot.finetuning.best_weights import BestWeights
    from isoglot.finetuning.run_state import Best, latest_checkpoint, save_checkpoint, save_tensors

    place = save_checkpoint(tmp_path / "c", 3, {"weights/a": torch.ones(2)}, {"losses": [0.5], "source": "\udcff"})
    assert latest_checkpoint(tmp_path / "c")[1] == {"step": 3, "losses": [0.5], "source": "\udcff"}
    state = json.loads((place / "state.json").read_text())
    (place / "state.json").write_text(json.dumps({**state, "losses": 3}))
    with pytest.raises(IsoglotError, match=r"state\.json: is damaged"):
        latest_checkpoint(tmp_path / "c")
    save_tensors(tmp_path / "best.safetensors", {"a": torch.ones(2)})
    with pytest.raises(FormatError, match=r"best\.safetensors: is damaged"):
        BestWeights(None, None, None, tmp_path, None, (), None).put_back(Best(1, {}, "0" * 64))
