"""Optional packages: a missing one is reported before any work starts, with the extra that installs it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from isoglot.errors import MissingExtraError

#: Extras of pyproject.toml: the modules to look for, and the names of their packages for pip.
EXTRAS: Mapping[str, Mapping[str, str]] = {
    "faiss": {"faiss": "faiss-cpu"},
    "usearch": {"usearch": "usearch"},
    "gensim": {"gensim": "gensim"},
    "torch": {"torch": "torch"},
    "flows": {"torch": "torch", "zuko": "zuko"},
    "transport": {"ot": "POT"},
    "manifolds": {"pymanopt": "pymanopt"},
    "static-models": {"model2vec": "model2vec"},
    "encoders": {"torch": "torch", "transformers": "transformers"},
    "gguf": {"gguf": "gguf"},
    "use": {"tokenizers": "tokenizers"},
    "sentence-models": {"sentence_transformers": "sentence-transformers (6 or newer)"},
    "training": {
        "torch": "torch",
        "transformers": "transformers",
        "sentence_transformers": "sentence-transformers (6 or newer)",
        "accelerate": "accelerate",
    },
    "hub": {"huggingface_hub": "huggingface_hub"},
    "adapters": {"peft": "peft"},
    "crf": {"torch": "torch", "torchcrf": "pytorch-crf"},
    "word-alignment": {"thot": "sil-thot"},
    "text": {"icu4py": "icu4py"},
    "sklearn": {"sklearn": "scikit-learn"},
    "zh": {"jieba": "jieba"},
    "ja": {"fugashi": "fugashi", "unidic_lite": "unidic-lite"},
    "th": {"pythainlp": "pythainlp"},
}
#: Groups that are installed as part of a larger extra.
_INSTALLED_BY = {
    "faiss": "ann",
    "usearch": "ann",
    "adapters": "training",
    "crf": "training",
    "sentence-models": "encoders",
}


def require(extra: str, purpose: str) -> None:
    """Raise MissingExtraError unless everything that `purpose` needs is installed. Nothing is imported.

    >>> require("transport", "gromov-wasserstein")
    """
    for module, package in EXTRAS[extra].items():
        if not _installed(module):
            raise MissingExtraError(package, _INSTALLED_BY.get(extra, extra), purpose)


def has_extra(extra: str) -> bool:
    """Whether all modules of an extra are installed. Nothing is imported.

    >>> has_extra("flows")
    True
    """
    return all(map(_installed, EXTRAS[extra]))


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # a module in sys.modules without a spec, or None there
        return False
