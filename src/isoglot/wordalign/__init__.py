"""Which words of sentence pairs translate each other, by similarity, by statistics or by both; label projection."""

from isoglot.wordalign.align_words import align_words as align_words
from isoglot.wordalign.combined import COMBINED as COMBINED, combined_align as combined_align
from isoglot.wordalign.linking import (
    check_linking as check_linking,
    link_text as link_text,
    link_words as link_words,
    pair_scores as pair_scores,
)
from isoglot.wordalign.links import (
    WordLinks as WordLinks,
    check_links as check_links,
    link_lines as link_lines,
    read_links as read_links,
    write_links as write_links,
)
from isoglot.wordalign.projection import (
    Projection as Projection,
    label_scheme as label_scheme,
    project_text as project_text,
)
from isoglot.wordalign.similarity import METHODS as METHODS, word_align as word_align
from isoglot.wordalign.statistical import MODELS as MODELS, statistical_align as statistical_align
