"""Word vectors out of text: skip-gram and CBOW with negative sampling."""

from isoglot.wordvectors.corpus import Corpus as Corpus, CorpusSettings as CorpusSettings, TextFile as TextFile
from isoglot.wordvectors.training import Training as Training, Translations as Translations, train as train
from isoglot.wordvectors.work_folder import (
    Trained as Trained,
    estimate as estimate,
    remove_work as remove_work,
    train_texts as train_texts,
    translations_of as translations_of,
)
