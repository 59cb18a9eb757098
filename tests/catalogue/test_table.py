from __future__ import annotations

import re
from pathlib import Path

import pytest

from isoglot.catalogue import entries, entry, has_entry
from isoglot.catalogue.document import with_catalogue
from isoglot.catalogue.families import FAMILIES
from isoglot.catalogue.figures import FIGURES
from isoglot.catalogue.readers import READERS
from isoglot.catalogue.table import is_shared
from isoglot.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_every_entry_says_what_a_user_must_know() -> None:
    for item in entries():
        assert re.fullmatch(r"[a-z]+/[a-z0-9-]+", item.name)
        assert item.name.startswith(item.kind + "/")
        assert item.reader in READERS
        assert item.licence
        assert item.description
        assert item.homepage.startswith("https://")
        assert item.name in FIGURES
        for artefact in item.artefacts:
            assert artefact.size > 0
            assert re.fullmatch(r"[0-9a-f]{64}", artefact.sha256)
    assert set(FIGURES) == {item.name for item in entries()}


def test_binding_licences_are_opt_in() -> None:
    for item in entries():
        if "AGPL" in item.licence or "personal use" in item.licence:
            assert item.opt_in


def test_names_are_found_and_wrong_ones_get_a_suggestion() -> None:
    assert entry("vectors/ru").languages == ("ru",)
    with pytest.raises(ConfigError, match=r"did you mean lexicon/en-fr"):
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
    for pattern in FAMILIES:
        item = entry(pattern.replace("XX", "fr").replace("YY", "it"))
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


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_catalogue(text) == text, "run: python -m isoglot.catalogue.document docs/data.md"
