"""Warm starts: the word vectors that the tokens' tables of a language model start from.

`config.init.embeddings` names them: joint-align vectors of the run's own text, which are trained
first and kept in WORKDIR/start, the vectors of a dictionary, which need no training, both in one, a
static run's folder, or vector files of one space.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Mapping, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax import atomic, options, presets
from clwe_jax.embeddings import dictionary_text, files, token_init, word_rows
from clwe_jax.embeddings.subwords import Subwords
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.encoders import spaces
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import values_of
from clwe_jax.options.embeddings import WordsOptions
from clwe_jax.options.static import StaticRun
from clwe_jax.options.training import MAX_START_DIM
from clwe_jax.report.headline import FLOOR
from clwe_jax.runs.job import FIGURES
from clwe_jax.text.vocab.subword_vocab import INSIDE_MARK, SPACE_MARK
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.text_of_run import RunText
from clwe_jax.text.vocab.xlm import END_MARK
from clwe_jax.training.tables import LANGUAGES, TOKENS, Names, TokenVectors

FOLDER = "start"  # of the run's folder
_SHARED = (
    "languages",
    "lower_case",
    "simplify_chinese",
    "dictionary_clean",
    "dictionary_pivot",
    "exclude_tests",
)
_EVALUATORS = ("bli", "retrieval", "bleu")  # that measure the vectors of the start too
_TEST_OPTIONS = ("max_sentences",)  # of these evaluators that are those of the run


def names(tokenizer: Tokenizer) -> Names:
    """The run's tokens and languages, by the logical axes of its parameters."""
    return {TOKENS: tokenizer.vocabulary.pieces, LANGUAGES: tokenizer.languages}


def figures(workdir: str) -> dict[str, float]:
    """The figures of the word vectors that a run has trained for its start, as 'start/...'."""
    try:
        all_figures = atomic.read_json(os.path.join(workdir, FOLDER, FIGURES))
    except FileNotFoundError:
        return {}
    # The run measures the same floor.
    own_figures = {name: value for name, value in all_figures.items() if not name.startswith(FLOOR)}
    return {f"{FOLDER}/{name}": value for name, value in own_figures.items()}


def token_vectors(config: PretrainRun, workdir: str, run_text: RunText) -> TokenVectors | None:
    """The vectors that the run's tokens start from; None where `init.embeddings` is ''.

    Raises:
      ValueError, FileNotFoundError: word vectors that cannot be read or trained, or that share no
        word with the run's vocabulary.
    """
    settings = config.init
    if not settings.embeddings:
        return None
    if settings.embeddings in options.TRAINED_STARTS:
        train(config, workdir, run_text.folders)
        vectors = read(os.path.join(workdir, FOLDER), run_text.languages)
    elif settings.embeddings == "dictionary":
        vectors = _dictionary_vectors(config, run_text)
    else:
        vectors = read(settings.embeddings, run_text.languages)
    words, counts = _cut(vectors, run_text, config.init.center)
    size = run_text.tokenizer.vocabulary.size
    subwords = None
    if settings.method == "subword":
        place = os.path.join(workdir, FOLDER)
        place = place if settings.embeddings in options.TRAINED_STARTS else settings.embeddings
        subwords = _subwords(place, vectors, words, run_text, settings.center)
    values, has_start = token_init.token_vectors(
        settings.method, words, size, config.model.width, config.seed, subwords
    )
    record = {
        "source": settings.embeddings,
        "method": settings.method,
        "center": settings.center,
        "words": counts,
        "tokens": len(run_text.tokenizer.vocabulary),
    }
    return TokenVectors(values, has_start, settings.tables, settings.scale, record)


def read(source: str, languages: Sequence[str]) -> dict[str, Vectors]:
    """The vectors of a static run's folder or of vector files, by language.

    Args:
      languages: of the run; vectors of others are left out.

    Raises:
      ValueError, FileNotFoundError: files that cannot be read, or of none of the languages.
    """
    if os.path.isdir(source):
        model = spaces.load(source)
        vectors = {name: model.vectors(name) for name in model.languages if name in languages}
    else:
        option = "config.init.embeddings"
        vectors = files.read_space(options.vector_files(source, languages, option), option)
    if not vectors:
        raise ValueError(
            f"config.init.embeddings={source}: it has vectors in none of {', '.join(languages)}"
        )
    for language in languages:
        if language not in vectors:
            logging.warning("config.init.embeddings=%s: no vectors in %s", source, language)
    return vectors


def train(config: PretrainRun, workdir: str, folders: Mapping[str, str]) -> None:
    """Trains the joint-align vectors of the run's text in WORKDIR/start, unless they are there.

    Args:
      config: the run's.
      workdir: the run's folder.
      folders: the folders behind the options, from `text_of_run.resolve_folders`.
    """
    if jax.process_count() > 1:
        raise ValueError(
            "config.init.embeddings='joint' runs on one host: train the vectors with "
            "configs/joint_align.py, then name their folder, --config.init.embeddings=DIR"
        )
    # Most runs train no vectors, and load none of this.
    from clwe_jax.static.job import Static

    # The run itself measures the floor.
    Static(static_config(config, folders), os.path.join(workdir, FOLDER), with_floor=False).run()


def static_config(config: PretrainRun, folders: Mapping[str, str]) -> StaticRun:
    """The config of the joint-align vectors: the run's text, languages and dictionaries.

    The words of the run's test dictionaries are left out of the aligner's too, and the run's lexicon
    induction, sentence retrieval and BLEU (word by word) measure the vectors on the run's test sets.
    """
    base = options.parse(presets.start_from("joint_align", config.scale))
    data = dataclasses.replace(
        base.data,
        source=f"text:{folders['text']}",
        dictionaries=folders["dictionaries"],
        exclude_dictionaries=folders["tests"],
        **{name: getattr(config.data, name) for name in _SHARED},
    )
    # A model narrower than its vectors mixes up their dimensions: 256 and 128 instead of 400 find
    # 71 and 65% instead of 75 in German.
    width = min(config.model.width, MAX_START_DIM)
    static = dict(
        refinement=bool(config.data.dictionaries),
        write_text=False,
        induced_words=0,
        keep_subwords=config.init.method == "subword",
        mine=config.init.mine,
    )
    if config.init.embeddings == "joint+dictionary":
        # Both kinds are worth 23 points over Joint-Align alone, 2 over the dictionary alone.
        static["dictionary_dim"] = width
    if config.init.mine:
        static["trained_length"] = 0.3  # as in configs/mined_vectors.py
    joint = values_of(config.init.joint) | {"dim": config.init.joint.dim or width}
    evals = {}
    for key, spec in config.evals.items():
        if spec.name in _EVALUATORS:
            tests = {name: getattr(spec, name) for name in _TEST_OPTIONS if hasattr(spec, name)}
            if spec.name == "bli":
                tests |= {"methods": "nn,csls"}
            evals[key] = dataclasses.replace(
                base.evals[spec.name], data=folders[f"evals.{key}"], **tests
            )
    evals.setdefault("bli", dataclasses.replace(base.evals["bli"], data=""))
    return dataclasses.replace(
        base,
        seed=config.seed,
        data=data,
        evals=evals,
        static=dataclasses.replace(base.static, **static),
        embeddings=dataclasses.replace(base.embeddings, **joint),
    )


def _dictionary_vectors(config: PretrainRun, run_text: RunText) -> dict[str, Vectors]:
    if run_text.dictionary is None:
        raise ValueError(
            "config.init.embeddings='dictionary' needs a dictionary and text: set "
            "--config.data.dictionaries=DIR and --config.data.source=text:DIR"
        )
    counts = run_text.frequencies.words if run_text.frequencies else {}
    counts = {language: counts.get(language, {}) for language in run_text.languages}
    # The model's width is that of the vectors: none is left for n-grams.
    # Entries alone: whether guesses by n-grams help a model's start is not measured.
    alone = WordsOptions(unknown="beginnings", phrases=False, spelling_dim=0)
    graph = WordGraph(run_text.dictionary, counts, alone)
    return dict(dictionary_text.vectors(word_rows.rows(graph, config.model.width, config.seed)))


def _cut(
    by_language: Mapping[str, Vectors], run_text: RunText, center: bool
) -> tuple[token_init.CutWords, dict[str, int]]:
    """The words of all languages as the run's tokens, and their numbers by language."""
    tokenizer = run_text.tokenizer
    unknown_id = tokenizer.vocabulary.unk_id
    vectors = []
    weights = []
    tokens = []
    lengths = []
    numbers = {}
    for language, static in by_language.items():
        frequency = _frequencies(static, language, run_text)
        rows = []
        seen = set()
        for row, word in enumerate(static.words):
            ids, _ = tokenizer.encode(word, language)
            if ids and unknown_id not in ids and tuple(ids) not in seen:
                seen.add(tuple(ids))  # in lower case, a later word may be spelled like an earlier
                rows.append(row)
                tokens += ids
                lengths.append(len(ids))
        numbers[language] = len(rows)
        vectors.append(token_init.unit_vectors(static.vectors[rows], _mean(static, center)))
        weights.append(frequency[rows])
    if not sum(numbers.values()):
        raise ValueError("config.init.embeddings: no word with a vector is in the run's vocabulary")
    logging.info("words with a start vector: %s", numbers)
    return token_init.CutWords(
        vectors=np.concatenate(vectors),
        weights=np.concatenate(weights),
        tokens=np.array(tokens, np.int64),
        splits=np.cumsum([0, *lengths]),
        languages=np.repeat(np.arange(len(by_language)), list(numbers.values())),
        hub=list(by_language).index("en") if "en" in by_language else 0,
    ), numbers


def _mean(vectors: Vectors, center: bool) -> np.ndarray | None:
    return vectors.vectors.mean(0) if center and len(vectors) else None


def _subwords(
    folder: str,
    by_language: Mapping[str, Vectors],
    words: token_init.CutWords,
    run_text: RunText,
    center: bool,
) -> np.ndarray:
    """The tokens' own vectors from character n-grams, float32 [V, D]; zeros for none.

    A token of several languages has the mean of its vectors in these, weighted by frequency.

    Args:
      folder: of the static run that kept its n-grams.
      by_language: its vectors in the hub's space, by language.
      words: their tokens.
      center: whether the mean vectors of the languages are subtracted.

    Raises:
      ValueError: the run has not kept its n-grams.
    """
    from clwe_jax.static.trainer import SUBWORDS

    model = spaces.load(folder)
    path = os.path.join(folder, "trained", SUBWORDS)
    if not os.path.isfile(path):
        raise ValueError(
            f"config.init.method='subword': {folder} has no {SUBWORDS}. Train the vectors with "
            "--config.static.keep_subwords=True, or take --config.init.embeddings=joint"
        )
    grams = Subwords.load(path)
    vocabulary = run_text.tokenizer.vocabulary
    shares = token_init.language_shares(words, vocabulary.size)
    raw = np.zeros((vocabulary.size, grams.vectors.shape[1]), np.float32)
    for token, piece in enumerate(vocabulary.pieces):
        if shares[token].any():
            text, begins = _spell_piece(piece, vocabulary.kind)
            # A token ends a word only where it is all of it.
            ends = begins and vocabulary.encode_word(text) == [token]
            raw[token] = grams.vector(text, begins, ends)
    # Before map and centering, which would also give tokens without n-grams a vector.
    has_ngrams = np.abs(raw).max(1) > 0
    total = np.zeros_like(raw)
    for share, (language, vectors) in zip(shares.T, by_language.items()):
        mapped = raw
        if language in model.alignments:
            mapped = model.alignments[language].to_target_space(raw)
        total += share[:, None] * token_init.unit_vectors(mapped, _mean(vectors, center))
    return np.where(has_ngrams[:, None], total, 0).astype(np.float32)


def _spell_piece(piece: str, kind: str) -> tuple[str, bool]:
    """The characters of a token, and whether a word begins with it."""
    if kind == "wordpiece":
        return piece.removeprefix(INSIDE_MARK), not piece.startswith(INSIDE_MARK)
    if kind == "sentencepiece":
        return piece.removeprefix(SPACE_MARK), piece.startswith(SPACE_MARK)
    return piece.removesuffix(END_MARK), True  # fastBPE's pieces do not say where a word begins


def _frequencies(vectors: Vectors, language: str, run_text: RunText) -> np.ndarray:
    """How often each word occurs, float64 [N]: as the vectors know it, else in the run's text."""
    if vectors.counts is not None:
        return np.maximum(np.asarray(vectors.counts, np.float64), 1)
    if run_text.frequencies is None:
        return 1 / (1.0 + np.arange(len(vectors)))  # Zipf's law: vectors are ordered by frequency
    counts = run_text.frequencies.words.get(language, {})
    return np.array([counts.get(key, 0) + 0.5 for key in vectors.own_keys], np.float64)
