"""Contextual encoders: sentences to vectors of words and sentences, word alignment, encoders aligned to each other."""

from isoglot.encoders.aligned import AlignedEncoder as AlignedEncoder
from isoglot.encoders.backends import check_encoder as check_encoder
from isoglot.encoders.encoded import WordVectors as WordVectors
from isoglot.encoders.encoder import SHARD as SHARD, Encoder as Encoder
from isoglot.encoders.estimate import SAMPLE as SAMPLE, Estimate as Estimate, estimate_encoding as estimate_encoding
from isoglot.encoders.layers import Layers as Layers, parse_layers as parse_layers
from isoglot.encoders.loading import check_native as check_native, quiet as quiet
from isoglot.encoders.maps import (
    ALIGNED_ENCODER_FOLDER as ALIGNED_ENCODER_FOLDER,
    Level as Level,
    is_aligned_folder as is_aligned_folder,
)
from isoglot.encoders.model import (
    LoadedModel as LoadedModel,
    layer_stack as layer_stack,
    load_masked_model as load_masked_model,
)
from isoglot.encoders.names import ENCODER_FOLDER as ENCODER_FOLDER
from isoglot.encoders.pieces import POOLINGS as POOLINGS, Tokens as Tokens, check_pooling as check_pooling
from isoglot.encoders.sentence_pooling import pooling_modules as pooling_modules
