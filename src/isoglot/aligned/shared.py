"""`SharedSpaces`: languages that share one vector space, with the alignment that brought them there, and their folder:

OUT/README.md                    the model card
OUT/isoglot.json                 what it is, how it was made, figures measured
OUT/spaces/en.safetensors        each language's words and mapped vectors, memory-mapped on loading
OUT/alignments/en-fr/            the alignment itself, for vectors that come later
OUT/neighbourhoods.safetensors   CSLS neighbourhood means, which cost a pass over all pairs of words
OUT/rerank/en-fr/                re-rankers, where any were trained
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.aligned.card import aligned_card
from isoglot.aligners import Alignment, Side
from isoglot.card_content import HERE
from isoglot.errors import ConfigError, InputError
from isoglot.files import atomic_path
from isoglot.folders import FolderKind, Manifest
from isoglot.hub import fetch, push
from isoglot.manifests import TensorFile
from isoglot.progress import Progress, silent
from isoglot.retrieval import Retriever
from isoglot.spaces import Space, load_space, save_space
from isoglot.verified import digest_of_array

_MEANS = "neighbourhoods.safetensors"
_SPACES = "spaces"
ALIGNED_FOLDER = FolderKind("isoglot-aligned-spaces", "aligned spaces", "`isoglot align`", later=(_MEANS,))

Means = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


def check_name(name: str) -> None:
    """Raise unless a language of this name can have files of its own."""
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise ConfigError(f"{name!r} cannot name a language", remedy="use a code such as 'en' or 'zh-Hant'")


@dataclasses.dataclass(frozen=True, eq=False)
class SharedSpaces:
    """Spaces by name, all in one vector space.

    Args:
        spaces: mapped Spaces by name, the source first. Names are language codes; see `pair` for equal codes.
        alignments: by (source name, target name).
        info: how this was made: figures, settings, provenance.
        means: CSLS neighbourhood means by (source, target, neighbourhood), filled in as they are computed.
    """

    spaces: Mapping[str, Space]
    alignments: Mapping[tuple[str, str], Alignment]
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    means: dict[tuple[str, str, int], Means] = dataclasses.field(default_factory=dict)
    _originals: dict[str, Space | None] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def pair(cls, alignment: Alignment, src: Space, tgt: Space, info: Mapping[str, Any] | None = None) -> Self:
        """Map both sides. Two Spaces of the same language (say, of two models) are named `en.src` and `en.tgt`."""
        names = [src.lang or "src", tgt.lang or "tgt"]
        for name in names:
            check_name(name)
        if names[0] == names[1]:
            names = [f"{names[0]}.src", f"{names[1]}.tgt"]
        spaces = {names[0]: alignment.transform(src, "src"), names[1]: alignment.transform(tgt, "tgt")}
        return cls(spaces, {(names[0], names[1]): alignment}, info or {})

    @property
    def names(self) -> list[str]:
        return list(self.spaces)

    def direction(self, source: str | None = None, target: str | None = None) -> tuple[str, str]:
        """Fill in what was left out: the first Space as source, and as target the first other one."""
        for name in (source, target):
            if name is not None and name not in self.spaces:
                raise ConfigError(f"no language {name!r} here", remedy=f"there are: {', '.join(self.spaces)}")
        if source is None:
            source = next(name for name in self.spaces if name != target)
        if target is None:
            target = next(name for name in self.spaces if name != source)
        if source == target:
            raise ConfigError(f"source and target are both {source!r}")
        return source, target

    def retriever(
        self,
        source: str,
        target: str,
        *,
        score: str = "csls",
        neighbourhood: int = 10,
        backend: str = "exact",
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Retriever:
        """Search from one language into another; CSLS means are computed once for both directions and kept."""
        forward, backward = (source, target, neighbourhood), (target, source, neighbourhood)
        retriever = Retriever(
            self.spaces[source].vectors,
            self.spaces[target].vectors,
            score=score,
            neighbourhood=neighbourhood,
            backend=backend,
            threads=threads,
            progress=progress,
            means=self.means.get(forward) if score == "csls" else None,
        )
        if score == "csls" and forward not in self.means:
            of_source, of_target = retriever.neighbourhood_means()
            self.means[forward], self.means[backward] = (of_source, of_target), (of_target, of_source)
        return retriever

    def vector(self, name: str, word: str) -> npt.NDArray[np.float32] | None:
        """The word's vector in the shared space, or None.

        A word outside the vocabulary is looked up lower-cased; then, if the original file still exists and has
        subwords (fastText `.bin`), its n-grams give a vector, which is mapped like any other.
        """
        space = self.spaces[name]
        for form in (word, word.lower()):
            if form in space:
                return np.array(space.vectors[space.index[form]])
        original = self._original(name)
        if original is None or original.subwords is None:
            return None
        alignment, side = self._alignment_of(name)
        mapped: npt.NDArray[np.float32] = alignment.transform(original.vector(word)[None], side)[0]
        return mapped

    def save(
        self,
        folder: str | Path,
        *,
        spaces_in: str = _SPACES,
        also: Callable[[Path], None] | None = None,
        progress: Progress = silent,
    ) -> None:
        """Write the folder in one piece, the spaces to `spaces_in` within it; `also` may put more into it."""
        self._save(folder, HERE, spaces_in, also, progress)

    def push_to_hub(self, name: str, *, private: bool | None = None) -> str:
        """Save it as the repository `name` ("user/name") of the model hub; returns its address."""
        return push(lambda folder: self._save(folder, name), name, private=private)

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Self:
        """Read what `push_to_hub` sent, or a folder."""
        return cls.load(fetch(name))

    def _save(
        self,
        folder: str | Path,
        name: str,
        spaces_in: str = _SPACES,
        also: Callable[[Path], None] | None = None,
        progress: Progress = silent,
    ) -> None:
        """Write the folder, with a card that loads `name`."""
        with ALIGNED_FOLDER.replacing(folder) as temporary:
            (temporary / spaces_in).mkdir(exist_ok=True)
            (temporary / "alignments").mkdir()
            for done, (lang, space) in enumerate(self.spaces.items()):
                progress("writing", done, len(self.spaces))
                save_space(space, temporary / spaces_in / f"{lang}.safetensors", format="native")
            progress("writing", len(self.spaces), len(self.spaces))
            for (source, target), alignment in self.alignments.items():
                place = temporary / "alignments" / f"{source}-{target}"
                place.mkdir()
                alignment.write_into(place)
            more = self._write_more(temporary)
            self._write_means(temporary)
            if also is not None:
                also(temporary)
            aligned_card(name, self.spaces, self.alignments, self.info).write(temporary)
            content = {
                "languages": list(self.spaces),
                "spaces_in": spaces_in,
                # Elsewhere a file of the same name would be another one.
                "sources": {lang: space.source for lang, space in self.spaces.items()} if name == HERE else {},
                "alignments": [list(key) for key in self.alignments],
                **more,
                "info": dict(self.info),
            }
            ALIGNED_FOLDER.write_manifest(temporary, content)

    def save_means(self, folder: str | Path) -> None:
        """Keep newly computed neighbourhood means with the folder they belong to, if it can be written."""
        folder = Path(folder)
        try:
            self._write_means(folder)
        except OSError:
            return  # a read-only folder works as well, it only computes them again

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote; vectors are memory-mapped."""
        manifest = ALIGNED_FOLDER.read(folder)
        folder = Path(folder)
        names = manifest.names("languages", least=2)
        sources = manifest.fields("sources")
        place = manifest.place("spaces_in", folder)
        spaces = {}
        for name in names:
            path = manifest.file((place / f"{name}.safetensors").relative_to(folder).as_posix())
            space = load_space(path, lang=name, format="native")
            spaces[name] = dataclasses.replace(space, source=sources.optional_text(name))
        if len({space.dim for space in spaces.values()}) > 1:
            raise manifest.wrong("its languages have different dimensions")
        alignments = {
            (source, target): Alignment.load(folder / "alignments" / f"{source}-{target}")
            for source, target in manifest.pairs("alignments", among=names)
        }
        means = cls._read_means(folder, spaces)
        return cls(spaces, alignments, manifest.mapping("info"), means, **cls._read_more(folder, manifest, spaces))

    def _write_more(self, folder: Path) -> dict[str, Any]:
        """What a subclass keeps beside the spaces; returns its entries of the manifest."""
        return {"rerankers": []}

    @classmethod
    def _read_more(cls, folder: Path, manifest: Manifest, spaces: Mapping[str, Space]) -> dict[str, Any]:
        """The subclass's own arguments."""
        return {}

    def _write_means(self, folder: Path) -> None:
        tensors = {}
        for (source, target, k), (of_source, of_target) in self.means.items():
            tensors[f"{source}|{target}|{k}|0"], tensors[f"{source}|{target}|{k}|1"] = of_source, of_target
        if tensors:
            arrays = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
            with atomic_path(folder / _MEANS, own=True) as temporary:
                # One entry: safetensors writes several in no fixed order, and the same run shall give the same bytes.
                save_file(arrays, temporary, metadata={"sha256": _digest(arrays)})

    @staticmethod
    def _read_means(folder: Path, spaces: Mapping[str, Space]) -> dict[tuple[str, str, int], Means]:
        try:
            tensors = TensorFile.read(folder / _MEANS)
        except InputError:
            return {}  # only a cache: computed again when needed
        if tensors.metadata.get("sha256") != _digest(tensors):
            return {}
        means = {}
        for key in tensors:
            source, target, k, which, *_ = [*key.split("|"), *[""] * 4]
            other = f"{source}|{target}|{k}|1"
            if which != "0" or other not in tensors or not {source, target} <= spaces.keys() or not k.isdecimal():
                continue
            of_source, of_target = tensors[key], tensors[other]
            if (of_source.shape, of_target.shape) == ((len(spaces[source]),), (len(spaces[target]),)):
                means[source, target, int(k)] = (of_source, of_target)
        return means

    def _original(self, name: str) -> Space | None:
        """The file a Space came from, where it is still there and may have subwords; opened once."""
        if name not in self._originals:
            source = self.spaces[name].source
            usable = source is not None and source.endswith(".bin") and Path(source).is_file()
            self._originals[name] = load_space(source, lang=name) if usable and source is not None else None
        return self._originals[name]

    def _alignment_of(self, name: str) -> tuple[Alignment, Side]:
        for (source, target), alignment in self.alignments.items():
            if name == source:
                return alignment, "src"
            if name == target:
                return alignment, "tgt"
        raise ConfigError(f"no alignment for {name!r}")


def _digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    parts = "".join(f"{name} {digest_of_array(arrays[name])}\n" for name in sorted(arrays))
    return hashlib.sha256(parts.encode()).hexdigest()
