"""Heads on encoders: tasks trained in one language and tested in others."""

from isoglot.transfer.estimate import TransferEstimate as TransferEstimate, estimate_transfer as estimate_transfer
from isoglot.transfer.examples import (
    TASKS as TASKS,
    Example as Example,
    PairExample as PairExample,
    Question as Question,
)
from isoglot.transfer.gathering import (
    QUICK as QUICK,
    Few as Few,
    Gathered as Gathered,
    gather_examples as gather_examples,
)
from isoglot.transfer.head import Fitting as Fitting, Head as Head, Predictions as Predictions
from isoglot.transfer.heads import fit_head as fit_head
from isoglot.transfer.metrics import (
    Prediction as Prediction,
    Tally as Tally,
    count_examples as count_examples,
    score as score,
)
from isoglot.transfer.protocol import TransferData as TransferData, run_transfer as run_transfer
from isoglot.transfer.readers import (
    NLI_LABELS as NLI_LABELS,
    UPOS as UPOS,
    read_examples as read_examples,
    read_nli as read_nli,
    read_questions as read_questions,
    read_tags as read_tags,
)
from isoglot.transfer.saved import LoadedHead as LoadedHead, load_head as load_head, save_head as save_head
from isoglot.transfer.settings import QUICK_SETTINGS as QUICK_SETTINGS, HeadSettings as HeadSettings
from isoglot.transfer.table import Figure as Figure, TransferRun as TransferRun, TransferTable as TransferTable
from isoglot.transfer.vectors import open_vectors as open_vectors
