"""What languages share, against brute force; and texts of one language against those of several."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from isoglot.text import overlap, same_language

TEXTS = {
    "en": """It was the first day of the year, and the old man went down to the river with his dog. He had lived in
        the small house by the water for as long as anyone in the village could remember, and he knew every stone
        of it. The children said that he was a sailor once and that he had seen the other side of the world. When
        they asked him about it he would laugh and say that the world is the same on all sides, but that the fish
        are not. On that day there was no wind and the water lay still. He sat on a stone and the dog lay at his
        feet, and for a long time nothing was to be heard but the bells of the church on the hill.""",
    "en2": """The committee met in the afternoon to discuss the plans for the new road. Most of the members were of the
        opinion that it should go to the north of the town, where the land is cheap and there are few houses in
        the way. One of them said that it was a pity to lose the woods, and that the people who live there had
        not been asked. The mayor answered that he had written to all of them and that only two had replied. It
        was agreed that a letter would be sent to the county, and that the question should be put on the list for
        the next meeting. Then they talked about the school, which has been in need of a roof for a year, and
        about the money it would take.""",
    "fr": """C'était le premier jour de l'année, et le vieil homme descendit à la rivière avec son chien. Il vivait
        dans la petite maison au bord de l'eau depuis si longtemps que personne dans le village ne se souvenait
        d'un autre temps, et il en connaissait toutes les pierres. Les enfants disaient qu'il avait été marin et
        qu'il avait vu l'autre côté du monde. Quand on lui en parlait, il riait et disait que le monde est le
        même de tous les côtés, mais que les poissons ne le sont pas. Ce jour-là il n'y avait pas de vent et
        l'eau était calme. Il était assis sur une pierre, le chien à ses pieds, et pendant longtemps on
        n'entendit que les cloches de l'église.""",
    "es": """Era el primer día del año, y el viejo bajó al río con su perro. Vivía en la pequeña casa junto al agua
        desde hacía tanto tiempo que nadie en el pueblo recordaba otra cosa, y conocía todas las piedras. Los
        niños decían que había sido marinero y que había visto el otro lado del mundo. Cuando le preguntaban por
        ello se reía y decía que el mundo es el mismo por todos los lados, pero que los peces no lo son. Aquel
        día no hacía viento y el agua estaba quieta. Se sentó en una piedra con el perro a sus pies, y durante
        mucho tiempo no se oyó nada más que las campanas de la iglesia de la colina.""",
    "pt": """Era o primeiro dia do ano, e o velho desceu ao rio com o seu cão. Vivia na pequena casa junto à água há
        tanto tempo que ninguém na aldeia se lembrava de outra coisa, e conhecia todas as pedras. As crianças
        diziam que ele tinha sido marinheiro e que tinha visto o outro lado do mundo. Quando lhe perguntavam
        sobre isso, ria e dizia que o mundo é o mesmo de todos os lados, mas que os peixes não o são. Naquele dia
        não havia vento e a água estava parada. Sentou-se numa pedra com o cão aos seus pés, e durante muito
        tempo não se ouviu nada a não ser os sinos da igreja na colina.""",
    "de": """Es war der erste Tag des Jahres, und der alte Mann ging mit seinem Hund zum Fluss hinunter. Er lebte in
        dem kleinen Haus am Wasser, solange sich im Dorf jemand erinnern konnte, und er kannte jeden Stein. Die
        Kinder sagten, dass er einmal Seemann war und dass er die andere Seite der Welt gesehen hatte. Wenn sie
        ihn danach fragten, lachte er und sagte, dass die Welt auf allen Seiten die gleiche ist, die Fische aber
        nicht. An diesem Tag ging kein Wind, und das Wasser lag still. Er saß auf einem Stein, der Hund lag zu
        seinen Füßen, und lange war nichts zu hören als die Glocken der Kirche auf dem Hügel.""",
}
COUNTS = {name: Counter(re.findall(r"\w+|[^\w\s]", text)) for name, text in TEXTS.items()}


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(TEXTS, 2)))
def test_same_language(a, b):
    assert same_language(COUNTS[a], COUNTS[b]) == (a[:2] == b[:2])
    assert same_language(COUNTS[b], COUNTS[a]) == same_language(COUNTS[a], COUNTS[b])


def test_neither_case_nor_size_nor_punctuation_matters():
    loud = Counter({word.upper(): 50 * count for word, count in COUNTS["en"].items()})
    assert same_language(loud, COUNTS["en2"])
    signs = Counter({",": 10_000, ".": 8_000, "1": 500})
    assert not same_language(COUNTS["en"] + signs, COUNTS["de"] + signs)
    assert not same_language(signs, signs)


def sample(small, topic, seed, size=5000):
    """Running words of a language with these small words, on this topic; frequencies fall as Zipf has it."""
    words = [*small, *(f"{topic}{i}" for i in range(400))]
    return Counter(random.Random(seed).choices(words, [1 / (rank + 2) for rank in range(len(words))], k=size))


def test_long_texts_of_one_language_and_of_its_sister():
    north = [f"n{i}" for i in range(60)]
    # Every other small word is spelled alike, as about between Spanish and Portuguese.
    south = [word if i % 2 else f"s{i}" for i, word in enumerate(north)]
    sea, hills, other = sample(north, "sea", 1), sample(north, "hill", 2), sample(south, "sea", 3)
    assert same_language(sea, hills)
    assert not same_language(sea, other)
    assert not same_language(hills, other)


def test_a_few_words_are_too_few():
    few = Counter("the cat and the dog".split())
    assert not same_language(few, few)
    assert not same_language({}, {})


word_counts = st.dictionaries(st.integers(0, 25).map(str), st.integers(1, 9), max_size=20)


@given(st.dictionaries(st.sampled_from(["en", "fr", "de", "it"]), word_counts, max_size=4))
def test_overlap_is_what_counting_one_by_one_gives(counts):
    found = overlap(counts)
    assert [(one.src, one.tgt) for one in found] == list(itertools.combinations(counts, 2))
    for one in found:
        src = [word for word, count in counts[one.src].items() for _ in range(count)]
        tgt = [word for word, count in counts[one.tgt].items() for _ in range(count)]
        assert one.shared == len(set(src) & set(tgt))
        assert one.types == pytest.approx(one.shared / max(len(set(src) | set(tgt)), 1))
        assert one.src_tokens == pytest.approx(sum(word in tgt for word in src) / max(len(src), 1))
        assert one.tgt_tokens == pytest.approx(sum(word in src for word in tgt) / max(len(tgt), 1))
