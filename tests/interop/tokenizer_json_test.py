"""The words of a text in tokenizer.json, beside those of the program itself."""

import json

import pytest

from clwe_jax.interop import tokenizer_json
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

TEXTS = {
    "uk": "П’ять п`ять п´ять «об'єкт» ‘сім’",
    "fr": "L’eau, j'l'ai aujourd'hui; qu'est-ce S'IL",
    "en": "The king's don't o'clock I'd've dogs' rock'n'roll",
    "haw": "ʻOkina 'okina Hawaiʻi",
    "uz": "oʻzbek togʻ tog' 'soʻz'",
    "ca": "col·lecció coŀlegi l’home compra'l",
    "he": 'צה"ל צה״ל ג׳ירפה "שלום"',
    "dz": "རྫོང་ཁ་ཡིག་བོད་ ཁང་། ཁང།",
    "lo": "ນໍ້າ ຄໍາ ນ້ຳ",
    "fra": "L’eau, co‑op",
    "ckb": "كتاب علي مـرحبا",
    "fa": "می\u200cخواهم\u200f، ﻣﺮﺣﺒﺎ",
    "vi": "Tie\u0302\u0301ng ½ ﬁ…",
}


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("lower_case", [True, False])
def test_texts_are_cut_as_here(language, lower_case):
    library = pytest.importorskip("tokenizers")
    normalizer, segmenter = Normalizer(lower_case), Segmenter()
    vocabulary = WordVocabulary([*SPECIALS, "word"])
    content = tokenizer_json.content(Tokenizer((language,), normalizer, segmenter, vocabulary))
    theirs = library.Tokenizer.from_str(json.dumps(content))
    normal = theirs.normalizer.normalize_str(TEXTS[language])
    found = [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(normal)]
    assert found == segmenter.words(normalizer(TEXTS[language], language), language)
