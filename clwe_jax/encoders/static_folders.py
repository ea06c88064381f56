"""Static vectors as models of sentence-transformers (StaticEmbedding) and of model2vec.

A text's vector there is the mean of its words' rows. The rows' lengths hold the words' weights, so
that the direction of this mean is that of our pool 'information'; a word that the model lacks counts as nothing.
Runs of scripts without spaces are cut by longest match with the words of all languages that are written.
"""

from __future__ import annotations

import itertools
import json
import os
from typing import Any, Mapping

import numpy as np
from safetensors.numpy import save

from clwe_jax import atomic
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.interop import tokenizer_json
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import INSIDE_MARK
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary
from clwe_jax.text.words.characters import marked_scripts
from clwe_jax.text.words.words import (
    Segmenter,
    close_clusters,
    end_syllables,
    has_marks,
    is_unspaced,
)

DTYPES = ("float32", "float16", "int8")
_INT8_MAX = 127
_NOTHING = 0  # a row of zeros, that of the first special piece
_MODULE = "sentence_transformers.models.StaticEmbedding"


def write(
    spaces: Mapping[str, Vectors],
    weights: Mapping[str, Mapping[str, float]],
    normalizer: Normalizer,
    out: str,
    form: str,
    dtype: str = "float32",
    words: int = 0,
    dim: int = 0,
) -> list[str]:
    """Writes a folder that the library opens.

    The formats know no languages: a string of several languages has the mean of its vectors, weighted by
    its frequency in each, as its rank tells it (Zipf's law).

    Args:
      spaces: language -> its words, most frequent first, in one space.
      weights: language -> word -> its weight in a sentence; an absent word weighs 1.
      normalizer: of text.
      out: the folder.
      form: 'sentence-transformers' or 'model2vec'.
      dtype: one of DTYPES. int8, of model2vec alone, has one scale for all rows, which cosines do not
        see.
      words: most words of a language, the most frequent ones; 0: all.
      dim: dimensions, of random directions; 0: all.

    Returns:
      Remarks for the user.

    Raises:
      ValueError: an unknown dtype, int8 for sentence-transformers, more dimensions than the vectors', no
        words.
    """
    dtypes = DTYPES if form == "model2vec" else DTYPES[:2]
    if dtype not in dtypes:
        raise ValueError(f"--dtype={dtype}: {form} takes {', '.join(dtypes)}")
    check_size(next(iter(spaces.values())).dim, words, dim)
    places, rows, left_out, shared = _merge_languages(spaces, weights, words)
    count = len(places)
    if not count:
        raise ValueError(f"{', '.join(spaces)}: there is no word to write")
    if dim:
        rows = reduce_dim(rows, dim)
    capitals = [] if normalizer.lower_case else _with_capitals(places)
    characters, copied_rows = _add_continuations(places)
    copied_rows = capitals + copied_rows
    if copied_rows:  # else it would copy the whole table
        rows = np.concatenate([rows, rows[copied_rows]])
    # The vocabulary's own specials come first, and their rows are 0.
    vocabulary = WordVocabulary([*SPECIALS, *places])
    tokenizer = Tokenizer(tuple(spaces), normalizer, Segmenter(), vocabulary)
    content = tokenizer_json.content(tokenizer, unspaced=characters)
    content["post_processor"] = None  # no marks of beginning and end
    os.makedirs(out, exist_ok=True)
    name = "embeddings" if form == "model2vec" else "embedding.weight"
    atomic.write(os.path.join(out, "model.safetensors"), save({name: _as_dtype(rows, dtype)}))
    _json(out, "tokenizer.json", content)
    _json(out, "modules.json", [{"idx": 0, "name": "0", "path": "", "type": _MODULE}])
    if form == "model2vec":
        config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
        config |= {"hidden_dim": rows.shape[1], "embedding_dtype": dtype}
        _json(out, "config.json", config)
    else:
        _json(out, "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    notes = [f"{count:,} words of {rows.shape[1]} dimensions, {dtype}."]
    if form == "model2vec":
        notes.append(
            "model2vec reads the first 512 words of a text: model.encode(texts, max_length=None) reads all."
        )
    if left_out:
        notes.append(
            f"{left_out:,} entries of several words, or pieces of words, are left out: these formats have words alone."
        )
    if shared:
        notes.append(
            f"{shared:,} strings of several languages have a mean of their vectors; "
            "--language=xx writes one language alone."
        )
    return notes


def _merge_languages(
    spaces: Mapping[str, Vectors], weights: Mapping[str, Mapping[str, float]], words: int
) -> tuple[dict[str, int], np.ndarray, int, int]:
    """One vector for each string of all languages; arguments as of `write`.

    Returns:
      word -> its row; the rows, after those of `SPECIALS`, which are 0: float32 [rows, D]; the number of entries
      that were left out, which are no words; and the number of strings of several languages.
    """
    # Before rows of one key are told apart: a row beyond the words that are written stands for none of them.
    spaces = {language: vectors.top(words or None) for language, vectors in spaces.items()}
    size = len(SPECIALS) + sum(map(len, spaces.values()))
    rows = np.zeros((size, next(iter(spaces.values())).dim), np.float32)
    uses = np.zeros(size, np.float32)
    places: dict[str, int] = {}
    left_out = 0
    shared = set()
    for language, vectors in spaces.items():
        of_language = weights.get(language, {})
        for row, word in enumerate(vectors.own_keys):
            # A piece of BERT's in files of vectors would be taken for the rest of a word.
            if " " in word or word in SPECIALS or word.startswith(INSIDE_MARK):
                left_out += 1
                continue
            if vectors.index[word] != row:  # another spelling of a word
                continue
            place = places.setdefault(word, len(SPECIALS) + len(places))
            if uses[place]:
                shared.add(place)
            share = 1 / (1 + row)  # of the language's running words, by Zipf's law
            uses[place] += share
            rows[place] += np.float32(share * of_language.get(word, 1.0)) * vectors.vectors[row]
    rows = rows[: len(SPECIALS) + len(places)]
    rows /= np.maximum(uses[: len(rows)], 1e-9)[:, None]
    return places, rows, left_out, len(shared)


def check_size(width: int, words: int, dim: int) -> None:
    """Raises ValueError for a number of words or of dimensions that vectors of a width cannot have."""
    if not 0 <= dim <= width:
        raise ValueError(f"--dim={dim}: the vectors have {width} dimensions")
    if words < 0:
        raise ValueError(f"--words={words}: expected a number of words, or 0 for all")


def reduce_dim(rows: np.ndarray, dim: int) -> np.ndarray:
    """The rows in `dim` random directions at right angles, which keep angles nearly: [N, dim].

    Johnson and Lindenstrauss 1984. Rows of a dictionary have no principal directions: the 256 largest
    lose 17 points of retrieval where random ones lose 6.
    """
    # A fixed seed: the same vectors give the same file.
    directions = np.random.default_rng(0).standard_normal((rows.shape[1], dim))
    return rows @ np.linalg.qr(directions)[0].astype(np.float32)


def _with_capitals(places: dict[str, int]) -> list[int]:
    """Adds words in small letters with a capital, and in capitals, where the vocabulary lacks them.

    In this project a cased word without a vector has that of its small letters, which these formats
    cannot look up.

    Args:
      places: word -> its row; grows.

    Returns:
      For each word that was added the row that it has too.
    """
    rows = []
    for word, row in list(places.items()):
        for capital in (word[:1].upper() + word[1:], word.upper()):
            if capital.lower() == word and capital not in places:
                places[capital] = len(SPECIALS) + len(places)
                rows.append(row)
    return rows


def _add_continuations(places: dict[str, int]) -> tuple[list[str], list[int]]:
    """Adds what longest match needs to a vocabulary of words, in scripts without spaces.

    These are the words' characters, so that there is always a match, and words and characters behind the
    mark of a word that goes on.

    Args:
      places: word -> its row; grows.

    Returns:
      The characters; and for each word that was added the row that it has too.
    """
    unspaced = {word: word for word in places if is_unspaced(word)}
    mark_characters = ""
    if any(map(has_marks, unspaced)):
        # Words end where no combining mark follows.
        unspaced = {close_clusters(end_syllables(word)): word for word in unspaced}
        # Also those of no word, or a run would end before them, inside a cluster.
        mark_characters = marked_scripts()
    characters = list(dict.fromkeys(itertools.chain(*unspaced, mark_characters)))
    rows = dict.fromkeys(characters, _NOTHING) | {x: places[word] for x, word in unspaced.items()}
    added = {x: _NOTHING for x in characters if x not in places}
    added |= {INSIDE_MARK + word: row for word, row in rows.items()}
    for word in added:
        places[word] = len(SPECIALS) + len(places)
    return characters, list(added.values())


def _as_dtype(rows: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "int8":
        return np.rint(rows * (_INT8_MAX / max(float(np.abs(rows).max()), 1e-9))).astype(np.int8)
    return np.ascontiguousarray(rows.astype(dtype))


def _json(out: str, name: str, content: Any) -> None:
    text = json.dumps(content, ensure_ascii=False)
    atomic.write(os.path.join(out, name), text.encode("utf-8", errors="replace"))
