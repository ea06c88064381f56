"""BLEU by sacrebleu, and translations of raw text by a model that is known."""

import types

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from clwe_jax.encoders.translate import spell_pieces, translate
from clwe_jax.evaluate import bleu
from clwe_jax.evaluate.bleu import Bleu, scores
from clwe_jax.evaluate.context import Context
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter

WORDS = ["one", "two", "three", "four", "five", "six", "eins", "zwei", "猫", "犬"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s"]


class Copies:
    """Writes the text it reads; into 'de' (1) without the first piece."""

    max_length = 6

    def decode(self, variables, batch, *, width, penalty, length):
        import jax.numpy as jnp

        ids = batch["inputs"]
        ids = jnp.pad(ids, ((0, 0), (0, length - ids.shape[1])))
        return jnp.where(batch["language_ids"][:, None] == 1, jnp.roll(ids, -1, 1), ids)


@pytest.fixture
def model():
    tokenizer = Tokenizer(
        ["en", "de", "ja"], Normalizer(), Segmenter(), WordPieceVocabulary(PIECES)
    )
    found = types.SimpleNamespace(
        objective=Copies(),
        tokenizer=tokenizer,
        variables={"params": np.zeros(1)},
        step=0,
        words=tokenizer.words,
    )
    return found


def test_scores_are_sacrebleus():
    from sacrebleu import corpus_bleu

    found, wanted = ["the cat sat on a mat", "a dog"], ["the cat sat on the mat", "a dog"]
    figure, chrf, signature = scores(found, wanted, "en")
    assert figure == corpus_bleu(found, [wanted]).score and 0 < figure < 100 and 0 < chrf < 100
    assert "tok:13a" in signature and "version:" in signature
    assert scores(wanted, wanted, "en")[:2] == pytest.approx((100, 100))
    assert "tok:char" in scores(["แมวแมว"], ["แมวแมว"], "th")[2]


def test_chinese_and_japanese_have_sacrebleus_tokenizers(monkeypatch):
    assert "tok:zh" in scores(["猫猫犬犬"], ["猫猫犬犬"], "zh")[2]
    for there, name in ((True, "ja-mecab"), (None, "char")):
        monkeypatch.setattr(bleu.importlib.util, "find_spec", lambda _, there=there: there)
        assert bleu.tokenizer_of("ja", ["猫と犬"]) == name


def test_japanese_is_cut_into_mecabs_words_where_it_is_installed():
    pytest.importorskip("MeCab")
    pytest.importorskip("ipadic")
    pair = "猫が庭で寝ています。", "猫は庭で静かに寝ています。"
    words = [
        " ".join(x)
        for x in (
            ("猫", "が", "庭", "で", "寝", "て", "い", "ます", "。"),
            ("猫", "は", "庭", "で", "静か", "に", "寝", "て", "い", "ます", "。"),
        )
    ]
    found = scores([pair[0]], [pair[1]], "ja")
    assert found[0] == pytest.approx(
        BLEU(tokenize="none", force=True).corpus_score([words[0]], [[words[1]]]).score
    )
    assert "tok:ja-mecab-" in found[2]


def test_pieces_to_words(model):
    vocabulary = model.tokenizer.vocabulary
    number = PIECES.index
    ids = [
        number("one"),
        number("two"),
        number("##s"),
        number("猫"),
        number("犬"),
        3,
        number("six"),
    ]
    assert spell_pieces(ids, vocabulary) == "one twos 猫犬"


def test_translations_keep_their_order_and_long_texts_are_counted(model, caplog):
    texts = ["one two three four five six", "One", "", "two  three"]
    found = translate(model, texts, "en", "ja", batch_size=2)
    assert found == ["one two three four five", "one", "", "two three"]
    assert "1 of 4 texts (en)" in caplog.text
    assert translate(model, texts[3:], "en", "de") == ["three"]
    with pytest.raises(ValueError, match="'en' to itself"):
        translate(model, texts, "en", "en")
    with pytest.raises(ValueError, match="'fr'"):
        translate(model, texts, "en", "fr")


def test_the_evaluator(model, tmp_path):
    (tmp_path / "en-ja.tsv").write_text("one two three four\tone two three four\n")
    made = Bleu(context=Context(languages=("en", "de", "ja")), data=str(tmp_path), width=1)
    found = dict(made.run(model))
    assert found["bleu/en-ja"] == found["bleu/mean"] == pytest.approx(100)
    assert found["chrf/ja-en"] == pytest.approx(100)
    assert made.examples[0]["translation"] == "one two three four"
    assert not Bleu(context=Context(languages=("en",))).has_data
    with pytest.raises(ValueError, match="writes no text"):
        dict(made.run(object()))
