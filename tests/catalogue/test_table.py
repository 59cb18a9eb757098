from __future__ import annotations

import re
from pathlib import Path

import pytest

from isoglot.catalogue import entries, entry, has_entry
from isoglot.catalogue.document import with_catalogue
from isoglot.catalogue.readers import READERS
from isoglot.catalogue.table import families, is_shared, read_catalogue
from isoglot.errors import ConfigError, IsoglotError

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_every_entry_says_what_a_user_must_know() -> None:
    for item in entries():
        assert re.fullmatch(r"[a-z]+/[a-z0-9-]+", item.name)
        assert item.name.startswith(item.kind + "/")
        assert item.reader in READERS
        assert item.licence
        assert item.description
        assert item.homepage.startswith("https://")
        assert item.holds
        for artefact in item.artefacts:
            assert artefact.size > 0
            assert re.fullmatch(r"[0-9a-f]{64}", artefact.sha256)


def test_binding_licences_are_opt_in() -> None:
    for item in entries():
        binding = [word for word in ("AGPL", "personal use", "Gemma") if word in item.licence]
        assert item.opt_in == bool(binding), item.name
        assert re.fullmatch(r"[a-z0-9.-]*", item.accept)


def test_names_are_found_and_wrong_ones_get_a_suggestion() -> None:
    assert entry("vectors/ru").languages == ("ru",)
    with pytest.raises(ConfigError, match=r"did you mean 'lexicon/en-fr'"):
        entry("lexicon/en-frr")
    for name in (
        "",
        "/",
        "vectors",
        "fasttext/cc.",
        "fasttext/wiki.fr.bin",
        "muse/en-fr.5000",
        "../x",
        "lexicon/fr-fr",
    ):
        assert not has_entry(name), name


def test_families_make_entries() -> None:
    for family in families():
        item = entry(family.name.format(src="fr", tgt="it"))
        assert item.reader in READERS
        assert "fr" in item.languages
    assert entry("fasttext/cc.de.bin").artefacts[0].url.endswith("/cc.de.300.bin.gz")
    assert entry("fasttext/wiki.de").artefacts[0].url.endswith("/wiki.de.vec")
    assert entry("muse/de-en.test").artefacts[0].url.endswith("/de-en.5000-6500.txt")
    assert entry("parallel/pt-br-zh-hant").languages == ("pt-br", "zh-hant")


def test_the_digest_follows_what_would_change_the_result() -> None:
    digests = {item.digest() for item in entries()}
    assert len(digests) == len(entries())


def test_shared_packages_are_known() -> None:
    assert is_shared(entry("lexicon/en-fr").artefacts[0])
    assert not is_shared(entry("vectors/fr").artefacts[0])


ARTEFACT = """
[common]
channel = "package"
[artefact.box]
version = "1.0"
filename = "box-1.0.whl"
size = 3
sha256 = "00"
"""
ENTRY = """
[common]
kind = "vectors"
licence = "MIT"
homepage = "https://example.org"
reader = "packed_vectors"
[entry."vectors/xx"]
languages = ["xx"]
description = "few words"
artefacts = ["box"]
"""


def test_a_catalogue_is_what_its_files_say(tmp_path: Path) -> None:
    (tmp_path / "packages.toml").write_text(ARTEFACT)
    (tmp_path / "vectors.toml").write_text(ENTRY)
    item = read_catalogue(tmp_path).entries["vectors/xx"]
    assert (item.languages, item.size, item.source, item.licence) == (("xx",), 3, "box 1.0", "MIT")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("licence =", "license =", "vectors/xx has no setting 'license'; did you mean 'licence'"),
        ('licence = "MIT"', "", "vectors/xx has no licence"),
        ("[entry.", "[entri.", "no setting 'entri'"),
        ('["box"]', '["bax"]', "unknown artefact 'bax'; did you mean 'box'"),
        ('kind = "vectors"', 'kind = "vector"', "unknown kind 'vector'; did you mean 'vectors'"),
        ('"few words"', "3", "description takes a string, not 3"),
        ('[entry."vectors/xx"]', '[[family]]\nname = "a/{src}"\nabout = "a"\nhome = "b"', "a/{src} has no setting"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    (tmp_path / "packages.toml").write_text(ARTEFACT)
    (tmp_path / "vectors.toml").write_text(ENTRY.replace(old, new))
    with pytest.raises(IsoglotError, match=re.escape(problem)) as caught:
        read_catalogue(tmp_path)
    assert "vectors.toml" in str(caught.value)


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_catalogue(text) == text, "run: python -m isoglot.catalogue.document docs/data.md"
