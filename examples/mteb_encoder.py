"""Measure encoders with MTEB (`pip install mteb`, version 2).

Static models (`isoglot export --format static-model`) and fine-tuned encoders are sentence-transformers models, which
MTEB takes as they are: `mteb.evaluate(SentenceTransformer(folder), tasks)`.

An aligned encoder has a map of its own for each language, so it has to know the language of every text. `MtebEncoder`
asks MTEB for it: `mteb.evaluate(MtebEncoder("en-de"), tasks)`.
"""

import re

import numpy as np

from isoglot import AlignedEncoder
from isoglot.errors import ConfigError
from isoglot.languages import short_code
from isoglot.spaces import unit_rows


class MtebEncoder:
    """An aligned encoder as MTEB calls one: a folder, or a name on the model hub."""

    def __init__(self, model_name, revision=None, **settings):
        self.model = AlignedEncoder.from_pretrained(model_name, **settings)
        self.name = str(model_name)

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        return self.model.sentences(texts, self._language(task_metadata, hf_subset))

    def similarity(self, embeddings1, embeddings2):
        return unit_rows(np.asarray(embeddings1)) @ unit_rows(np.asarray(embeddings2)).T

    def similarity_pairwise(self, embeddings1, embeddings2):
        return (unit_rows(np.asarray(embeddings1)) * unit_rows(np.asarray(embeddings2))).sum(axis=1)

    @property
    def mteb_model_meta(self):
        from mteb.models import ModelMeta

        return ModelMeta.create_empty({"name": "isoglot/aligned-encoder", "languages": None})

    def _language(self, task_metadata, subset):
        """The language of a subset ("de", "deu_Latn"), or of the whole task if that has only one."""
        codes = [subset] if subset != "default" else list(task_metadata.languages)
        ours = {short_code(lang) or lang: lang for lang in self.model.languages}
        # A script may follow: deu_Latn, deu-Latn. What follows in "deu-eng" is another language.
        parts = [re.fullmatch(r"([a-z]{2,3})([-_][A-Z][a-z]{3})?", code) for code in codes]
        found = {part and ours.get(short_code(part[1])) for part in parts}
        if len(found) != 1 or None in found:
            raise ConfigError(
                f"MTEB does not say which language of {', '.join(self.model.languages)} texts of {subset!r} are",
                where=task_metadata.name,
                remedy="choose a task with one language in each subset, or one whose subsets are parallel",
            )
        return found.pop()
