"""Readers of benchmark files; each returns a list of examples, and says file and line of what it cannot read."""

from isoglot.transfer.readers.nli import NLI_LABELS as NLI_LABELS, read_nli as read_nli
from isoglot.transfer.readers.questions import read_questions as read_questions
from isoglot.transfer.readers.read import read_examples as read_examples
from isoglot.transfer.readers.tags import UPOS as UPOS, read_tags as read_tags
