"""Training that changes the encoder itself: objectives, transports, batches, the trainer and its run log."""

from isoglot.finetuning.batches import (
    Encoded as Encoded,
    PairBatch as PairBatch,
    Side as Side,
    make_pair as make_pair,
    make_side as make_side,
    word_vectors as word_vectors,
)
from isoglot.finetuning.card import finetuned_card as finetuned_card, write_card as write_card
from isoglot.finetuning.export import (
    RUN as RUN,
    RUN_FORMAT as RUN_FORMAT,
    START as START,
    check_export as check_export,
    check_output as check_output,
    save_encoder as save_encoder,
)
from isoglot.finetuning.mixture import Sources as Sources
from isoglot.finetuning.monolingual_text import TextCorpus as TextCorpus, open_text as open_text
from isoglot.finetuning.new_encoder import FreshEncoder as FreshEncoder, make_encoder as make_encoder
from isoglot.finetuning.new_pieces import NewPieces as NewPieces, add_pieces as add_pieces
from isoglot.finetuning.objectives.anchor import Anchor as Anchor
from isoglot.finetuning.objectives.base import (
    PRESETS as PRESETS,
    EncodedBatch as EncodedBatch,
    Objective as Objective,
    ObjectiveInfo as ObjectiveInfo,
    Predictions as Predictions,
    objective as objective,
    objectives as objectives,
    parse_recipe as parse_recipe,
    preset as preset,
)
from isoglot.finetuning.objectives.contrastive import Contrastive as Contrastive
from isoglot.finetuning.objectives.l2 import L2 as L2
from isoglot.finetuning.objectives.mlm import (
    MLM as MLM,
    Masked as Masked,
    Vocabulary as Vocabulary,
    mask_tokens as mask_tokens,
)
from isoglot.finetuning.objectives.sentence_contrastive import SentenceContrastive as SentenceContrastive
from isoglot.finetuning.objectives.static_dcca import StaticDCCA as StaticDCCA
from isoglot.finetuning.objectives.static_mse import StaticMSE as StaticMSE
from isoglot.finetuning.objectives.subword_ot import SubwordOT as SubwordOT
from isoglot.finetuning.objectives.teacher import Teacher as Teacher
from isoglot.finetuning.objectives.tlm import TLM as TLM, join_sides as join_sides
from isoglot.finetuning.objectives.word_ot import WordOT as WordOT, inverse_frequencies as inverse_frequencies
from isoglot.finetuning.parallel_text import Corpus as Corpus, open_corpus as open_corpus
from isoglot.finetuning.run_log import StepRecord as StepRecord, Stopped as Stopped, Trained as Trained
from isoglot.finetuning.run_state import check_room as check_room, read_json as read_json, write_json as write_json
from isoglot.finetuning.settings import (
    PRESET_TRAINING as PRESET_TRAINING,
    Recipe as Recipe,
    TrainingSettings as TrainingSettings,
    preset_settings as preset_settings,
    read_recipe as read_recipe,
    recipe_of as recipe_of,
)
from isoglot.finetuning.trainer import Trainer as Trainer
from isoglot.finetuning.transport.plans import TransportSettings as TransportSettings
from isoglot.finetuning.transport.sinkhorn import (
    sinkhorn_divergence as sinkhorn_divergence,
    transport_plan as transport_plan,
)
