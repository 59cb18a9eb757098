"""What a user holds afterwards: languages in one space, translation, dictionaries, re-ranking, export."""

from isoglot.aligned.aligned import Aligned as Aligned
from isoglot.aligned.export import check_export_format as check_export_format
from isoglot.aligned.rerank import RerankedRetriever as RerankedRetriever, Reranker as Reranker
from isoglot.aligned.shared import ALIGNED_FOLDER as ALIGNED_FOLDER, check_name as check_name
from isoglot.aligned.translation import (
    InducedPair as InducedPair,
    Translation as Translation,
    induce as induce,
    translate as translate,
)
