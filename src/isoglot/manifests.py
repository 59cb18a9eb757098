"""Reading files that we wrote, but that may have been edited or damaged since: each value is checked when it is read.

A folder of ours is a manifest (JSON) and tensors (safetensors). Whatever is wrong with either becomes one error that
names the file and the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from isoglot.errors import FormatError, InputError
from isoglot.opening import read_small

T = TypeVar("T")


def read_json(path: Path) -> Any:
    """The content of a JSON file. A file that cannot be opened raises OSError, bad content `FormatError`."""
    try:
        return parse_json(read_small(path), str(path))
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: {error}", where=str(path)) from error


def parse_json(data: bytes | str, where: str) -> Any:
    """Parse JSON text; invalid text, or text nested too deeply, raises `FormatError`."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise FormatError("nested too deeply", where=where) from error
    except ValueError as error:
        raise FormatError(f"not JSON: {error}", where=where) from error


def read_json_object(path: Path) -> dict[str, Any]:
    """The content of a JSON file, which must be an object."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise FormatError("not a JSON object", where=str(path))
    return content


class Fields:
    """The fields of a JSON object, checked when they are read.

    >>> fields = Fields({"languages": ["en", "fr"], "steps": 3}, "out/isoglot.json")
    >>> fields.texts("languages"), fields.integer("steps", least=1)
    (['en', 'fr'], 3)
    >>> fields.text("method")
    Traceback (most recent call last):
        ...
    isoglot.errors.FormatError: out/isoglot.json: "method" is missing
    """

    def __init__(self, content: Mapping[str, Any], where: str, *, remedy: str | None = None) -> None:
        self.content = content
        self.where = where
        self.remedy = remedy

    def __contains__(self, name: str) -> bool:
        return name in self.content

    def wrong(self, what: str) -> FormatError:
        """An error about this file, for callers that check more than a type."""
        return FormatError(what, where=self.where, remedy=self.remedy)

    def get(self, name: str) -> Any:
        if name not in self.content:
            raise self.wrong(f'"{name}" is missing')
        return self.content[name]

    def text(self, name: str) -> str:
        return self._typed(name, str, "a string")

    def optional_text(self, name: str) -> str | None:
        return None if self.content.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        return self._typed(name, bool, "true or false")

    def integer(self, name: str, *, least: int | None = None, most: int | None = None) -> int:
        value = self._typed(name, int, "a whole number")
        if (least is not None and value < least) or (most is not None and value > most):
            raise self.wrong(f'"{name}" is {str(value)[:30]}, out of range')
        return value

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        value = self.text(name)
        if value not in choices:
            raise self.wrong(f'"{name}" is {value[:60]!r}, not one of {", ".join(choices)}')
        return value

    def items(self, name: str) -> list[Any]:
        return self._typed(name, list, "a list")

    def texts(self, name: str, *, least: int = 0, exactly: int | None = None, distinct: bool = True) -> list[str]:
        """A list of strings."""
        value = self.items(name)
        if not all(isinstance(one, str) for one in value):
            raise self.wrong(f'"{name}" is not a list of strings')
        if distinct and len(set(value)) < len(value):
            raise self.wrong(f'"{name}" has the same entry twice')
        if len(value) < least or (exactly is not None and len(value) != exactly):
            expected = f"at least {least}" if exactly is None else exactly
            raise self.wrong(f'"{name}" has {len(value)} entries, not {expected}')
        return list(value)

    def names(self, name: str, *, least: int = 0, exactly: int | None = None) -> list[str]:
        """Strings that are used in file names, so none may lead out of the folder."""
        value = self.texts(name, least=least, exactly=exactly)
        for one in value:
            self._check_name(name, one)
        return value

    def pairs(self, name: str, among: Sequence[str]) -> list[tuple[str, str]]:
        """A list of pairs of these names."""
        pairs = []
        for one in self.items(name):
            if not (isinstance(one, list) and len(one) == 2 and all(isinstance(part, str) for part in one)):
                raise self.wrong(f'"{name}" is not a list of pairs')
            if not set(one) <= set(among):
                raise self.wrong(f'"{name}" has the pair {"-".join(one)[:60]!r}, but there are only {", ".join(among)}')
            pairs.append((one[0], one[1]))
        if len(set(pairs)) < len(pairs):
            raise self.wrong(f'"{name}" has the same pair twice')
        return pairs

    def mapping(self, name: str) -> dict[str, Any]:
        return self._typed(name, dict, "an object")

    def fields(self, name: str) -> Fields:
        """An object within this one."""
        return Fields(self.mapping(name), self.where, remedy=self.remedy)

    def place(self, name: str, folder: Path) -> Path:
        """The folder inside `folder` that a field names."""
        value = self.text(name)
        if value != ".":
            self._check_name(name, value)
        return folder / value

    def _check_name(self, name: str, value: str) -> None:
        if not re.fullmatch(r"[\w.-]{1,64}", value) or not value.strip("."):
            raise self.wrong(f'"{name}" has {value[:60]!r}, which is not a valid file name')

    def _typed(self, name: str, kind: type[T], what: str) -> T:
        value = self.get(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(f'"{name}" is not {what}')
        return value


class TensorFile(Mapping[str, npt.NDArray[Any]]):
    """The arrays of a safetensors file, checked: plain numeric types, and finite.

    >>> tensors = TensorFile({"W": np.eye(2)}, "map.safetensors", {})
    >>> tensors.take("W", (2, None)).shape
    (2, 2)
    >>> tensors.take("W", (2, 3))
    Traceback (most recent call last):
        ...
    isoglot.errors.FormatError: map.safetensors: W has shape (2, 2), not (2, 3)
    """

    def __init__(
        self, arrays: Mapping[str, npt.NDArray[Any]], where: str, metadata: Mapping[str, str], remedy: str | None = None
    ) -> None:
        self._arrays = dict(arrays)
        self.where = where
        self.metadata = metadata
        self.remedy = remedy

    @classmethod
    def read(cls, path: Path, *, finite: bool = True, remedy: str | None = None) -> TensorFile:
        """Read the whole file; one that cannot be opened raises InputError, one that is damaged FormatError."""
        from safetensors import SafetensorError, safe_open

        arrays = {}
        if path.exists() and not path.is_file():
            raise FormatError("is not a file", where=str(path), remedy=remedy)
        try:
            with safe_open(str(path), framework="numpy") as file:
                metadata = file.metadata() or {}
                for name in file.keys():  # noqa: SIM118 (not a mapping)
                    arrays[name] = file.get_tensor(name)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror or error})", where=str(path), remedy=remedy) from error
        except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
            # Types that numpy lacks (bfloat16, 8-bit floats) raise any of the last three.
            raise FormatError(f"cannot be read as tensors: {error}", where=str(path), remedy=remedy) from error
        tensors = cls(arrays, str(path), metadata, remedy)
        for name, array in arrays.items():
            if array.dtype.kind not in "fiub" or array.dtype.name == "bfloat16":
                raise tensors.wrong(f"{name} has type {array.dtype}")
            if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
                raise tensors.wrong(f"{name} holds values that are not finite")
        return tensors

    def take(self, name: str, shape: Sequence[int | None] | None = None, kind: str = "f") -> npt.NDArray[Any]:
        """One array of this kind (numpy's letters: "f" floats, "iu" integers) and shape; None is any length."""
        if name not in self._arrays:
            raise self.wrong(f"{name} is missing")
        array = self._arrays[name]
        if array.dtype.kind not in kind:
            raise self.wrong(f"{name} has type {array.dtype}")
        fits = shape is None or (
            array.ndim == len(shape)
            and all(want is None or size == want for size, want in zip(array.shape, shape, strict=True))
        )
        if not fits:
            expected = ", ".join("any" if size is None else str(size) for size in shape or ())
            raise self.wrong(f"{name} has shape {array.shape}, not ({expected})")
        return array

    def wrong(self, what: str) -> FormatError:
        return FormatError(what, where=self.where, remedy=self.remedy)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)
