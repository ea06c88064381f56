"""How the words of a run are written, by its sample of text and its dictionary."""

import pytest

from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.text import BatchesOptions, VocabOptions
from clwe_jax.text import dictionary
from clwe_jax.text.text_of_run import RunText, normalizer_of
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


def test_words_are_spelled_as_the_sample_or_the_dictionary_has_them(tmp_path):
    pairs = "п'ять\tfive\nсім’я\tfamily\nКомп’ютер\tcomputer\n"
    (tmp_path / "uk-en.txt").write_text(pairs, "utf-8")
    known = dictionary.load(str(tmp_path), cache_dir=str(tmp_path / "cache"))
    again = dictionary.load(str(tmp_path), cache_dir=str(tmp_path / "cache"))
    assert (
        known.spellings == again.spellings == {"uk": {"сім'я": "сім’я", "комп'ютер": "комп’ютер"}}
    )
    assert known.language_words("uk") == ["п'ять", "сім'я", "комп'ютер"]
    vocabulary = WordVocabulary([*SPECIALS, "a"])
    tokenizer = Tokenizer(("uk", "en"), Normalizer(), Segmenter(), vocabulary)
    sample = {"uk": ["П’ять, сім'я.", "п’ять п'ять"], "en": ["five"]}
    run_text = RunText(tokenizer, {}, "text", known, sample=sample)
    assert run_text.spellings == {"uk": {"п'ять": "п’ять", "комп'ютер": "комп’ютер"}}


@pytest.mark.parametrize("bert", [False, True])
def test_the_dictionary_is_normalised_as_the_vocabulary_of_another_run(tmp_path, bert):
    own = Normalizer(lower_case=False, simplify_chinese=not bert, bert=bert)
    vocabulary = WordVocabulary([*SPECIALS, "Haus"])
    Tokenizer(("de", "en"), own, Segmenter({}, bert), vocabulary).save(str(tmp_path))
    vocab = VocabOptions(path=str(tmp_path))
    with pytest.raises(ValueError, match=f"lower_case=False .*simplify_chinese={not bert}"):
        normalizer_of(PretrainRun(vocab=vocab))
    data = BatchesOptions(lower_case=False, simplify_chinese=not bert)
    assert normalizer_of(PretrainRun(vocab=vocab, data=data)) == own
