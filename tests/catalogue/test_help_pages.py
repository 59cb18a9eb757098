from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isoglot.catalogue import Entry, entry
from isoglot.catalogue.readers.help_pages import align_pages, paragraphs, read_help_pages
from isoglot.errors import FormatError
from isoglot.progress import silent
from isoglot.text import ParallelText

Make = Callable[..., bytes]

ENGLISH = """<html><head><title>Not a paragraph</title></head><body>
<p id="bm_system">en/page.xhp</p><p class="embedded">No id here</p>
<h1 id="hd_1" dir="auto">Opening Files</h1>
<p id="par_2" class="paragraph">Opens the <span class="emph">selected</span> file&nbsp;&amp; closes it .</p>
<p id="par_3" class="code">open("file") and read the file</p>
<p id="par_4">This is not translated yet</p>
<p id="par_5">Press <span class="switchinline"><span hidden="true" id="MACtext1" class="MAC"><span class="keycode">Cmd
</span></span><span hidden="true" id="defaulttext1"><span class="keycode">Ctrl</span></span></span>+A to select all</p>
<p id="par_6">=SUM(A1:A9) returns the sum</p>
<p id="par_7">Shared by two parts</p><p id="par_7">Another text of this id</p>
<p id="par_8">Once here but twice elsewhere</p>
<p id="par_9">12.5</p>
</body></html>"""
GERMAN = """<html><body>
<p id="bm_system">de/page.xhp</p>
<h1 id="hd_1">Dateien öffnen</h1>
<p id="par_2">Öffnet die Datei<br>und schließt sie.</p>
<p id="par_3" class="code">open("Datei") und lies die Datei</p>
<p id="par_4">This is not  translated<!-- --> yet</p>
<p id="par_5">Mit <span><span hidden="true" id="MACtext1">Befehl</span><span
hidden="true" id="defaulttext1">Strg</span></span>+A alles auswählen</p>
<p id="par_6">=SUMME(A1:A9) ergibt die Summe</p>
<p id="par_7">Von zwei Teilen genutzt</p><p id="par_7">Ein anderer Text</p>
<p id="par_8">Hier zweimal</p><p id="par_8">Und nochmals</p>
<p id="par_9">12,5</p>
</body></html>"""
FRENCH = """<p id="hd_1">Ouvrir des fichiers</p><p id="par_2">Ouvre le fichier.</p>
<p id="par_4">Voici la traduction</p><p id="par_5">[text/a.xhp#b not found].</p>"""


@pytest.fixture
def packages(tmp_path: Path, make_tar: Make, make_deb: Make) -> list[Path]:
    """English, German and French help as packages."""
    paths = []
    for language, page in (("en-US", ENGLISH), ("de", GERMAN), ("fr", FRENCH)):
        inside = "./usr/share/libreoffice/help"
        files = {
            f"./usr/share/doc/libreoffice-help-{language.lower()}/copyright": b"License: MPL-2.0\n",
            f"{inside}/{language}/text/calc/page.html": page.encode(),
            f"{inside}/{language}/contents.js": b"no page",
            f"{inside}/xx/text/calc/page.html": b"<p id='par_2'>another language of the package</p>",
        }
        paths.append(tmp_path / f"{language}.deb")
        paths[-1].write_bytes(make_deb(make_tar(files, "")))
    return paths


def an_entry(src: str, tgt: str) -> Entry:
    folders = {"en": "en-US"}
    settings = {"src": folders.get(src, src), "tgt": folders.get(tgt, tgt)}
    return Entry("parallel/x", "parallel", (src, tgt), "", "", "", (), "help_pages", settings)


def test_paragraphs_are_aligned_by_page_and_id(tmp_path: Path, packages: list[Path]) -> None:
    facts = read_help_pages(an_entry("en", "de"), packages[:2], tmp_path, silent)
    assert facts == {"pairs": 4, "short pairs": 1}
    assert list(ParallelText.load(tmp_path / "text.en", tmp_path / "text.de")) == [
        ("Opens the selected file & closes it.", "Öffnet die Datei und schließt sie."),
        ("Press Ctrl+A to select all", "Mit Strg+A alles auswählen"),
        ("Shared by two parts", "Von zwei Teilen genutzt"),
        ("Another text of this id", "Ein anderer Text"),
    ]
    short = ParallelText.load(tmp_path / "short.en", tmp_path / "short.de")
    assert list(short) == [("Opening Files", "Dateien öffnen")]
    assert (tmp_path / "copyright").read_text() == "License: MPL-2.0\n"


def test_of_two_other_languages_english_tells_what_is_not_translated(tmp_path: Path, packages: list[Path]) -> None:
    read_help_pages(an_entry("de", "fr"), packages, tmp_path, silent)
    # "This is not translated yet" is French in French, but English in German; what is long is so in English.
    assert (tmp_path / "text.fr").read_text() == "Ouvre le fichier.\n"
    assert (tmp_path / "short.de").read_text() == "Dateien öffnen\n"


def test_a_pair_comes_once() -> None:
    english = {("a", "1"): ["Close the file"], ("b", "1"): ["Close the file"]}
    german = {("a", "1"): ["Datei schließen"], ("b", "1"): ["Datei schließen"], ("c", "1"): ["Nur deutsch"]}
    assert align_pages(german, english, english) == {("Datei schließen", "Close the file"): False}


def test_without_a_variant_for_all_the_first_stays() -> None:
    variants = '<span hidden="true" id="WRITERtext1">Writer</span><span hidden="true" id="CALCtext1">Calc</span>'
    assert list(paragraphs(f'<p id="1">Open {variants}</p>')) == [("1", "Open Writer")]
    # Hidden, but no variant of anything; tags that are not closed.
    assert list(paragraphs('<p id="1"><span hidden="true">a<b>c</p>')) == [("1", "ac")]


def test_names_that_begin_with_a_dot_keep_their_space() -> None:
    assert list(paragraphs('<p id="1">A file .csv , with <b>points</b> ...</p>')) == [
        ("1", "A file .csv, with points ...")
    ]


def test_packages_without_pages_are_an_error(tmp_path: Path, packages: list[Path]) -> None:
    # As that of Slovak, which is a link to Czech.
    with pytest.raises(FormatError, match="no help pages of sk"):
        read_help_pages(an_entry("en", "sk"), packages, tmp_path, silent)


def test_any_two_languages_and_the_english_pages() -> None:
    def needed(name: str) -> list[str]:
        return [artefact.package.removeprefix("libreoffice-help-") for artefact in entry(name).artefacts]

    assert needed("parallel/en-de-help") == ["en-us", "de"]
    assert needed("parallel/de-en-help") == ["en-us", "de"]
    assert needed("parallel/pt-br-zh-hant-help") == ["en-us", "pt-br", "zh-tw"]
    assert entry("parallel/pt-br-zh-hant-help").languages == ("pt-br", "zh-hant")
    assert dict(entry("parallel/zh-en-help").settings) == {"src": "zh-CN", "tgt": "en-US"}
    assert entry("parallel/en-de").reader == "messages"
