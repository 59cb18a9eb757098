"""`AlignedEncoder`: an encoder with a learned map for each of two languages, saved as one folder.

The folder is three things at once: an `AlignedEncoder`, an `Encoder` (`Encoder(folder, lang="de")`), and, where the
maps are linear and the layer is a single one, a sentence-transformers model (`SentenceTransformer(folder)`, whose
`encode(texts, task="de")` takes the language and refuses text without one).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.aligners import Alignment, Side
from isoglot.card_content import HERE
from isoglot.encoders.card import aligned_encoder_card
from isoglot.encoders.encoded import WordVectors
from isoglot.encoders.encoder import Encoder, Sentences
from isoglot.encoders.layers import parse_layers
from isoglot.encoders.loading import quiet
from isoglot.encoders.maps import ALIGNED_ENCODER_FOLDER, LayerMaps, Level, read_alignments, read_level
from isoglot.encoders.sentence_model import SentenceModel, cannot_export, same_route
from isoglot.errors import ConfigError, locating
from isoglot.hub import fetch, push
from isoglot.progress import Progress, silent
from isoglot.small_tables import html_table
from isoglot.spaces import FloatMatrix, Normaliser


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AlignedEncoder:
    """An encoder and what maps its vectors of two languages into one space.

    Args:
        encoder: as it is, without maps; its layer and pooling are those the maps were learned with.
        alignments: one for the combined vector of its layers, or one for each layer.
        languages: source and target.
        level: "word" if learned on words in context, "sentence" if on sentence vectors.
        info: how it was learned.
    """

    encoder: Encoder
    alignments: tuple[Alignment, ...]
    languages: tuple[str, str]
    level: Level = "word"
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.encoder.mapped:
            raise ConfigError("this encoder is aligned already", where=self.encoder.name)
        if len(self.alignments) not in (1, len(self.encoder.layers.numbers)):
            raise ConfigError(f"{len(self.alignments)} maps for {len(self.encoder.layers.numbers)} layers")
        if len(set(self.languages)) != 2 or not all(self.languages):
            raise ConfigError(f"an aligned encoder needs two different languages, not {self.languages!r}")

    def __repr__(self) -> str:
        languages = "-".join(self.languages)
        return f"AlignedEncoder({self.encoder.name!r}, {languages}, {self._method}, level={self.level!r})"

    def _repr_html_(self) -> str:
        head = ["languages", "method", "level", "maps", "layer"]
        row = ["-".join(self.languages), self._method, self.level, len(self.alignments), self.encoder.layers]
        return html_table(f"AlignedEncoder {self.encoder.name}", head, [row])

    @property
    def _method(self) -> str:
        return self.alignments[0].method

    @property
    def each(self) -> bool:
        """Whether every layer has a map of its own."""
        return len(self.alignments) > 1

    def encoder_of(self, lang: str) -> Encoder:
        """The encoder with the map of one language: its vectors lie in the shared space."""
        return self.encoder.with_maps(self.maps(lang))

    def words(self, sentences: Sentences, lang: str, *, progress: Progress = silent) -> WordVectors:
        """Vectors of words in the shared space."""
        return self.encoder_of(lang).words(sentences, progress=progress)

    def sentences(
        self, texts: str | Sequence[str], lang: str, *, normalise: str = "", progress: Progress = silent
    ) -> FloatMatrix:
        """Vectors of sentences in the shared space, (n, d).

        `normalise`: steps learned on these very texts, such as "unit,centre", which takes their mean away. For whole
        collections that are searched, of another kind than the alignment was learned on; needs no translations.
        """
        vectors = self.encoder_of(lang).sentences(texts, progress=progress)
        return Normaliser.fit_transform(normalise, vectors)[1] if normalise else vectors

    def save(self, folder: str | Path) -> str | None:
        """Write the folder. Gives None, or a sentence on why sentence-transformers cannot load it."""
        return self._save(folder, HERE)

    def push_to_hub(self, name: str, *, private: bool | None = None) -> str:
        """Save it as the repository `name` ("user/name") of the model hub; returns its address."""
        return push(lambda folder: self._save(folder, name), name, private=private)

    def _save(self, folder: str | Path, name: str) -> str | None:
        """Write the folder, with a card that loads `name`."""
        reason = cannot_export(self.encoder, self.alignments)
        with ALIGNED_ENCODER_FOLDER.replacing(folder) as temporary, quiet():
            self.encoder.model.save(temporary / "encoder", depth=self._depth_to_save() if reason is None else None)
            for i, alignment in enumerate(self.alignments):
                (temporary / "alignments" / str(i)).mkdir(parents=True)
                alignment.write_into(temporary / "alignments" / str(i))
            if reason is None:
                SentenceModel(self.encoder, self.alignments[0], self.languages, self.level).write_into(temporary)
            content = {
                "languages": list(self.languages),
                "layers": str(self.encoder.layers),
                "pooling": self.encoder.pooling,
                "sentence_pooling": self.encoder.sentence_pooling,
                "prompt": self.encoder.prompt,
                "echo": self.encoder.echo,
                "level": self.level,
                "each": self.each,
                "alignments": len(self.alignments),
                "sentence_transformers": reason is None,
                "info": dict(self.info),
            }
            one_route = reason is None and same_route(self.alignments[0])
            first = self.alignments[0]
            card = aligned_encoder_card(
                name,
                self.languages,
                first,
                self.info,
                one_route=one_route,
                reason=reason,
                ours=self.encoder.model.has_sentence_vectors,
            )
            card.write(temporary)
            ALIGNED_ENCODER_FOLDER.write_manifest(temporary, content)
        return reason

    @classmethod
    def load(cls, folder: str | Path, **settings: Any) -> AlignedEncoder:
        """Read what `save` wrote; `settings` (device, dtype, cache, ...) go to the Encoder."""
        folder = Path(folder)
        manifest = ALIGNED_ENCODER_FOLDER.read(folder)
        encoder = Encoder(
            folder / "encoder",
            layer=manifest.text("layers"),
            pooling=manifest.text("pooling"),
            sentence_pooling=manifest.text("sentence_pooling"),
            prompt=manifest.optional_text("prompt") or "",
            echo="echo" in manifest.content and manifest.flag("echo"),
            **settings,
        )
        first, second = manifest.names("languages", exactly=2)
        alignments = read_alignments(manifest)
        with locating(manifest.where):
            return cls(encoder, alignments, (first, second), read_level(manifest), manifest.mapping("info"))

    @classmethod
    def from_pretrained(cls, name: str | Path, **settings: Any) -> AlignedEncoder:
        """Read what `push_to_hub` sent, or a folder."""
        return cls.load(fetch(name), **settings)

    def side(self, lang: str) -> Side:
        """Which side of the alignment a language is."""
        if lang not in self.languages:
            raise ConfigError(f"unknown language {lang!r}", remedy=f"one of: {', '.join(self.languages)}")
        return "src" if lang == self.languages[0] else "tgt"

    def maps(self, lang: str) -> LayerMaps:
        """What takes the encoder's own vectors of one language into the shared space."""
        return LayerMaps(
            encoder=self.encoder.model.folder,
            layers=str(self.encoder.layers),
            pooling=self.encoder.pooling,
            sentence_pooling=self.encoder.sentence_pooling,
            level=self.level,
            each=self.each,
            alignments=self.alignments,
            side=self.side(lang),
            prompt=self.encoder.prompt,
            echo=self.encoder.echo,
        )

    def _depth_to_save(self) -> int | None:
        """Layers above the one that is used are left out: sentence-transformers takes the last one."""
        top = max(parse_layers(self.encoder.layers, self.encoder.model.depth).numbers)
        return top if self.encoder.model.can_be_cut and top > 0 else None
