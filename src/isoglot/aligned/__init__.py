"""What a user holds afterwards: languages in one space, translation, dictionaries, re-ranking, export."""

from isoglot.aligned.aligned import AlignedSpaces as AlignedSpaces, check_name as check_name
from isoglot.aligned.rerank import RerankedRetriever as RerankedRetriever, Reranker as Reranker
from isoglot.aligned.static_model import write_static_model as write_static_model
from isoglot.aligned.translation import Translation as Translation, induce as induce, translate as translate
