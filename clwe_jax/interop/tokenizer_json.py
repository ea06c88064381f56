"""Our tokenizers in the format of the library `tokenizers`: the content of tokenizer.json.

The piece ids of raw text are ours, with one exception: words of scripts without spaces (Chinese,
Japanese, Thai) that our segmenter finds in a dictionary's lexicon are cut as if there were none, unless
`unspaced` is given.
"""

from __future__ import annotations

import base64
import itertools
from typing import Any, Mapping, Sequence

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from clwe_jax.text.vocab import base_vocab
from clwe_jax.text.words import characters, words
from clwe_jax.text.words.normalize import DOTTED_I
from clwe_jax.text.vocab.subword_vocab import (
    INSIDE_MARK,
    SPACE_MARK,
    SentencePieceVocabulary,
    WordPieceVocabulary,
)
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import WordVocabulary

# types of a piece in a SentencePiece model
_NORMAL = 1
_USER = 4
_BYTE = 6
_UNIGRAM = 1  # of SentencePiece's model types


def content(
    tokenizer: Tokenizer, language_types: bool = False, unspaced: Sequence[str] = ()
) -> dict[str, Any]:
    """The object in tokenizer.json.

    Args:
      language_types: whether token types are languages, so that both texts of a pair have type 0.
      unspaced: of a vocabulary of words, characters whose runs are cut by longest match; the words and
        the characters themselves are in the vocabulary, and once more behind INSIDE_MARK.

    Raises:
      ValueError: XLM's tokenizer, whose rules the format lacks.
    """
    vocabulary = tokenizer.vocabulary
    kinds = (SentencePieceVocabulary, WordPieceVocabulary, WordVocabulary)
    if not isinstance(vocabulary, kinds):
        raise ValueError(
            f"tokenizer.json cannot hold a {vocabulary.kind} vocabulary, such as XLM's: export a "
            "model with another vocabulary"
        )
    if isinstance(vocabulary, SentencePieceVocabulary):
        proto = sentencepiece_model_pb2.ModelProto.FromString(vocabulary.model)
        model = _sentencepiece(vocabulary, proto)
        space = [
            dict(type="Metaspace", replacement=SPACE_MARK, prepend_scheme="always", split=False)
        ]
    else:
        proto = None
        space = []
        model = _wordpiece(vocabulary)
        if isinstance(vocabulary, WordVocabulary):
            unknown_piece = vocabulary.pieces[vocabulary.unk_id]
            ids = {word: number for word, number in vocabulary.words.items()} | {
                vocabulary.pieces[number]: number for number in vocabulary.special_ids
            }
            if unspaced:  # WordPiece searches for the longest match
                model["vocab"] = ids
            else:
                model = dict(type="WordLevel", vocab=ids, unk_token=unknown_piece)
    if tokenizer.whole_text:
        charsmap = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
        normalizer = dict(type="Precompiled", precompiled_charsmap=charsmap) if charsmap else None
        splitters = [dict(type="WhitespaceSplit")]
    elif tokenizer.normalizer.bert:
        options = tokenizer.normalizer
        normalizer = dict(
            type="BertNormalizer",
            clean_text=True,
            handle_chinese_chars=True,
            strip_accents=options.strip_accents,
            lowercase=options.lower_case,
        )
        splitters = [dict(type="BertPreTokenizer")]
    else:
        languages = [words.rules_of(language) for language in tokenizer.languages]
        normalizer = _normalizer(tokenizer.normalizer.lower_case, languages)
        if words.CLUSTER_END in unspaced:
            # The twin of the segmenter, whose matches end at no combining mark.
            normalizer["normalizers"].append(_replace(words.syllable_end(), characters.TSHEG))
            # One before a run, too: no word of it is then at its beginning, as it stands in the vocabulary.
            places = f"{words.run_start()}|{words.cluster_end()}"
            normalizer["normalizers"].append(_replace(places, words.CLUSTER_END))
            model["max_input_chars_per_word"] = _longest(unspaced)
        splitters = [_split(_words(languages, unspaced))]
        if isinstance(vocabulary, WordPieceVocabulary) and vocabulary.split_han:
            han = characters.character_class(np.flatnonzero(characters.han_table()))
            splitters.append(_split(_regex(f"[{han}]|[^{han}]+")))
    special_tokens = [
        dict(
            id=number,
            content=vocabulary.pieces[number],
            special=True,
            single_word=False,
            lstrip=False,
            rstrip=False,
            normalized=False,
        )
        for number in vocabulary.special_ids
    ]
    return dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=special_tokens,
        normalizer=normalizer,
        pre_tokenizer=dict(type="Sequence", pretokenizers=[*splitters, *space]),
        post_processor=_template(vocabulary, 0 if language_types else 1),
        decoder=space[0] if space else dict(type="WordPiece", prefix=INSIDE_MARK, cleanup=False),
        model=model,
    )


def special_names(vocabulary: base_vocab.Vocabulary) -> dict[str, str]:
    """transformers' name of each special piece -> the piece."""
    kinds = dict(
        pad_token=base_vocab.PAD,
        unk_token=base_vocab.UNK,
        cls_token=base_vocab.CLS,
        sep_token=base_vocab.SEP,
        mask_token=base_vocab.MASK,
    )
    return {name: vocabulary.pieces[vocabulary.specials[kind]] for name, kind in kinds.items()}


def _wordpiece(vocabulary: base_vocab.Vocabulary) -> dict[str, Any]:
    return dict(
        type="WordPiece",
        vocab={piece: number for number, piece in enumerate(vocabulary.pieces)},
        unk_token=vocabulary.pieces[vocabulary.unk_id],
        continuing_subword_prefix=INSIDE_MARK,
        max_input_chars_per_word=base_vocab.LONGEST_WORD,
    )


def _sentencepiece(vocabulary: SentencePieceVocabulary, proto: Any) -> dict[str, Any]:
    """The Unigram or BPE model of a SentencePiece model, with the special pieces that it lacks."""
    scores = [piece.score for piece in proto.pieces]
    scores += [0.0] * (len(vocabulary.pieces) - len(scores))
    falls_back = any(piece.type == _BYTE for piece in proto.pieces)
    if proto.trainer_spec.model_type == _UNIGRAM:
        pairs = [list(pair) for pair in zip(vocabulary.pieces, scores)]
        return dict(type="Unigram", unk_id=vocabulary.unk_id, vocab=pairs, byte_fallback=falls_back)
    ids = {piece: number for number, piece in enumerate(vocabulary.pieces)}
    usable = {x.piece for x in proto.pieces if x.type in (_NORMAL, _USER)}
    merges = []
    for number, piece in enumerate(proto.pieces):
        halves = [(piece.piece[:k], piece.piece[k:]) for k in range(1, len(piece.piece))]
        joins = (
            [pair for pair in halves if usable.issuperset(pair)] if piece.type == _NORMAL else []
        )
        joins.sort(key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        merges += [(-piece.score, number, list(pair)) for pair in joins]
    merges.sort(key=lambda merge: merge[:2])  # the best score first
    return dict(
        type="BPE",
        vocab=ids,
        merges=[pair for *_, pair in merges],
        dropout=None,
        fuse_unk=True,
        unk_token=vocabulary.pieces[vocabulary.unk_id],
        byte_fallback=falls_back,
    )


def _normalizer(lower_case: bool, languages: Sequence[str]) -> dict[str, Any]:
    """The steps of `text.words.normalize.Normalizer`."""
    ignored = characters.class_table() == characters.IGNORED
    canonical = characters.one_of_each_table()
    changed_codes = np.flatnonzero(canonical != np.arange(len(canonical)))
    sara_am = itertools.chain.from_iterable(itertools.starmap(_sara_am, characters.SARA_AM))
    steps: list[Mapping[str, Any]] = [
        _replace(f"[{characters.SPACED_APOSTROPHES}]", "'"),
        dict(type="NFKC"),
        *itertools.starmap(_replace, sara_am),
        _replace(words.among(ignored), ""),
    ]
    for code in np.unique(canonical[changed_codes]).tolist():
        variants = changed_codes[canonical[changed_codes] == code]
        steps.append(_replace(f"[{characters.character_class(variants)}]", chr(code)))
    places = dict.fromkeys(words.letter_apostrophe(language) for language in ("", *languages))
    steps.append(_replace("|".join(places), "'"))
    if lower_case:
        steps.append(dict(type="Replace", pattern=dict(String=DOTTED_I), content="i"))
        steps.append(dict(type="Lowercase"))
    return dict(type="Sequence", normalizers=steps)


def _sara_am(sign: str, tones: str, vowel: str, composed: str) -> tuple[tuple[str, str], ...]:
    """What replaces a sign and a vowel, with or without a tone between them, by both in one."""
    joined = f"(?:(?<={sign})|(?<={sign}[{tones}])){vowel}"
    return (joined, composed), (f"{sign}(?=[{tones}]?{composed})", "")


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return dict(type="Replace", pattern=dict(Regex=_regex(pattern)), content=content)


def _split(pattern: str) -> dict[str, Any]:
    """Keeps the matches of a pattern, and nothing else."""
    return dict(type="Split", pattern=dict(Regex=pattern), behavior="Removed", invert=True)


def _longest(unspaced: Sequence[str]) -> int:
    """The characters of a run that are cut together; longest match takes the square of their number."""
    return (2 if words.CLUSTER_END in unspaced else 1) * base_vocab.LONGEST_WORD


def _words(languages: Sequence[str], longest_match: Sequence[str] = ()) -> str:
    """The pattern of a word of `text.words.words.Segmenter` without lexicons.

    Args:
      languages: of the tokenizer. The format knows no language of a text: the rules of all apply.
      longest_match: characters whose runs stay whole, for the model to cut; others without spaces are
        left out then.
    """
    kinds = characters.class_table()
    stretch = characters.stretch_table()
    unspaced = kinds == characters.UNSPACED

    word = words.spaced_word(languages)
    single = words.among((kinds == characters.SINGLE) | (kinds == characters.MIDDLE))
    tsheg = np.zeros(len(kinds), np.bool_)
    tsheg[ord(characters.TSHEG)] = True

    def among(kind: int) -> str:
        return words.among(unspaced & (stretch == kind) & ~tsheg)

    alone = among(characters.ALONE)
    hiragana = among(characters.HIRAGANA)
    katakana = among(characters.KATAKANA)
    mark = among(characters.MARK)
    syllable = among(characters.SYLLABLE)
    if longest_match:
        letters = characters.character_class(np.array(sorted(map(ord, longest_match))))
        return _regex(f"{word}|[{letters}]{{1,{_longest(longest_match)}}}|{single}")
    # A mark joins the word before it; hiragana after a mark begins a word.
    run = f"(?:{alone}|{hiragana}+|{katakana}+|{syllable}+){mark}*|{mark}+"
    return _regex(f"{word}|{run}|{single}")


def _regex(pattern: str) -> str:
    """A pattern of Python in the syntax of Oniguruma: \\U0001f600 as \\x{1f600}."""
    parts = pattern.split("\\U")
    return parts[0] + "".join(f"\\x{{{int(x[:8], 16):x}}}{x[8:]}" for x in parts[1:])


def _template(vocabulary: base_vocab.Vocabulary, second: int) -> dict[str, Any]:
    """[CLS] a [SEP], and [CLS] a [SEP] b [SEP] with the type `second` for b."""
    names = special_names(vocabulary)

    def special(name: str, kind: int = 0) -> dict[str, Any]:
        return {"SpecialToken": dict(id=names[name], type_id=kind)}

    def sequence(name: str, kind: int = 0) -> dict[str, Any]:
        return {"Sequence": dict(id=name, type_id=kind)}

    single = [special("cls_token"), sequence("A"), special("sep_token")]
    ids = {
        piece: dict(id=piece, ids=[vocabulary.pieces.index(piece)], tokens=[piece])
        for piece in (names["cls_token"], names["sep_token"])
    }
    return dict(
        type="TemplateProcessing",
        single=single,
        special_tokens=ids,
        pair=[*single, sequence("B", second), special("sep_token", second)],
    )
