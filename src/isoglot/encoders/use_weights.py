"""The universal sentence encoder, multilingual (Yang et al. 2020, version 3), as a package brings it: two files.

`weights.npz` holds its weights, the embeddings of pieces in whole numbers, cut into chunks (piece i lies in chunk
i % 17); `sp.model` holds its SentencePiece vocabulary. This module reads them with numpy alone; `use_model` and
`use_numpy` compute with them.
"""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from isoglot.errors import FormatError
from isoglot.spaces import FloatMatrix

WEIGHTS, PIECES = "weights.npz", "sp.model"
#: Words that a convolution sees together, and how many of them stand before the one whose vector it computes.
ORDERS = ((2, 0), (3, 1), (5, 2))
#: Tokens that are read at once. The network knows no limit, but a line should not take all memory.
LONGEST = 8192
#: Reserved pieces of the vocabulary that no text gives.
PADDING, MASK = "extra_token_id_1", "extra_token_id_2"


@dataclasses.dataclass(frozen=True, eq=False)
class UseWeights:
    """Weights by the names of the file, and the embeddings as whole numbers with scale and offset of each chunk."""

    arrays: Mapping[str, FloatMatrix]
    table: npt.NDArray[np.uint8]
    scale: FloatMatrix
    offset: FloatMatrix
    eps: float

    def embeddings(self, ids: npt.NDArray[np.int64]) -> FloatMatrix:
        """Vectors (n, d) of pieces."""
        chunk = ids % len(self.scale)
        rows = self.table[ids].astype(np.float32)
        rows *= self.scale[chunk, None]
        rows += self.offset[chunk, None]
        return rows

    def joined(self, name: str) -> FloatMatrix:
        """Weights of the three convolutions that are side by side in one product."""
        return np.concatenate([self.arrays[f"{name}{order}"] for order, _ in ORDERS], axis=-1)


def is_use_folder(folder: Path) -> bool:
    """Whether both files are here."""
    return (folder / WEIGHTS).is_file() and (folder / PIECES).is_file()


def read_use_weights(folder: Path) -> UseWeights:
    """Read and check `weights.npz`; nothing in it is unpickled."""
    path = folder / WEIGHTS
    try:
        with np.load(path, allow_pickle=False) as file:
            chunks = sum(name[1:].isdigit() for name in file.files if name.startswith("q"))
            rows, width = file["q1"].shape
            table = np.empty((chunks * rows, width), dtype=np.uint8)
            for number in range(chunks):
                table[number::chunks] = file[f"q{number + 1}"]
            plain = {name: np.asarray(file[name], dtype=np.float32) for name in file.files if not _is_chunk(name)}
            eps = float(file["eps"])
        weights = UseWeights(plain, table, plain.pop("scale"), plain.pop("lo"), eps)
        _check_shapes(weights, width)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise FormatError(
            f"not the weights of the encoder ({error})", where=str(path), remedy="get it again"
        ) from error
    return weights


def _is_chunk(name: str) -> bool:
    return name.startswith("q") and name[1:].isdigit()


def _check_shapes(weights: UseWeights, width: int) -> None:
    inner = weights.arrays["b1_2"].shape[0]
    features = width + len(ORDERS) * inner
    hidden = weights.arrays["d0"].shape[1]
    expected = {"ln_g": (features,), "ln_b": (features,), "cnn_W": (features, width), "cnn_b": (width,)}
    expected |= {"d0": (width, hidden), "p1": (width, hidden), "d1": (hidden, hidden), "d2": (hidden, width)}
    expected |= {"p3": (hidden, width), "d3": (width, width)}
    for order, _ in ORDERS:
        expected |= {f"proj{order}": (width, inner)} | {
            f"{name}_{order}": (order * inner, inner) for name in ("w1", "w2")
        }
        names = (f"proj_b{order}", f"ln_g{order}", f"ln_b{order}", f"b1_{order}", f"b2_{order}")
        expected |= dict.fromkeys(names, (inner,))
    for name, shape in expected.items():
        if weights.arrays[name].shape != shape or not np.isfinite(weights.arrays[name]).all():
            raise ValueError(f"{name} is {weights.arrays[name].shape}, not finite numbers of shape {shape}")
    if not len(weights.scale) == len(weights.offset) or len(weights.table) % len(weights.scale):
        raise ValueError("chunks of embeddings do not fit")
