"""What reaches a terminal, and what becomes of output that cannot be written."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import isoglot
from isoglot.aligned import Aligned
from isoglot.aligners import aligner
from isoglot.cli import main
from isoglot.cli.console import print_line, progress_bars, say, table
from isoglot.cli.streams import guard, open_streams
from isoglot.cli.training_view import TrainingView
from isoglot.finetuning import StepRecord
from isoglot.lexicons import Lexicon
from isoglot.printable import UNSAFE
from isoglot.spaces import Space

MARKUP = ["[/b]", r"\[/b]", r"\[bold]", "[red]", "[link=x]y[/link]", ":smile:", "\\", "{task.description}"]
CONTROLS = ["\x1b[2J", "\x1b]0;title\x07", "\x1bc", "\x9b2J", "a\bb", "\x7fdel", "\u202eabc", "\u2066x\u2069", "\x90q"]
PLAIN = ["é", "音楽", "%s"]
HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b2J\r\b\u202e[/b]"
FILE = HOSTILE.replace("/", "") + ".vec"
#: What rich itself sends to draw a bar and to remove it.
DRAWING = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[\d*[AK]|\r(?=\x1b\[2K)|(?<=\x1b\[\?25h)\r|\n")


class Terminal(io.TextIOWrapper):
    """A terminal that remembers all that was sent to it."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return True

    def sent(self) -> str:
        return self.buffer.getvalue().decode(self.encoding, "surrogateescape")


class Pipe(Terminal):
    def isatty(self) -> bool:
        return False


class Full(Pipe):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def harmless(text: str) -> bool:
    return not UNSAFE.search(DRAWING.sub("", text))


@pytest.fixture
def streams(monkeypatch):
    """Standard output and standard error, both terminals unless told otherwise."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")

    def replace(out: Terminal | None = None, err: Terminal | None = None) -> tuple[Terminal, Terminal]:
        out, err = out or Terminal(), err or Terminal()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        return out, err

    return replace


@pytest.fixture
def run(monkeypatch, streams, tmp_path_factory):
    """Run `isoglot ARGS` in this process, which is quicker than in one of its own."""
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path_factory.getbasetemp() / "streams-cache"))

    def run(*args: object, out: Terminal | None = None, err: Terminal | None = None) -> tuple[int, str, str]:
        out, err = streams(out, err)
        monkeypatch.setattr(sys, "argv", ["isoglot", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out.sent(), err.sent()

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """North and south, whose words and files have names that no terminal should obey, and `out`, both aligned."""
    place = tmp_path_factory.mktemp("streams")
    words = [*MARKUP, *CONTROLS, *PLAIN, *(f"w{i}" for i in range(60))]
    X = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    north, south = Space("north", words, X), Space("south", words, X[:, ::-1].copy())
    north.save(place / "north.vec")
    south.save(place / FILE)
    pairs = Lexicon([(word, word) for word in words], "north", "south")
    pairs.save(place / "pairs.txt")
    Aligned.pair(aligner("procrustes").fit(north, south, pairs), north, south).save(place / "out")
    return place


def test_cells_are_text_never_markup(run, folder):
    code, out, err = run("translate", folder / "out", "--", *MARKUP)
    assert (code, err.count("vocabulary")) == (0, 0)
    for word in MARKUP:
        assert re.search(rf"│ {re.escape(word)} +│ .*{re.escape(word)} \(", out), word


def test_titles_headers_and_bars_are_text_too(streams):
    out, err = streams()
    with progress_bars() as progress:
        progress("reading [/b] :smile:", 1, 2)
    table("[/b] :smile:", [r"\[bold]"], [["[red]"]])
    view = TrainingView()
    view.show(StepRecord(1, 2, 0.5, {"[/b]": 0.5}, {"[/b]": 1.0, "[red]": 2.0}, 1e-4, 1.0, 10, 1.0))
    view.close()
    assert all(text in out.sent() for text in ("[/b] :smile:", r"\[bold]", "[red]"))
    assert all(text in err.sent() for text in ("reading [/b] :smile:", "([/b] 0.5)", "[red]"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "out", "--", *CONTROLS, HOSTILE, "a\nb", "\udcff"],
        ["translate", "out", "--json", "--", *CONTROLS, HOSTILE, "\udcff"],
        ["translate", "out", "--from", HOSTILE, "x"],
        ["lexicon", "out", "-o", f"{HOSTILE}/lexicon.tsv"],
        ["evaluate", "bli", "out", "--test", "pairs.txt"],
        ["evaluate", "bli", "out", "--test", HOSTILE],
        ["info", FILE],
        ["info", FILE, "--json"],
        ["info", HOSTILE],
        ["inspect", "north.vec", FILE, "--words", "20"],
        ["align", "north.vec", FILE, "-l", "pairs.txt", "-o", f"again{FILE}"],
        ["export", "out", "-o", f"exported{FILE}"],
        ["compare", "north.vec", FILE, "-l", "pairs.txt", "-o", "compared", "-m", HOSTILE],
        ["data", "path", HOSTILE],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_command_sends_control_characters_to_a_terminal(run, folder, monkeypatch, arguments):
    monkeypatch.chdir(folder)
    code, out, err = run(*arguments)
    assert code in (0, 1, 2)
    assert harmless(out)
    assert harmless(err)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        [HOSTILE],
        [f"--{HOSTILE}"],
        ["methods", HOSTILE],
        ["align", f"--{HOSTILE}"],
        ["align", "a", "b", "-o", "c", "--limit", HOSTILE],
        ["evaluate", "[/b]"],
        ["evaluate", "bli", "a", "--[/b]"],
        ["align"],
    ],
)
def test_misuse_is_one_line(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("isoglot: ")
    assert harmless(err)
    assert "python" not in err  # however it was started


def test_json_is_lossless_and_harmless(run, folder):
    for out in (Terminal(), Pipe(), Terminal("ascii"), Pipe("latin-1")):
        words = [*CONTROLS, *PLAIN, "\udcff"]
        code, sent, _ = run("translate", folder / "out", "-k", 1, "--json", "--", *words, out=out)
        assert code == 0
        assert harmless(sent)
        assert [answer["word"] for answer in json.loads(sent)] == words


def test_lines_of_data_are_lossless_in_a_pipe(streams):
    line = "".join(CONTROLS) + "\udcff"
    out, _ = streams(Pipe())
    open_streams()
    print_line(line)
    assert out.buffer.getvalue() == line.encode("utf-8", "surrogateescape") + b"\n"
    out, _ = streams()
    open_streams()
    print_line(line)
    assert harmless(out.sent())


def test_messages_of_others_are_harmless_also_during_a_bar(streams):
    _, err = streams()
    open_streams()
    with progress_bars() as progress:
        progress(f"reading {HOSTILE}", 1, 2)
        say(f"say {HOSTILE}\x90")
        traceback.print_exception(ValueError(f"value {HOSTILE}\x90"))
        sys.stderr.write("\x90[/b]")
        sys.stderr.flush()
    sys.stderr.writelines(["after\x90\n"])
    assert harmless(err.sent())
    assert all(text in err.sent() for text in ("reading \\x1b", "say \\x1b", "value \\x1b", "after\\x90"))


def test_streams_opened_twice_are_wrapped_once(streams):
    out, _ = streams()
    open_streams()
    first = sys.stdout
    open_streams()
    guard()
    assert sys.stdout is first
    sys.stdout.write("\x1b\\x1b\n")
    assert out.sent() == "\\x1b\\x1b\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_degrades_on_terminals_without_unicode(run, folder, encoding):
    code, out, err = run("translate", folder / "out", "é", "音楽", "日", out=Terminal(encoding), err=Terminal(encoding))
    assert code == 0
    assert r"| \u97f3\u697d" in out
    assert "音" not in out
    assert r"\u65e5" in err
    code, out, _ = run("--help", out=Terminal(encoding))
    assert code == 0
    assert "+- Start -" in DRAWING.sub("", out)


@pytest.mark.parametrize("columns", ["0", "-5", "abc", "", "²", "1", "99999999999999"])
def test_nonsense_for_a_width(run, folder, monkeypatch, columns):
    for name in ("LINES", "TERMINAL_WIDTH", "COLUMNS"):
        monkeypatch.setenv(name, columns)
    code, out, _ = run("translate", folder / "out", "w1", out=Pipe())
    assert code == 0
    assert "w1 (" in out
    monkeypatch.setenv("COLUMNS", columns)
    assert run("methods", "-h", out=Pipe())[0] == 0


def test_a_narrow_terminal_keeps_all_text(streams, monkeypatch):
    out, _ = streams()
    monkeypatch.setenv("COLUMNS", "20")
    table(None, ["a", "b", "c", "d"], [["one", "two", "three", "four"]])
    assert all(word in out.sent() for word in ("one", "two", "three", "four"))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["methods"], ["methods", "--json"]])
def test_a_full_disk_is_one_line(run, arguments):
    code, _, err = run(*arguments, out=Full())
    assert (code, err) == (2, "isoglot: standard output: No space left on device\n")


def test_messages_that_nobody_takes_change_nothing(run):
    assert run("methods", err=Full())[0] == 0
    assert run("info", "missing.vec", err=Full())[0] == 2


def test_files_nested_too_deeply(run, tmp_path):
    (tmp_path / "isoglot.json").write_text("[" * 100_000, "utf-8")
    code, _, err = run("translate", tmp_path, "word", err=Pipe())
    assert (code, err.count("\n")) == (2, 1)
    assert "nested too deeply" in err


def test_recursion_of_our_own_is_a_bug(monkeypatch, streams):
    def forever(**_):
        forever()

    monkeypatch.setattr("isoglot.cli.app", forever)
    streams()
    with pytest.raises(RecursionError):
        main()


def test_names_that_are_no_text(monkeypatch, run):
    def encode(**_):
        'one\n"source": "\udcff.vec"\ntwo'.encode()

    monkeypatch.setattr("isoglot.cli.app", encode)
    code, _, err = run(err=Pipe())
    assert (code, err) == (
        2,
        'isoglot: cannot be encoded as utf-8: "source": "\\udcff.vec"; use names that are valid UTF-8\n',
    )


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell, in which `isoglot` is the program."""
    program = f"isoglot() {{ '{sys.executable}' -m isoglot \"$@\"; }}; set -o pipefail; "
    package = str(Path(isoglot.__file__).parents[1])
    return subprocess.run(
        ["bash", "-c", program + command],
        env={**os.environ, "PYTHONPATH": package, **environment},
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "code", "out", "err"),
    [
        ("isoglot --version <&- >&- 2>&-", 0, b"", b""),
        ("isoglot bogus 2>&-", 2, b"", b""),
        ("isoglot translate out <&-", 2, b"", b"no words given"),
        ("isoglot --help | true", 0, b"", b""),
        ("isoglot --version > /dev/full", 2, b"", b"isoglot: standard output: No space left on device\n"),
    ],
)
def test_streams_of_a_shell(folder, monkeypatch, command, code, out, err):
    monkeypatch.chdir(folder)
    done = shell(command)
    assert done.returncode == code
    assert out in done.stdout
    assert (err in done.stderr) if err else not done.stderr


def test_files_do_not_take_the_place_of_closed_streams(tmp_path):
    code = (
        "from isoglot.cli.streams import open_streams as o; import sys; o(); sys.exit(open(sys.argv[1], 'w').fileno())"
    )
    done = shell(f"'{sys.executable}' -c \"{code}\" '{tmp_path}/file' <&- >&- 2>&-")
    assert done.returncode == 3


def test_a_system_without_unicode():
    done = shell("isoglot é", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert done.stderr.startswith(rb"isoglot: isoglot has no command '\udcc3\udca9'")
