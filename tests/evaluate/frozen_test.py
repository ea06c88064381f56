"""The figures of today equal those of the separate evaluators of static and contextual words."""

import json
import pathlib

import numpy as np
import pytest

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.evaluate.bli import LexiconInduction
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.retrieval import SentenceRetrieval
from clwe_jax.evaluate.similarity import WordSimilarity
from clwe_jax.text.words.normalize import Normalizer


NAMES = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(40)]
LANGUAGES = ("en", "de", "fr")
PAIRS = (("de", "en"), ("en", "de"), ("fr", "en"), ("en", "fr"), ("de", "fr"))
FIGURES = pathlib.Path(__file__).parent / "frozen_figures.json"


def word(language, number):
    """A third of the words are spelled alike in all languages."""
    return NAMES[number] if number % 3 == 0 else language + NAMES[number]


def write(folder):
    """Test dictionaries, sentence pairs and a word similarity set, in `folder`."""
    draw = np.random.RandomState(5)
    for kind in ("bli", "pairs", "similarity", "tags"):
        (folder / kind).mkdir()
    for source, target in PAIRS:
        lines = []
        for n in range(0, 40, 2):
            for m in {n, int(draw.randint(40))}:
                lines.append(f"{word(source, n)} {word(target, m)}")
        lines += ["absent absent", "missing nowhere", f"{word(source, 1)} nowhere"]
        text = "\n".join(lines) + "\n"
        (folder / "bli" / f"{source}-{target}.5000-6500.txt").write_text(text)
    for source, target in (("de", "en"), ("en", "fr")):
        sentences = [draw.choice(40, draw.randint(2, 7)) for _ in range(60)]
        for language in (source, target):
            lines = [" ".join(word(language, n) for n in sentence) for sentence in sentences]
            path = folder / "pairs" / f"{source}-{target}.{language}"
            path.write_text("\n".join(lines) + "\n")
    scored = [f"{word('en', n)} {word('en', n + 1)} {draw.rand():.3f}" for n in range(20)]
    (folder / "similarity" / "EN_A.txt").write_text("\n".join(scored) + "\n")
    tagged = [f"{word('de', n)}\tx\t{('NOUN', 'VERB')[n % 2]}" for n in range(0, 40, 3)]
    (folder / "tags" / "de.tsv").write_text("\n".join(tagged) + "\n")


def sample():
    """Lines of each language."""
    draw = np.random.RandomState(6)
    return {
        language: [
            " ".join(word(language, n) for n in draw.choice(36, draw.randint(2, 6)))
            for _ in range(70)
        ]
        for language in LANGUAGES
    }


def vocabulary():
    """Every word of the three languages."""
    return list(dict.fromkeys(word(language, n) for language in LANGUAGES for n in range(40)))


def alike(tokenizer, variables):
    """The variables with like vectors for words of one meaning."""
    draw = np.random.RandomState(7)
    pieces = np.array(variables["pieces"])
    for n in range(40):
        meaning = draw.standard_normal(pieces.shape[1])
        for language in LANGUAGES:
            [row] = tokenizer.vocabulary.encode_word(word(language, n))
            pieces[row] = meaning + 0.6 * draw.standard_normal(pieces.shape[1])
    return {**variables, "pieces": pieces}


def static_vectors():
    """language -> (words, float32 [N, 8]); some words have no vector."""
    draw = np.random.RandomState(8)
    meanings = draw.standard_normal((40, 8))
    found = {}
    for language in LANGUAGES:
        numbers = [int(n) for n in draw.permutation(40)[:36]]
        noise = 0.7 * draw.standard_normal((36, 8))
        vectors = (meanings[numbers] + noise).astype(np.float32)
        found[language] = [word(language, n) for n in numbers], vectors
    return found


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    return tmp_path


def measure(folder, model, context, bli):
    found = {}
    for evaluator, part, options in (
        (LexiconInduction, "bli", bli),
        (SentenceRetrieval, "pairs", {"max_sentences": 50}),
        (WordSimilarity, "similarity", {}),
    ):
        found |= dict(evaluator(data=str(folder / part), **options, context=context).run(model))
    return found


def check(found, expected):
    assert not expected.keys() - found.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-6), name


def test_contextual_figures(folder, toy_objective, make_tokenizer, make_variables):
    tokenizer = make_tokenizer(vocabulary(), LANGUAGES)
    variables = alike(tokenizer, make_variables(tokenizer))
    model = ModelEncoder(toy_objective(layers=5), tokenizer, variables)
    context = Context(languages=LANGUAGES, tokenizer=tokenizer, sample=sample())
    found = measure(folder, model, context, dict(occurrences=3, min_count=8))
    check(found, json.loads(FIGURES.read_text())["contextual"])


class Spaces:
    """Vectors that lie in one space from the beginning."""

    languages = LANGUAGES

    def common_vectors(self, language):
        words, vectors = static_vectors()[language]
        return Vectors(words=words, vectors=vectors)

    def space(self, source, target):
        return self.common_vectors(source), self.common_vectors(target)


def test_static_figures(folder):
    normalizer = Normalizer()
    model = StaticEncoder(Spaces(), lambda text, language: normalizer(text, language).split())
    context = Context(languages=LANGUAGES, pairs=PAIRS)
    options = dict(methods="nn,csls,inverted_softmax", neighbourhood=5)
    found = measure(folder, model, context, {**options, "tags": str(folder / "tags")})
    check(found, json.loads(FIGURES.read_text())["static"])
