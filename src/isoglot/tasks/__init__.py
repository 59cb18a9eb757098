"""Evaluations, one a file. Each returns `Results`: figures with their denominator, coverage, interval and items."""

from isoglot.tasks.bli import bli as bli
from isoglot.tasks.cbli import cbli as cbli
from isoglot.tasks.evaluate import as_lexicon as as_lexicon, evaluate as evaluate
from isoglot.tasks.registry import named_task as named_task, task as task, tasks as tasks
from isoglot.tasks.resampling import percentile_interval as percentile_interval, resampled_counts as resampled_counts
from isoglot.tasks.result import Result as Result, Results as Results
from isoglot.tasks.rfeval import (
    content_words as content_words,
    rfeval as rfeval,
    word_mover_scores as word_mover_scores,
)
from isoglot.tasks.significance import (
    PairedTest as PairedTest,
    bootstrap_intervals as bootstrap_intervals,
    p_text as p_text,
    paired_test as paired_test,
)
from isoglot.tasks.similarity import encode_words as encode_words, similarity as similarity
from isoglot.tasks.similarity_sets import (
    SIMILARITY_SETS as SIMILARITY_SETS,
    WordPair as WordPair,
    read_similarity as read_similarity,
    similarity_set as similarity_set,
)
from isoglot.tasks.tatoeba import TATOEBA_SCORES as TATOEBA_SCORES, tatoeba as tatoeba
from isoglot.tasks.wmt import WmtSegment as WmtSegment, read_wmt as read_wmt
from isoglot.tasks.word_alignment import word_alignment as word_alignment
