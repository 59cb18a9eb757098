"""navec's archives: a tar of `vocab.bin` (gzip: counts and words) and `pq.bin` (product-quantised vectors).

Each vector is split into parts; each part is an index into a codebook of 256 short vectors. Reading puts the parts
together and sorts the words, which are in alphabetical order, by their counts.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import warnings
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from isoglot.errors import FormatError
from isoglot.files import atomic_path
from isoglot.progress import Progress
from isoglot.spaces.formats.base import BadRows, Content, Request, non_finite_rows, reading, refuse_words
from isoglot.spaces.space import FloatMatrix, Space

_SPECIAL = ("<unk>", "<pad>")
_BLOCK = 4096
_CENTROIDS = 256
_SAMPLE = 16384
_LARGEST_VOCABULARY = 1 << 30
#: Bytes of a word with its count: a generous limit.
_LONGEST_WORD = 4096


def read(request: Request) -> Content:
    """Read a navec `.tar`."""
    with reading(request.path, "navec archive"):
        if request.digest is not None:
            with request.path.open("rb") as stream:
                while piece := stream.read(1 << 20):
                    request.digest.update(piece)
        with tarfile.open(request.path, "r:") as archive:
            # The uncompressed member first: it limits the number of words.
            indexes, codes = _quantiser(request, _member(request, archive, "pq.bin"))
            vocabulary = _unpack(request, _member(request, archive, "vocab.bin"), len(indexes))
        words, counts = _vocabulary(request, vocabulary)
    if len(words) != len(indexes):
        request.damaged(f"{len(words):,} words but {len(indexes):,} vectors")
    request.complete = True
    bad = BadRows(request)
    order = np.argsort(-counts, kind="stable").tolist()
    keep = bad.keep(words, (row for row in order if words[row] not in _SPECIAL))
    bad.check(len(words))
    if broken := non_finite_rows(codes.reshape(-1, codes.shape[2])):
        request.damaged(f"{len(broken)} vectors of the codebooks are not finite")
    if not keep:
        request.fail("holds no vectors")
    if request.limit is not None and request.limit < len(keep):
        request.complete = False
        keep = keep[: request.limit]
    parts, _, width = codes.shape
    sink = request.sink(parts * width, len(keep))
    for start in range(0, len(keep), _BLOCK):
        row_codes = indexes[keep[start : start + _BLOCK]]  # (rows, parts)
        sink.append(codes[np.arange(parts), row_codes].reshape(len(row_codes), parts * width))
        request.progress(f"reading {request.path.name}", min(start + _BLOCK, len(keep)), len(keep))
    return Content([words[row] for row in keep], None, counts[keep])


def write(space: Space, path: Path, progress: Progress) -> None:
    """Write a navec `.tar`. Lossy: three numbers become one byte. Up to 254 words it is exact.

    Codebooks come from k-means over a sample of 16,384 rows. Without counts, descending numbers keep the order.
    """
    refuse_words(space.words, lambda w: not w or "\n" in w or w in _SPECIAL, path, "navec")
    counts = space.counts if space.counts is not None else np.arange(len(space), 0, -1)
    largest = np.iinfo(np.uint32).max
    stored = np.append(np.clip(counts, 1, largest), [0, 0]).astype("<u4")
    text = "\n".join([*space.words, *_SPECIAL]).encode("utf-8")
    vocabulary = struct.pack("<I", len(stored)) + stored.tobytes() + text
    matrix = np.concatenate([space.vectors, np.zeros((2, space.dim), dtype=np.float32)])
    indexes, codes = _quantise(matrix, progress, f"writing {path.name}")
    head = struct.pack("<4I", len(matrix), space.dim, codes.shape[0], codes.shape[1])
    meta = json.dumps({"id": path.stem, "protocol": 1}, indent=2).encode()
    with atomic_path(path) as temporary, tarfile.open(temporary, "w") as archive:
        for name, data in (
            ("meta.json", meta),
            ("vocab.bin", gzip.compress(vocabulary, mtime=0)),
            ("pq.bin", head + indexes.tobytes() + codes.astype("<f4").tobytes()),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def _member(request: Request, archive: tarfile.TarFile, name: str) -> bytes:
    for member in archive:
        # Sparse members can claim any size without holding it.
        if member.name == name and member.isreg() and not member.issparse():
            file = archive.extractfile(member)
            data = file.read() if file else b""
            if len(data) != member.size:
                request.damaged(f"{name} is truncated")
            return data
    raise FormatError(
        f"no {name} in this tar archive",
        where=str(request.path),
        remedy="of tar archives only navec's can be read; unpack others first",
    )


def _unpack(request: Request, data: bytes, words: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    text = unpacker.decompress(data, min(_LARGEST_VOCABULARY, 4096 + words * _LONGEST_WORD))
    if not unpacker.eof or unpacker.unused_data.strip(b"\0"):
        request.damaged("vocab.bin is truncated, too large, or followed by other data")
    return text


def _vocabulary(request: Request, data: bytes) -> tuple[list[str], npt.NDArray[np.int64]]:
    (count,) = struct.unpack_from("<I", data)
    if 4 + 4 * count > len(data):
        request.damaged("the vocabulary is shorter than its header says")
    counts = np.frombuffer(data, dtype="<u4", count=count, offset=4).astype(np.int64)
    words = data[4 + 4 * count :].decode("utf-8").split("\n")
    if len(words) != count:
        request.damaged(f"{len(words):,} words but {count:,} counts")
    return words, counts


def _quantiser(request: Request, data: bytes) -> tuple[npt.NDArray[np.uint8], FloatMatrix]:
    count, dim, parts, centroids = struct.unpack_from("<4I", data)
    if not (dim and parts and dim % parts == 0 and 0 < centroids <= 256):
        request.damaged("damaged header of the quantiser")
    if len(data) != 16 + count * parts + 4 * centroids * dim:
        request.damaged("the quantiser's length does not match its header")
    indexes = np.frombuffer(data, dtype=np.uint8, count=count * parts, offset=16).reshape(count, parts)
    codes = np.frombuffer(data, dtype="<f4", offset=16 + count * parts).reshape(parts, centroids, dim // parts)
    if indexes.size and int(indexes.max()) >= centroids:
        request.damaged("an index beyond its codebook")
    return indexes, codes.astype(np.float32)


def _quantise(matrix: FloatMatrix, progress: Progress, step: str) -> tuple[npt.NDArray[np.uint8], FloatMatrix]:
    """Split each row into parts of about three numbers and assign to each part the nearest of 256 centroids."""
    from scipy.cluster.vq import kmeans2, vq

    rows, dim = matrix.shape
    # As in navec's own files: three numbers per part, if the dimension allows.
    parts = dim // min((w for w in range(1, dim + 1) if dim % w == 0), key=lambda w: (abs(w - 3), w))
    width = dim // parts
    centroids = min(_CENTROIDS, rows)
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(rows, size=min(rows, _SAMPLE), replace=False))
    indexes = np.empty((rows, parts), dtype=np.uint8)
    codes = np.empty((parts, centroids, width), dtype=np.float32)
    for part in range(parts):
        column = np.ascontiguousarray(matrix[:, part * width : (part + 1) * width])
        if rows <= centroids:
            codes[part] = column
        else:
            first = column[rng.choice(rows, size=centroids, replace=False)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an empty cluster only wastes a code
                codes[part], _ = kmeans2(column[sample], first, iter=10, minit="matrix")
        indexes[:, part] = vq(column, codes[part])[0]
        progress(step, part + 1, parts)
    return indexes, codes
