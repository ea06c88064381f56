"""Teaches a downloaded encoder the words of a dictionary, without training.

    clwe-jax teach --encoder=hf:DIR --languages=hsb --dictionaries=DIR --text=DIR --out=NEW

An encoder cuts words of a language that it does not know into many pieces, which mean nothing to it. Here each word
that the dictionary translates becomes one piece, whose row of the table of tokens is the mean of the rows of its English
translations. With --text, words of the text that begin with an entry (inflected forms) become pieces too. All other
rows and layers stay, so that text without such words keeps its vectors; a longer word that begins like a new piece may
be cut anew. `api.load("hf:NEW")` and transformers open the new folder.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from typing import Container, Mapping, NamedTuple, Sequence

from absl import app, flags, logging
from flax import traverse_util
import numpy as np

from clwe_jax import atomic, terminal
from clwe_jax.embeddings.beginnings import beginnings
from clwe_jax.interop import huggingface, sentence_files, to_huggingface
from clwe_jax.interop.configuration import PREFIX
from clwe_jax.interop.huggingface import BIAS, OUTPUT, TOKENS, Loaded
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.corpus import corpora
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.vocab import hf_tokenizer, whole_words
from clwe_jax.text.vocab.base_vocab import Vocabulary
from clwe_jax.text.vocab.subword_vocab import (
    SPACE_MARK,
    SentencePieceVocabulary,
    WordPieceVocabulary,
)
from clwe_jax.text.vocab.tokenizer import Tokenizer

_MIN_COUNT = 2  # of a form in the text


class Taught(NamedTuple):
    """An encoder with more words.

    Attributes:
      loaded: the model, with a larger vocabulary.
      words: number of new pieces, both spellings of a word (small and capital) counted.
      skipped: pairs whose word the encoder reads as one piece already, or as several words.
    """

    loaded: Loaded
    words: int
    skipped: int


def teach(
    loaded: Loaded,
    dictionary: Dictionary,
    languages: Sequence[str],
    known: str = "en",
    forms: Mapping[str, Sequence[str]] = {},
) -> Taught:
    """The encoder with a piece for each word that it cuts and the dictionary translates.

    Args:
      loaded: a model with WordPiece or a unigram vocabulary; its pieces keep their ids and rows.
      dictionary: words spelled as the encoder reads them, or in small letters.
      languages: the languages whose words are taught.
      known: the language of the translations, which the encoder knows.
      forms: language -> words of its text. One without an entry has the row of the longest entry that
        it begins with, if that is most of it.

    Raises:
      ValueError: another vocabulary, the dictionary has no pair of a language with `known`, or no new word.

    Languages that spell a word alike share its piece, with the mean of all translations.
    """
    _, tokenizer, variables = loaded
    vocabulary = tokenizer.vocabulary
    if not isinstance(vocabulary, WordPieceVocabulary | SentencePieceVocabulary):
        raise ValueError("words can be taught to encoders with WordPiece or a unigram model alone")
    rows: dict[str, list[np.ndarray]] = {}
    table = np.asarray(variables["params"]["backbone"]["token_embedding"])
    skipped_count = 0
    for language in languages:
        pairs = dictionary.pairs(language, known)
        if not pairs:
            raise ValueError(f"the dictionary has no pair of {language!r} with {known!r}")
        for word, translation in pairs:
            ids, _ = tokenizer.encode(translation, known)
            pieces = [x for x in ids if x != vocabulary.unk_id]  # its row means nothing
            spellings = [x for x in _spellings(tokenizer, word, language) if _is_cut(tokenizer, x)]
            skipped_count += not spellings
            for spelling in spellings if pieces else ():
                rows.setdefault(spelling, []).append(table[pieces].mean(0))
        entries = {x: rows[x] for x in dict.fromkeys(pair[0] for pair in pairs) if x in rows}
        for form in forms.get(language, ()):
            if form not in rows and _is_cut(tokenizer, form):
                if stem := _stem(form.lower(), entries):
                    rows[form] = list(entries[stem])  # another language may add to the form
    larger = whole_words.add(vocabulary, list(rows), len(rows))
    new_pieces = larger.pieces[len(vocabulary.pieces) :]
    if not new_pieces:
        raise ValueError(f"no word of {', '.join(languages)} is cut into pieces: nothing to teach")
    # A mean of rows is shorter than a row, and the layers have seen no short ones.
    new_rows = [np.mean(rows[x.lstrip(SPACE_MARK)], 0) for x in new_pieces]
    length = np.linalg.norm(table[: len(vocabulary.pieces)], axis=1).mean()
    new_rows = [length * row / np.linalg.norm(row) for row in new_rows]
    return Taught(_with_rows(loaded, larger, np.stack(new_rows)), len(new_pieces), skipped_count)


def _spellings(tokenizer: Tokenizer, word: str, language: str) -> list[str]:
    """A word as the encoder's text has it: with a capital letter too, where it reads capitals."""
    spellings = dict.fromkeys((word, word[:1].upper() + word[1:]))
    words = [tokenizer.words(x, language) for x in spellings]
    return list(dict.fromkeys(x[0] for x in words if len(x) == 1))


def _stem(word: str, entries: Container[str]) -> str:
    """The longest entry that a word begins with and that is most of it; or ''."""
    return next((stem for stem in reversed(beginnings(word)) if stem in entries), "")


def _is_cut(tokenizer: Tokenizer, word: str) -> bool:
    return len(tokenizer.vocabulary.encode_word(word)) > 1


def _with_rows(loaded: Loaded, vocabulary: Vocabulary, new: np.ndarray) -> Loaded:
    """The model with the larger vocabulary, whose further pieces have the rows `new`, [W, D]."""
    objective, tokenizer, variables = loaded
    old = len(tokenizer.vocabulary.pieces)
    flat = traverse_util.flatten_dict(variables["params"], sep="/")

    def append_rows(name: str, rows: np.ndarray) -> np.ndarray:
        array = np.asarray(flat[name])
        room = np.zeros((vocabulary.size - old, *array.shape[1:]), array.dtype)
        room[: len(rows)] = rows
        return np.concatenate([array[:old], room])

    flat[TOKENS] = append_rows(TOKENS, new)
    for name in (OUTPUT, BIAS):  # nothing is known of how often a new piece is the answer
        if name in flat:
            flat[name] = append_rows(name, np.zeros((0, *flat[name].shape[1:])))
    model = objective.model.clone(vocab_size=vocabulary.size)
    objective = dataclasses.replace(objective, model=model, vocab_size=len(vocabulary))
    parts = tokenizer.languages, tokenizer.normalizer, tokenizer.segmenter
    tokenizer = Tokenizer(*parts, vocabulary, tokenizer.whole_text)
    params = traverse_util.unflatten_dict(flat, sep="/")
    return Loaded(objective, tokenizer, {**variables, "params": params})


def _forms(folder: str, tokenizer: Tokenizer, languages: Sequence[str]) -> dict[str, list[str]]:
    """The words of the text, in their own letters, the most frequent first."""
    corpus = corpora.TextCorpus(folder, languages)
    forms = {}
    for language in languages:
        split = functools.partial(tokenizer.words, language=language)
        counts, _ = corpus.count_words(language, split, None)
        frequent = sorted(counts, key=lambda word: (-counts[word], word))
        forms[language] = [word for word in frequent if counts[word] >= _MIN_COUNT]
    return forms


def _copy_reading(directory: str, out: str) -> None:
    """Copies how a sentence's vector is made, with the length of a text, which may stand with the tokenizer alone."""
    sentence_files.copy(directory, out)
    name = hf_tokenizer.CONFIG_FILE
    settings = hf_tokenizer.read_json(os.path.join(out, name))
    lengths = (hf_tokenizer.read_optional(directory, name) or {}, settings)
    shortest = min(x["model_max_length"] for x in lengths if x.get("model_max_length"))
    atomic.write_json(os.path.join(out, name), settings | {"model_max_length": shortest}, indent=2)


def main(argv: list[str]) -> None:
    """The command line."""
    args = flags.FLAGS
    if len(argv) > 1 or not (args.encoder and args.languages and args.dictionaries and args.out):
        sys.exit(
            "usage: clwe-jax teach --encoder=hf:DIR --languages=CODES "
            "--dictionaries=DIR --out=NEW [--text=DIR]"
        )
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    languages = args.languages.split(",")
    try:
        loaded = huggingface.load(args.encoder, (args.known, *languages))
        dictionary = dictionaries.load(
            args.dictionaries, (args.known, *languages), normalizer=loaded.tokenizer.normalizer
        )
        forms = _forms(args.text, loaded.tokenizer, languages) if args.text else {}
        taught = teach(loaded, dictionary, languages, args.known, forms)
        notes = to_huggingface.write(*taught.loaded, args.out)
        _copy_reading(args.encoder.removeprefix(PREFIX), args.out)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    print(
        f"{args.out}: {taught.words:,} new pieces; {taught.skipped:,} pairs taught nothing, as the "
        "word is one piece already or several words.",
        *notes,
        sep="\n",
    )


if __name__ == "__main__":
    # Here, so that one process can import two commands that share the name of a flag.
    flags.DEFINE_string("encoder", None, "hf:DIR, a folder of Hugging Face's BERT or XLM-R.")
    flags.DEFINE_string("languages", None, "Codes of the languages to teach, separated by commas.")
    flags.DEFINE_string("dictionaries", None, "A folder of dictionaries en-xx.txt.")
    flags.DEFINE_string(
        "text", "", "A folder with xx.txt or xx/, whose forms of entries are taught too."
    )
    flags.DEFINE_string("known", "en", "The language of the translations, which the encoder knows.")
    flags.DEFINE_string("out", None, "The folder to write.")
    app.run(main)
