"""Static word vectors from contextual encoders: X2Static (Gupta & Jaggi 2021) and averaging over contexts."""

from isoglot.distill.distilling import (
    DISTILLED_FOLDER as DISTILLED_FOLDER,
    distill_text as distill_text,
    distill_texts as distill_texts,
    distill_together as distill_together,
)
from isoglot.distill.estimate import estimate_distilling as estimate_distilling
from isoglot.distill.one_pass import Distilled as Distilled
from isoglot.distill.sentences import Sentences as Sentences
from isoglot.distill.settings import DistillSettings as DistillSettings
