"""Raw text in, clean sentences of words out: what joint training and frequency counts start from."""

from isoglot.text.conll import (
    LabelledSentence as LabelledSentence,
    read_conll as read_conll,
    write_conll as write_conll,
)
from isoglot.text.counts import Overlap as Overlap, overlap as overlap, same_language as same_language
from isoglot.text.line_offsets import open_lines as open_lines
from isoglot.text.lines import (
    not_utf8 as not_utf8,
    read_lines as read_lines,
    read_text as read_text,
    write_lines as write_lines,
)
from isoglot.text.parallel import ParallelText as ParallelText
from isoglot.text.prepare import (
    TextReport as TextReport,
    TextSettings as TextSettings,
    lower_case as lower_case,
    prepare as prepare,
)
from isoglot.text.segmenters import (
    SEGMENTERS as SEGMENTERS,
    check_segmenters as check_segmenters,
    segmenter as segmenter,
    segmenter_name as segmenter_name,
    sentence_splitter as sentence_splitter,
)
