"""Vocabularies: encoding against slow oracles, training, files; bad input."""

import gzip
import os

import numpy as np
import pytest
from absl import logging

from clwe_jax.text.vocab import subword_vocab, vocab, whole_words
from clwe_jax.text.vocab.base_vocab import SPECIALS

BERT = [
    "[PAD]",
    "[unused1]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "un",
    "##aff",
    "##able",
    "##a",
    "aff",
    "a",
    "able",
    "银",
    "行",
    "##行",
    "abc",
    "##c",
    "あ",
    "##い",
    "1",
    "##2",
    "々",
    "!",
]


def counts(seed=0, words=400):
    """Made-up words of three scripts with Zipfian counts."""
    rng = np.random.default_rng(seed)
    syllables = ["ba", "nk", "ing", "ter", "é", "сло", "во", "银", "行", "か", "た", "x", "o"]
    made = {}
    for rank in range(words):
        word = "".join(rng.choice(syllables, rng.integers(1, 5)))
        made[word] = made.get(word, 0) + 1000 / (rank + 1)
    return made


@pytest.fixture
def warnings(monkeypatch):
    found = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: found.append(text % values))
    return found


@pytest.fixture(scope="module")
def trained():
    return {kind: vocab.train(kind, counts(), 400) for kind in subword_vocab.KINDS}


def is_han(character):
    return 0x4E00 <= ord(character) <= 0x9FFF


def bert_oracle(word, pieces, split_han):
    """BERT's BasicTokenizer (its spaces around Han characters) and WordpieceTokenizer."""
    spaced = "".join(f" {c} " if split_han and is_han(c) else c for c in word)
    result = []
    for token in spaced.split():
        if len(token) > 100:
            result.append("[UNK]")
            continue
        subs, start = [], 0
        while start < len(token):
            for end in range(len(token), start, -1):
                sub = ("##" if start else "") + token[start:end]
                if sub in pieces:
                    break
            else:
                subs = ["[UNK]"]
                break
            subs.append(sub)
            start = end
        result += subs
    return result


def written(vocabulary, ids):
    """The word that piece ids spell."""
    if vocabulary.kind == "sentencepiece":
        return vocabulary.processor.decode(ids)
    return "".join(vocabulary.pieces[i].removeprefix("##") for i in ids)


@pytest.mark.parametrize("split_han", [True, False])
def test_wordpiece_equals_berts(split_han):
    rng = np.random.default_rng(0)
    vocabulary = subword_vocab.WordPieceVocabulary(BERT, split_han)
    letters = list("unafblecc银行あい12々!z")
    for _ in range(2000):
        word = "".join(rng.choice(letters, rng.integers(1, 9)))
        expected = bert_oracle(word, set(BERT), split_han)
        assert [BERT[i] for i in vocabulary.encode_word(word)] == expected, word


@pytest.mark.parametrize(
    "word, pieces",
    [
        ("unaffable", "un ##aff ##able"),
        ("unaffablez", "[UNK]"),
        ("银行", "银 行"),
        ("a银行abc", "a 银 行 abc"),
        ("a" * 100, "a" + " ##a" * 99),
        ("a" * 101, "[UNK]"),
        ("[MASK]", "[UNK]"),
        ("龘", "[UNK]"),
    ],
)
def test_wordpiece_known(word, pieces):
    vocabulary = subword_vocab.WordPieceVocabulary(BERT, split_han=True)
    assert [BERT[i] for i in vocabulary.encode_word(word)] == pieces.split()


def test_special_pieces_by_name():
    vocabulary = subword_vocab.WordPieceVocabulary(BERT)
    assert (vocabulary.pad_id, vocabulary.unk_id, vocabulary.cls_id) == (0, 2, 3)
    assert vocabulary.special_ids == (0, 2, 3, 4, 5)
    with pytest.raises(ValueError, match=r"has no \[CLS\], \[MASK\]"):
        subword_vocab.WordPieceVocabulary([p for p in BERT if p not in ("[CLS]", "[MASK]")])


@pytest.mark.parametrize("kind", subword_vocab.KINDS)
def test_training_gives_what_was_asked(kind, trained):
    vocabulary = trained[kind]
    assert len(vocabulary) == len(vocabulary.pieces) <= 400
    assert vocabulary.size % 128 == 0 and 0 <= vocabulary.size - len(vocabulary) < 128
    assert tuple(vocabulary.pieces[:5]) == SPECIALS and vocabulary.special_ids == (0, 1, 2, 3, 4)
    assert len(set(vocabulary.pieces)) == len(vocabulary)
    for word in counts():
        ids = vocabulary.encode_word(word)
        assert not set(ids) & set(vocabulary.special_ids), word
        assert written(vocabulary, ids) == word


@pytest.mark.parametrize("kind", subword_vocab.KINDS)
def test_frequent_words_become_pieces(kind, trained):
    known = counts()
    sizes = [len(trained[kind].encode_word(word)) for word in sorted(known, key=known.get)]
    assert np.mean(sizes[-10:]) + 0.5 < np.mean(sizes[:100])


def test_of_equal_pieces_the_last_is_found_as_in_transformers(tmp_path):
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
        "house",
        "##s",
        "house",
        "",
        "the",
    ]
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(pieces) + "\n\n", "utf-8")
    vocabulary = vocab.load(str(path))
    assert vocabulary.encode_word("the") + vocabulary.encode_word("houses") == [10, 8, 7]
    assert len(vocabulary) == 11  # an empty line inside is an id, too


@pytest.mark.parametrize("kind", subword_vocab.KINDS)
def test_training_twice_gives_the_same_bytes(kind, trained, tmp_path):
    shuffled = list(counts().items())
    np.random.default_rng(1).shuffle(shuffled)
    again = vocab.train(kind, {word: float(count) for word, count in shuffled}, 400)
    for name, vocabulary in (("a", trained[kind]), ("b", again)):
        vocabulary.save(str(tmp_path / name))
    assert again.fingerprint() == trained[kind].fingerprint()
    files = os.listdir(tmp_path / "a")
    assert files == os.listdir(tmp_path / "b")
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    other = vocab.train(kind, counts(seed=5), 400)
    assert other.fingerprint() != again.fingerprint()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_bytes_for_what_was_never_seen(kind, trained):
    ids = trained[kind].encode_word("🦊龘")
    assert trained[kind].unk_id not in ids
    assert written(trained[kind], ids) == "🦊龘"


def test_wordpiece_covers_the_characters_of_the_dictionary():
    vocabulary = vocab.train("wordpiece", counts(), 400, listed=["zürich", "qua 龘龍", "龍"])
    for word in ("zürich", "hciruz", "qua", "龘龍", "龍"):
        assert vocabulary.unk_id not in vocabulary.encode_word(word), word
    # A Han character that occurs only inside words gets no piece for the beginning of a word.
    assert vocabulary.encode_word("龘龘") == [vocabulary.unk_id]


def test_small_wordpiece_keeps_the_frequent_characters(warnings):
    words = {chr(0x4E00 + i): 1000.0 / (i + 1) for i in range(300)} | {"ab": 5000.0, "ba": 4000.0}
    vocabulary = vocab.train("wordpiece", words, 205)
    assert len(vocabulary) <= 205
    known = [vocabulary.unk_id not in vocabulary.encode_word(word) for word in words]
    assert all(known[:90]) and not any(known[100:300]) and all(known[300:])
    assert "436 characters: the 336 rarest" in warnings[0]
    assert "config.vocab.dictionary_share smaller" in warnings[0]  # what the characters gave way to


def test_saved_vocabularies_load(trained, tmp_path):
    bert = subword_vocab.WordPieceVocabulary(BERT, split_han=True)
    for number, vocabulary in enumerate([*trained.values(), bert]):
        folder = str(tmp_path / str(number))
        vocabulary.save(folder)
        loaded = vocab.load(folder)
        assert loaded.kind == vocabulary.kind and loaded.pieces == vocabulary.pieces
        assert loaded.fingerprint() == vocabulary.fingerprint()
        for word in [*counts(), "银行abc"]:
            assert loaded.encode_word(word) == vocabulary.encode_word(word)


def test_loads_a_bert_file(tmp_path):
    path = tmp_path / "my_vocab.txt"
    path.write_bytes(("\r\n".join(BERT) + "\r\n").encode("utf-8"))
    loaded = vocab.load(str(path))
    assert loaded.pieces == BERT
    assert loaded.encode_word("银行") == [BERT.index("银"), BERT.index("行")]
    # Lines end only at newlines; str.splitlines would split at more characters.
    path.write_text("\n".join(BERT) + "\nx\u2028y\n", encoding="utf-8")
    assert vocab.load(str(path)).pieces[-1] == "x\u2028y"


def test_a_file_has_the_settings_beside_it(tmp_path):
    subword_vocab.WordPieceVocabulary([*BERT, "世界"], split_han=False).save(str(tmp_path))
    pieces = tmp_path / "vocab.txt"
    for path in (tmp_path, pieces):
        assert vocab.load(str(path)).encode_word("世界") == [len(BERT)]
    packed = tmp_path / "vocab.txt.gz"
    packed.write_bytes(gzip.compress(pieces.read_bytes()))
    assert vocab.load(str(packed)).encode_word("世界") == [len(BERT)]


def test_loads_models_with_other_special_pieces(tmp_path):
    import io

    import sentencepiece as spm

    model = io.BytesIO()
    lines = [f"{word}\t{round(count) + 1}" for word, count in counts().items()]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        input_format="tsv",
        model_writer=model,
        vocab_size=200,
        hard_vocab_limit=False,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        minloglevel=2,
    )
    path = tmp_path / "other.model"
    path.write_bytes(model.getvalue())
    loaded = vocab.load(str(path))
    assert [loaded.pieces[i] for i in (loaded.unk_id, loaded.cls_id, loaded.sep_id)] == [
        "<unk>",
        "<s>",
        "</s>",
    ]
    assert loaded.pieces[-2:] == ["[PAD]", "[MASK]"]
    assert loaded.pieces[1] == "<s>" and loaded.pieces[loaded.mask_id] == "[MASK]"
    assert written(loaded, loaded.encode_word("bank")) == "bank"
    assert loaded.encode_word("龘") and "龘" not in loaded.pieces


@pytest.mark.parametrize(
    "name, content, error",
    [
        ("vocab.txt", b"\xff\xfe\x00binary", r"vocab.txt is not a vocab.txt .* named .model"),
        ("vocab.txt", b"just\nwords\n", r"vocab.txt: The vocabulary has no \[PAD\]"),
        ("x.model", b"no model", "x.model is not a SentencePiece model"),
    ],
)
def test_damaged_files(tmp_path, name, content, error):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=error):
        vocab.load(str(tmp_path / name))


@pytest.mark.parametrize("name", ["", "vocab.txt"])
def test_missing_files(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="--config.vocab.path takes"):
        vocab.load(str(tmp_path / name))


def test_pieces_of_another_program_are_no_vocabulary(tmp_path):
    (tmp_path / "vocab.json").write_text('{"<s>": 0, "Ġthe": 1}', encoding="utf-8")
    (tmp_path / "merges.txt").write_text("Ġ the\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="is no vocabulary: --config.vocab.path takes"):
        vocab.load(str(tmp_path))


def test_training_that_cannot_work():
    with pytest.raises(ValueError, match="config.vocab.kind='words'"):
        vocab.train("words", counts(), 400)
    with pytest.raises(ValueError, match="no words"):
        vocab.train("bpe", {}, 400)
    with pytest.raises(ValueError, match="config.vocab.size=20 does not work"):
        vocab.train("bpe", counts(), 20)
    with pytest.raises(ValueError, match="config.vocab.size=6"):
        vocab.train("wordpiece", counts(), 6)


def test_strange_words_train():
    strange = {"▁": 5.0, "a▁b": 3.0, "[MASK]": 9.0, "x" * 500: 2.0, "fine": 4.0, "": 1.0}
    for kind in vocab.KINDS:
        vocabulary = vocab.train(kind, strange, 400)
        assert vocabulary.encode_word("fine")
        assert vocabulary.mask_id not in vocabulary.encode_word("[MASK]")
        assert vocabulary.encode_word("▁") and vocabulary.encode_word("")


@pytest.mark.parametrize("kind", whole_words.KINDS)
def test_frequent_listed_words_are_whole(kind, tmp_path):
    known = counts()
    plain = vocab.train(kind, known, 400)
    ordered = sorted(known, key=lambda word: (-known[word], word))
    cut = [word for word in ordered if len(plain.encode_word(word)) > 1]
    listed = [*cut, "never", "a b"]  # the latter two do not occur
    made = vocab.train(kind, known, 400, listed, 0.15)
    assert 380 <= len(made) <= 400 and len(set(made.pieces)) == len(made)
    whole = [len(made.encode_word(word)) == 1 for word in listed[:-2]]
    # The most frequent ones, until the room is full.
    assert all(whole[:55]) and not any(whole[65:])
    assert not any(made.unk_id in made.encode_word(word) for word in known)
    made.save(str(tmp_path))
    loaded = vocab.load(str(tmp_path))
    assert loaded.fingerprint() == made.fingerprint() != plain.fingerprint()
    assert all(loaded.encode_word(word) == made.encode_word(word) for word in known)
    again = vocab.train(kind, known, 400, listed, 0.15)
    assert again.fingerprint() == made.fingerprint()


def test_listed_words_of_characters_without_pieces_are_whole():
    known = {word: 2.0 for word in counts()} | {chr(0x4E00 + i): 1.0 for i in range(300)}
    rare = list(known)[-20:]
    plain = vocab.train("wordpiece", known, 400)
    assert all(plain.encode_word(word) == [plain.unk_id] for word in rare)
    made = whole_words.add(plain, rare, 20)
    assert all(made.is_piece(word) for word in rare) and len(made) == len(plain) + 20


def test_few_listed_words_leave_their_room_to_pieces():
    known = counts()
    made = vocab.train("wordpiece", known, 400, ["never", *list(known)[-3:]], 0.5)
    assert 397 <= len(made) <= 400
    assert all(len(made.encode_word(word)) == 1 for word in list(known)[-3:])


def letters(count, seed=0):
    """Words of four letters' alphabet with Zipfian counts."""
    rng = np.random.default_rng(seed)
    made = ("".join(rng.choice(list("abcd"), rng.integers(2, 9))) for _ in range(count))
    return {word: 1000 / (rank + 1) for rank, word in enumerate(made)}


def test_whole_words_of_a_unigram_model_contain_each_other():
    # Every word begins the next one: each new piece makes another way to cut the longer words.
    plain = vocab.train("unigram", letters(400), 290)
    rng = np.random.default_rng(1)
    longest = ["".join(rng.choice(list("abcd"), 12)) for _ in range(10)]
    listed = [word[:end] for word in longest for end in range(3, 13)]
    made = whole_words.add(plain, [*listed, *listed[:5]], 200)
    assert all(len(made.encode_word(word)) == 1 for word in listed)
    assert made.pieces[: len(plain)] == plain.pieces


def best_score_without(scores, word):
    """The score of the best segmentation of a word that is not the whole word, in float64."""
    text = "▁" + word
    best = [0.0] + [-np.inf] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(end):
            if text[start:end] != text and text[start:end] in scores:
                best[end] = max(best[end], best[start] + scores[text[start:end]])
    return best[-1]


def test_whole_words_win_by_a_margin_that_float32_and_float64_keep():
    """A tie between a word and shorter new pieces is decided by rounding, otherwise in each program."""
    from sentencepiece import sentencepiece_model_pb2

    plain = vocab.train("unigram", letters(400), 290)
    rng = np.random.default_rng(2)
    longest = ["".join(rng.choice(list("abcd"), 12)) for _ in range(20)]
    listed = [word[:end] for word in longest for end in range(3, 13)]
    made = whole_words.add(plain, listed[::-1], 400)
    proto = sentencepiece_model_pb2.ModelProto.FromString(made.model)
    scores = {piece.piece: piece.score for piece in proto.pieces}
    taught = [word for word in listed if len(plain.encode_word(word)) > 1]
    margins = [scores["▁" + word] - best_score_without(scores, word) for word in taught]
    np.testing.assert_allclose(margins, 0.01, atol=1e-4)
    # Pieces stand in the order of preference.
    new = made.pieces[len(plain) :]
    assert new == list(dict.fromkeys("▁" + word for word in listed[::-1] if word in taught))


def test_whole_words_of_unknown_characters():
    plain = vocab.train("unigram", letters(400), 290)
    rng = np.random.default_rng(3)
    listed = ["".join(rng.choice(list("abcжщ日"), rng.integers(1, 10))) for _ in range(300)]
    made = whole_words.add(plain, listed, 400)
    assert all(len(made.encode_word(word)) == 1 for word in listed)
    assert min(made.processor.get_score(i) for i in range(len(made))) > -400


def test_a_piece_that_a_unigram_model_does_not_prefer_is_preferred():
    from sentencepiece import sentencepiece_model_pb2

    plain = vocab.train("unigram", letters(400), 290)
    word = next(w for w in letters(400) if len(w) > 3 and len(plain.encode_word(w)) == 1)
    proto = sentencepiece_model_pb2.ModelProto.FromString(plain.model)
    next(piece for piece in proto.pieces if piece.piece == "▁" + word).score = -90
    cut = subword_vocab.SentencePieceVocabulary(proto.SerializeToString())
    assert len(cut.encode_word(word)) > 1
    made = whole_words.add(cut, [word, word], 5)
    assert len(made.encode_word(word)) == 1 and made.pieces == cut.pieces


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_other_kinds_take_no_whole_words(kind):
    with pytest.raises(ValueError, match=f"dictionary_share=0.1.*wordpiece or unigram.*{kind}"):
        vocab.train(kind, counts(), 400, ["x"], 0.1)
