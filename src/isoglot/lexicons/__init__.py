"""Bilingual dictionaries, parallel text and its word links: what supervises an alignment and what it is tested on."""

from isoglot.lexicons.coverage import Coverage as Coverage
from isoglot.lexicons.direction import check_direction as check_direction
from isoglot.lexicons.frequency import frequency_ranks as frequency_ranks
from isoglot.lexicons.lexicon import Lexicon as Lexicon
from isoglot.lexicons.seeds import identical_strings as identical_strings, numerals as numerals
from isoglot.lexicons.split import split_lexicon as split_lexicon
from isoglot.lexicons.write import (
    dictionary_files as dictionary_files,
    dictionary_format as dictionary_format,
    writable as writable,
    write_dictionary as write_dictionary,
)
