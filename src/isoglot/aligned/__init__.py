"""What a user holds afterwards: languages in one space, translation, dictionaries, re-ranking, export."""

from isoglot.aligned.aligned import Aligned as Aligned
from isoglot.aligned.calibration import (
    Calibration as Calibration,
    Examples as Examples,
    calibration_error as calibration_error,
)
from isoglot.aligned.case_forms import check_kinds as check_kinds
from isoglot.aligned.export import check_export_format as check_export_format
from isoglot.aligned.induction import (
    InducedLexicon as InducedLexicon,
    InducedPair as InducedPair,
    induce as induce,
)
from isoglot.aligned.rerank import RerankedRetriever as RerankedRetriever, Reranker as Reranker
from isoglot.aligned.shared import ALIGNED_FOLDER as ALIGNED_FOLDER, check_name as check_name
from isoglot.aligned.translation import Translation as Translation, translate as translate
