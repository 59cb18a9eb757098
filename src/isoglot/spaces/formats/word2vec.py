"""word2vec's binary form: a header line, then for each word its bytes, a space and its float32 numbers.

The original program ends each vector with a newline, others do not; both are read. Files may be compressed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isoglot.files import atomic_path
from isoglot.progress import Progress
from isoglot.spaces.formats.base import Content, MemorySink, Request, clean, decode_words, refuse_words
from isoglot.spaces.formats.sniff import parse_header, refuse_foreign
from isoglot.spaces.formats.streams import COMPRESSIONS, ByteSource, open_for_writing
from isoglot.spaces.space import Space

_CHUNK = 1 << 22
_LONGEST_WORD = 1 << 14
_LONGEST_VECTOR = 1 << 24


def read(request: Request) -> Content:
    """Read a word2vec `.bin` file."""
    with ByteSource(request.path, progress=request.progress) as source:
        buffer = bytearray(source.read(_CHUNK))
        refuse_foreign(request.path, bytes(buffer[:4096]))
        line_end = buffer.find(b"\n", 0, 64)
        header = parse_header(bytes(buffer[: max(line_end, 0)]))
        if header is None:
            request.fail("no word2vec header (number of words and dimension)", line=1)
        total, dim = header
        width = 4 * dim
        if width > _LONGEST_VECTOR:
            request.fail(f"the header says {dim:,} dimensions", line=1, remedy="the file is damaged")
        needed = min(total, request.limit or total)
        words: list[bytes] = []
        # Limited by the size of the file: the header may be wrong.
        sink = MemorySink(dim, min(needed, source.size * (4 if source.compression else 1) // width + 1))
        position = line_end + 1
        finished = False
        while len(words) < needed:
            rows = []
            while len(words) < needed:
                while buffer[position : position + 1] == b"\n":
                    position += 1
                space = buffer.find(b" ", position, position + _LONGEST_WORD)
                if space < 0 or space + 1 + width > len(buffer):
                    break
                words.append(bytes(buffer[position:space]))
                rows.append(np.frombuffer(bytes(buffer[space + 1 : space + 1 + width]), dtype="<f4"))
                position = space + 1 + width
            if rows:
                sink.append(np.stack(rows))
            if len(words) == needed:
                break
            left = len(buffer) - position
            if left > _LONGEST_WORD and buffer.find(b" ", position, position + _LONGEST_WORD) < 0:
                request.damaged(f"no word found after {len(words):,} vectors")
            if finished:
                request.damaged(f"the file ends after {len(words):,} of {total:,} vectors")
            more = source.read(max(_CHUNK, width))
            finished = not more
            buffer = buffer[position:] + more
            position = 0
        if needed == total and (bytes(buffer[position:]).strip(b"\n\0") or source.read(1)):
            request.report.add(f"data after the {total:,} words of the header", "ignored", request.where())
    decoded = decode_words(request, words, lambda i: f"{request.path}, word {i + 1}")
    return clean(request, Content(decoded, sink.finish()))


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write word2vec's binary form with a newline after each vector, as the original program does: exact."""
    refuse_words(space.words, lambda w: not w or " " in w or w.startswith("\n"), path, "word2vec binary")
    suffix = path.suffix if path.suffix in COMPRESSIONS else ""
    with atomic_path(path) as temporary, open_for_writing(temporary, suffix) as file:
        file.write(f"{len(space)} {space.dim}\n".encode())
        for start in range(0, len(space), 4096):
            block = np.ascontiguousarray(space.vectors[start : start + 4096], dtype="<f4")
            words = space.words[start : start + 4096]
            file.write(
                b"".join(b"%b %b\n" % (w.encode("utf-8"), r.tobytes()) for w, r in zip(words, block, strict=True))
            )
            progress(f"writing {path.name}", min(start + 4096, len(space)), len(space))
