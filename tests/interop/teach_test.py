"""Words of a dictionary as pieces of a downloaded encoder: rows by hand, everything else unchanged."""

import json
import subprocess
import sys

import numpy as np
import pytest

from clwe_jax import api
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.interop import huggingface, teach
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import WordVocabulary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter
from tests.interop.reading_test import add_modules

KNOWN = ["the bank.", "un, the banks", "unba"]


@pytest.fixture
def loaded(folders, tmp_path):
    folder = tmp_path / "bert"
    folders.write(folder, "bert")
    return huggingface.load(str(folder), ("en", "hsb"))


def dictionary(*pairs):
    return Dictionary.from_pairs({("hsb", "en"): list(pairs)})


def table(found):
    return np.asarray(found.variables["params"]["backbone"]["token_embedding"])


def test_a_word_has_the_mean_row_of_its_translations(loaded):
    pairs = [("una", "bank"), ("una", "the banks"), ("unb", "the"), ("bank", "un"), ("un a", "the")]
    taught = teach.teach(loaded, dictionary(*pairs), ["hsb"])
    pieces = list(taught.loaded.tokenizer.vocabulary.pieces)
    old = len(loaded.tokenizer.vocabulary.pieces)
    # 'bank' is one piece already, and 'un a' is two words.
    assert pieces[old:] == ["una", "unb"] and taught.words == taught.skipped == 2
    before, after = table(loaded), table(taught.loaded)
    np.testing.assert_array_equal(after[:old], before[:old])
    the, bank, s = (before[pieces.index(x)] for x in ("the", "bank", "##s"))
    length = np.linalg.norm(before[:old], axis=1).mean()
    mean = (bank + (the + bank + s) / 3) / 2
    np.testing.assert_allclose(after[old], length * mean / np.linalg.norm(mean), rtol=1e-5)
    np.testing.assert_allclose(after[old + 1], length * the / np.linalg.norm(the), rtol=1e-5)


def test_a_translation_that_the_encoder_cannot_read_teaches_nothing(loaded):
    pairs = dictionary(("una", "zzz"), ("unb", "zzz"), ("unb", "bank"), ("unbb", "bank zzz"))
    taught = teach.teach(loaded, pairs, ["hsb"]).loaded
    row = dict(zip(taught.tokenizer.vocabulary.pieces, table(taught)))
    assert "una" not in row
    for word in ("unb", "unbb"):
        np.testing.assert_allclose(unit(row[word]), unit(row["bank"]), rtol=1e-5)


def test_text_without_new_words_keeps_its_vectors_and_new_words_are_near_their_translation(loaded):
    taught = teach.teach(loaded, dictionary(("una", "bank")), ["hsb"]).loaded
    one, two = ModelEncoder(*loaded), ModelEncoder(*taught)
    np.testing.assert_allclose(two.sentences(KNOWN, "en"), one.sentences(KNOWN, "en"), atol=1e-6)

    def cosine(model):
        x, y = (model.sentences([text], "en")[0, 0] for text in ("the una.", "the bank."))
        return x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    assert cosine(two) > 0.99 > cosine(one)


def test_small_and_capital_letters_of_a_cased_model(folders, tmp_path):
    folders.write(tmp_path / "bert", "bert", pieces=[*folders.pieces, "Un"])
    found = huggingface.load(str(tmp_path / "bert"), ("en", "hsb"))
    taught = teach.teach(found, dictionary(("una", "the bank")), ["hsb"]).loaded
    pieces = taught.tokenizer.vocabulary.pieces
    ids, _ = taught.tokenizer.encode("Una una", "hsb")
    assert [pieces[i] for i in ids] == ["Una", "una"] == list(pieces[-2:][::-1])
    rows = table(taught)[ids]
    np.testing.assert_array_equal(rows[0], rows[1])


def test_forms_of_the_text_have_the_row_of_the_longest_entry_that_they_begin_with(loaded):
    pairs = dictionary(("unab", "bank"), ("unabab", "the"))
    forms = ["unababa", "unaba", "unabbaabbaa", "una", "banks", "unab"]
    taught = teach.teach(loaded, pairs, ["hsb"], forms={"hsb": forms}).loaded
    pieces = list(taught.tokenizer.vocabulary.pieces)
    # 'unabbaabbaa' is too long, 'una' too short, and 'banks' begins with no entry.
    assert pieces[len(loaded.tokenizer.vocabulary.pieces) :] == [
        "unab",
        "unabab",
        "unababa",
        "unaba",
    ]
    row = dict(zip(pieces, table(taught)))
    np.testing.assert_array_equal(row["unababa"], row["unabab"])
    np.testing.assert_array_equal(row["unaba"], row["unab"])


def test_a_dictionary_of_other_languages_and_known_words_are_refused(loaded):
    with pytest.raises(ValueError, match="'hsb' .*'fr'"):
        teach.teach(loaded, dictionary(("una", "bank")), ["hsb"], known="fr")
    with pytest.raises(ValueError, match="nothing to teach"):
        teach.teach(loaded, dictionary(("bank", "bank")), ["hsb"])
    words = WordVocabulary(["<S>", "</S>", "<UNK>", "bank"])
    others = loaded._replace(tokenizer=Tokenizer(("en", "hsb"), Normalizer(), Segmenter({}), words))
    with pytest.raises(ValueError, match="WordPiece or a unigram model alone"):
        teach.teach(others, dictionary(("una", "bank")), ["hsb"])


def run_command(folder):
    """Teaches the encoder in FOLDER/bert words of Upper Sorbian: the result is in FOLDER/new."""
    (folder / "dictionaries").mkdir()
    (folder / "hsb.txt").write_text("unbab\n" * 2 + "unbaa\n")
    (folder / "dictionaries" / "en-hsb.txt").write_text("bank\tuna\nbanks\tunba\n")
    command = [sys.executable, "-m", "clwe_jax.interop.teach", f"--encoder=hf:{folder / 'bert'}"]
    command += ["--languages=hsb", f"--dictionaries={folder / 'dictionaries'}"]
    command += [f"--text={folder}", f"--out={folder / 'new'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "3 new pieces" in done.stdout, done.stderr[-2000:]


def test_sentences_have_the_vectors_that_the_folders_files_ask_for(folders, tmp_path):
    folder = tmp_path / "bert"
    folders.write(folder, "bert")
    add_modules(folder, "cls_token", prompts={"query": "bank. "})
    # Without a length here, that of the tokenizer counts.
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    settings = {"do_lower_case": False, "model_max_length": 8}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_text("weights")
    run_command(tmp_path)
    texts = ["THE Banks", "the " * 20]
    models = (api.load(f"hf:{x}", languages=("en",)) for x in (folder, tmp_path / "new"))
    one, two = (model.encode(texts, "en") for model in models)
    np.testing.assert_allclose(two, one, atol=1e-6)
    assert two.shape[1] == 5 and not (tmp_path / "new" / "onnx").exists()


def test_the_command_writes_a_folder_that_is_read(folders, tmp_path):
    folders.write(tmp_path / "bert", "bert")
    run_command(tmp_path)
    read = huggingface.load(str(tmp_path / "new"), ("en", "hsb"))
    assert list(read.tokenizer.vocabulary.pieces)[-2:] == ["unba", "unbab"]
    row = dict(zip(read.tokenizer.vocabulary.pieces, table(read)))
    bank, s = row["bank"], row["##s"]
    np.testing.assert_allclose(unit(row["una"]), unit(bank), rtol=1e-5)
    np.testing.assert_allclose(unit(row["unba"]), unit(bank + s), rtol=1e-5)
    np.testing.assert_array_equal(row["unbab"], row["unba"])  # a form of the text


def test_a_form_that_is_an_entry_of_another_language_leaves_its_stem_as_it_is(folders, tmp_path):
    folders.write(tmp_path / "bert", "bert")
    model = huggingface.load(str(tmp_path / "bert"), ("en", "hsb", "dsb"))
    pairs = {("hsb", "en"): [("unab", "bank")], ("dsb", "en"): [("unaba", "the")]}
    forms = {"hsb": ["unaba"]}
    taught = teach.teach(model, Dictionary.from_pairs(pairs), ["hsb", "dsb"], forms=forms).loaded
    row = dict(zip(taught.tokenizer.vocabulary.pieces, table(taught)))
    np.testing.assert_allclose(unit(row["unab"]), unit(row["bank"]), rtol=1e-5)
    expected = unit(row["bank"] + row["the"])  # the mean of both languages
    np.testing.assert_allclose(unit(row["unaba"]), expected, rtol=1e-5)


def unit(x):
    return x / np.linalg.norm(x)
