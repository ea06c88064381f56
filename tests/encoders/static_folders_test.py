"""Static vectors in the formats of sentence-transformers and model2vec, opened by both."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from clwe_jax import api
from clwe_jax.embeddings.ngrams import Ngrams, Spelling
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import export
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.vocab.word_vocab import SPECIALS
from clwe_jax.text.words.normalize import Normalizer

TEXTS = ["Der Hund, ein Hund!", "the house", "unbekannt hund", "Łódź   naïve"]


@pytest.fixture
def model():
    r = np.random.default_rng(0)
    words = {
        "de": ["der", "ein", "hund", ",", "!", "łódź", "naïve"],
        "en": ["the", "house", "hund"],
    }
    raw = {
        x: Vectors(some, r.standard_normal((len(some), 6), np.float32)) for x, some in words.items()
    }
    counts = Frequencies({"de": 100, "en": 10}, {"de": {"der": 60, "ein": 9}, "en": {"the": 9}})
    return StaticSpaces(raw, {}, {}, "en", frequencies=counts)


def _ours(model, language):
    rows = api.Model(model).encode(TEXTS, lang=language, pool="information")
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def test_sentence_transformers_has_our_vectors(model, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    export.write_static(model, str(tmp_path), "sentence-transformers", "de")
    theirs = library.SentenceTransformer(str(tmp_path), device="cpu").encode(
        TEXTS, normalize_embeddings=True
    )
    np.testing.assert_allclose(theirs, _ours(model, "de"), atol=1e-5)


@pytest.mark.parametrize("dtype, atol", [("float32", 1e-5), ("float16", 2e-3), ("int8", 5e-2)])
def test_model2vec_has_our_vectors(model, tmp_path, dtype, atol):
    library = pytest.importorskip("model2vec")
    export.write_static(model, str(tmp_path), "model2vec", "de", dtype=dtype)
    theirs = library.StaticModel.from_pretrained(str(tmp_path), force_download=False)
    found = np.asarray(theirs.encode(TEXTS), np.float32)
    np.testing.assert_allclose(found, _ours(model, "de"), atol=atol)


def test_a_cased_word_without_a_vector_has_that_of_its_small_letters(model, tmp_path):
    raw = {"de": Vectors(["der", "hund", "Hund", "łódź"], np.eye(4, 6, dtype=np.float32))}
    cased = StaticSpaces(raw, {}, {}, "de", Normalizer(lower_case=False))
    export.write_static(cased, str(tmp_path), "model2vec")
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    vocab = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    for text in ("Der", "DER", "der", "hund", "Hund", "HUND", "Łódź"):
        ours = api.Model(cased).encode([text], "de")[0]
        np.testing.assert_array_equal(rows[vocab[text]], ours, text)


def test_of_one_key_the_word_itself_is_written(tmp_path):
    vectors = Vectors(["m²", "m2"], np.eye(2, 6, dtype=np.float32)).with_keys(Normalizer().key)
    export.write_static(StaticSpaces({"de": vectors}, {}, {}, "de"), str(tmp_path), "model2vec")
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    vocab = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert rows[vocab["m2"]].tolist() == vectors.vectors[1].tolist() and "m²" not in vocab


def test_a_frequent_word_stays_where_its_plain_spelling_is_rare(tmp_path):
    vectors = Vectors(["m²", "das", "m2"], np.eye(3, 6, dtype=np.float32))
    model = StaticSpaces({"de": vectors.with_keys(Normalizer().key)}, {}, {}, "de")
    export.write_static(model, str(tmp_path), "model2vec", words=2)
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    vocab = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert rows[[vocab["m2"], vocab["das"]]].argmax(1).tolist() == [0, 1]


def test_all_languages_share_a_string(model, tmp_path):
    third = {"fr": Vectors(["hund"], np.eye(1, 6, dtype=np.float32))}
    wider = dataclasses.replace(model, raw={**model.raw, **third})
    for some in (wider, model):  # a string of three languages is one string, too
        notes = export.write_static(some, str(tmp_path), "model2vec")
        assert any(note.startswith("1 strings of several languages") for note in notes)
        assert any("max_length=None" in note for note in notes)
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    vocab = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    both = [model.vectors(x).vectors[model.vectors(x).index["hund"]] for x in ("de", "en")]
    np.testing.assert_allclose(rows[vocab["hund"]], np.mean(both, 0), atol=1e-6)
    assert not rows[vocab["<UNK>"]].any()


def test_a_shared_string_is_mostly_that_of_the_language_where_it_is_frequent(tmp_path):
    r = np.random.default_rng(2)
    words = {"de": ["die", "hund", "haus"], "en": ["dog", "house", "die"]}
    raw = {x: Vectors(some, r.standard_normal((3, 6), np.float32)) for x, some in words.items()}
    export.write_static(StaticSpaces(raw, {}, {}, "en"), str(tmp_path), "model2vec")
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    vocab = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    expected = (raw["de"].vectors[0] + raw["en"].vectors[2] / 3) / (1 + 1 / 3)
    np.testing.assert_allclose(rows[vocab["die"]], expected, atol=1e-6)


def test_what_a_format_cannot_hold_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="--dtype=int8: sentence-transformers takes"):
        export.write_static(model, str(tmp_path), "sentence-transformers", "de", dtype="int8")
    with pytest.raises(ValueError, match="--language=fr: .* de, en"):
        export.write_static(model, str(tmp_path), "model2vec", "fr")


def test_fewer_words_are_the_most_frequent(model, tmp_path):
    export.write_static(model, str(tmp_path), "model2vec", words=2)
    vocab = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert set(vocab) - {"der", "ein", "the", "house"} == set(SPECIALS)
    assert len(load_file(str(tmp_path / "model.safetensors"))["embeddings"]) == len(vocab)


def test_fewer_dimensions_are_a_projection(model, tmp_path):
    rows = {}
    for dim in (0, 3, 6):
        export.write_static(model, str(tmp_path / str(dim)), "sentence-transformers", dim=dim)
        rows[dim] = load_file(str(tmp_path / str(dim) / "model.safetensors"))["embedding.weight"]
    np.testing.assert_allclose(rows[6] @ rows[6].T, rows[0] @ rows[0].T, atol=1e-5)
    directions = np.linalg.lstsq(rows[0], rows[3], rcond=None)[0]
    np.testing.assert_allclose(rows[0] @ directions, rows[3], atol=1e-5)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-5)
    with pytest.raises(ValueError, match="--dim=7: the vectors have 6"):
        export.write_static(model, str(tmp_path), "model2vec", dim=7)


@pytest.fixture
def unspaced():
    r = np.random.default_rng(1)
    words = {
        "zh": ["我们", "我", "喜欢", "欢", "音乐", "rock", "。"],
        "en": ["we", "like", "music", "rock"],
    }
    raw = {
        x: Vectors(some, r.standard_normal((len(some), 6), np.float32)) for x, some in words.items()
    }
    return StaticSpaces(raw, {}, {}, "en")


def test_text_without_spaces_is_cut_by_longest_match(unspaced, tmp_path):
    export.write_static(unspaced, str(tmp_path), "model2vec")
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    vocab, prefix = content["model"]["vocab"], content["model"]["continuing_subword_prefix"]
    assert len(rows) == len(vocab)
    vectors = unspaced.vectors("zh")
    for run, expected in (("我们喜欢音乐", ["我们", "喜欢", "音乐"]), ("喜我欢", ["我", "欢"])):
        # WordPiece: the longest piece that the rest begins with, marked where a word goes on.
        place, found = 0, np.zeros(6)
        while place < len(run):
            longest = max(
                (
                    end
                    for end in range(place + 1, len(run) + 1)
                    if prefix * (place > 0) + run[place:end] in vocab
                )
            )
            found += rows[vocab[prefix * (place > 0) + run[place:longest]]]
            place = longest
        np.testing.assert_allclose(
            found, sum(vectors.vectors[vectors.index[x]] for x in expected), atol=1e-6
        )
    # Words of scripts with spaces are never pieces of others.
    assert "rock" in vocab and f"{prefix}rock" not in vocab


@pytest.mark.parametrize("text", ["我们喜欢rock音乐。", "喜 乐我x欢", "猫我们猫", "rocks"])
def test_model2vec_cuts_text_without_spaces_as_we_do(unspaced, tmp_path, text):
    library = pytest.importorskip("model2vec")
    export.write_static(unspaced, str(tmp_path), "model2vec", "zh")
    theirs = library.StaticModel.from_pretrained(str(tmp_path), force_download=False)
    rows = api.Model(unspaced).encode([text], lang="zh", pool="mean")
    ours = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(np.asarray(theirs.encode([text]), np.float32), ours, atol=1e-5)


MARKED = {
    "th": ("ที่ กา ก การ น้ำ ไป", ["ที่น้ำ", "กา่ไปการที", "กกา x ไป ที", "การที่น้ำไป"]),
    "km": ("កា ក ខ្មែរ ភាសា", ["ភាសាខ្មែរ", "កាុក", "កុភាសា"]),
    "my": ("မြန်မာ မ စာ", ["မြန်မာစာ", "မိစာ", "မြန်"]),
    "dz": ("རྫོང་ཁ ཡིག ཁ", ["རྫོང་ཁ་ཡིག", "ཁང་ཡིག་ཁ།", "ཡིག རྫོང"]),
}


@pytest.mark.parametrize("language", MARKED)
def test_text_with_combining_marks_is_cut_as_here(language, tmp_path):
    library = pytest.importorskip("tokenizers")
    words, texts = MARKED[language]
    words = [Normalizer().key(word, language) for word in words.split(" ")]
    vectors = Vectors(words, np.eye(len(words), 8, dtype=np.float32))
    model = StaticSpaces({language: vectors}, {}, {}, language)
    export.write_static(model, str(tmp_path), "model2vec")
    tokenizer = library.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert set(words) <= set(tokenizer.get_vocab())
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    for text in [*texts, *words]:
        ours = api.Model(model).encode([text], language, pool=None)[0].sum(0)
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        np.testing.assert_array_equal(rows[ids].sum(0), ours, text)


def test_an_empty_vocabulary_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="--words=-1"):
        export.write_static(model, str(tmp_path / "a"), "model2vec", words=-1)
    empty = StaticSpaces(
        {"de": Vectors(["guten tag", "##tag"], np.eye(2, dtype=np.float32))}, {}, {}, "de"
    )
    with pytest.raises(ValueError, match="no word"):
        export.write_static(empty, str(tmp_path / "b"), "model2vec")


def test_words_that_only_the_letters_know_are_said_to_be_left_out(model, tmp_path):
    notes = export.write_static(model, str(tmp_path), "model2vec")
    assert not any("lacks" in note for note in notes)
    spelling = Spelling(Ngrams(np.ones(1, np.float32)), {}, 1.0, 0, 0.0, 6, 0)
    spells = dataclasses.replace(model, spelling=spelling)
    notes = export.write_static(spells, str(tmp_path), "model2vec")
    assert any("have no vector" in note for note in notes)
