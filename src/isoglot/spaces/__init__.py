"""Word vectors of one language: the `Space`, the formats it is read from and written to, normalisation."""

from isoglot.spaces.draw import drawn_rows as drawn_rows, own_order as own_order
from isoglot.spaces.formats.base import Content as Content, reading as reading
from isoglot.spaces.formats.inert_pickle import inspect_pickle as inspect_pickle
from isoglot.spaces.formats.native import NativeWriter as NativeWriter
from isoglot.spaces.formats.streams import (
    LONGEST_LINE as LONGEST_LINE,
    ByteSource as ByteSource,
    compression_of as compression_of,
    open_for_writing as open_for_writing,
)
from isoglot.spaces.load import load_space as load_space, output_format as output_format, save_space as save_space
from isoglot.spaces.normalise import Normaliser as Normaliser, parse_steps as parse_steps, unit_rows as unit_rows
from isoglot.spaces.occurrences import (
    Occurrence as Occurrence,
    occurrence_name as occurrence_name,
    parse_occurrence as parse_occurrence,
)
from isoglot.spaces.report import LoadReport as LoadReport
from isoglot.spaces.space import FloatMatrix as FloatMatrix, IntVector as IntVector, Space as Space
from isoglot.spaces.subwords import SubwordTable as SubwordTable, fasttext_hash as fasttext_hash, ngrams as ngrams
