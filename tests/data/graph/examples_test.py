"""Examples made of a chunk: their pieces, labels, languages and places."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.examples import COUNTERS, ExampleMaker
from clwe_jax.options.tasks import DictMlm, DictTlm, Mlm, Tlm
from clwe_jax.text.dictionary import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.words.words import Segmenter

PIECES = [
    *SPECIALS,
    "the",
    "cat",
    "sees",
    "a",
    "dog",
    ".",
    "die",
    "kat",
    "##ze",
    "sieht",
    "hund",
    "x",
    "##x",
    "##y",
    "##z",
    ",",
    "le",
    "ch",
    "##at",
]
PAIRS = [("cat", "katze"), ("dog", "hund"), ("sees", "sieht")]


def toy(length=16, most=8, task=Mlm(), pairs=False, dictionary=True):
    tokenizer = Tokenizer(
        ("en", "de", "fr"), Normalizer(), Segmenter({}), WordPieceVocabulary(PIECES)
    )
    merged = Dictionary.from_pairs({("en", "de"): PAIRS}) if dictionary else None
    encoder = TextEncoder(tokenizer, merged)
    maker = ExampleMaker(encoder, tokenizer.vocabulary, task, length, most, pairs)

    def make(lines, languages, seed=0, number=0):
        # Eagerly: tracing takes longer than one use.
        made = maker.rows.python_function(
            tf.constant(seed, tf.int64),
            tf.constant(number, tf.int64),
            tf.constant(lines),
            tf.constant(languages, tf.int32),
        )
        rows = {name: value.numpy() for name, value in made.items()}
        return rows, dict(zip(COUNTERS, rows.pop("counters").sum(axis=0).tolist()))

    return make


def text(ids):
    return " ".join(PIECES[number] for number in ids).replace(" [PAD]", "")


def test_golden_dict_tlm():
    # Every word that has an entry is switched in the copy; nothing is masked.
    task = DictTlm(masking_rate=0.0, copy_switch_rate=1.0)
    rows, counts = toy(24, 8, task)(["The cat sees a dog."], [0])
    assert [text(row) for row in rows["inputs"]] == [
        "[CLS] the cat sees a dog . [SEP] the kat ##ze sieht a hund . [SEP]"
    ]
    np.testing.assert_array_equal(rows["targets"], rows["inputs"])
    assert rows["positions"][0].tolist() == [*range(8), *range(8), *[0] * 8]
    assert rows["segment_ids"][0].tolist() == [1] * 16 + [0] * 8
    # Switched words are in the language of their synonym, and stand in an English text.
    language = [0] * 9 + [1, 1, 1] + [0, 1] + [0] * 10
    assert rows["language_ids"][0].tolist() == language
    assert not rows["source_language_ids"].any() and not rows["loss_weights"].any()
    assert (counts["words"], counts["words_with_entry"], counts["switched_words"]) == (6, 3, 3)


def test_golden_dict_mlm():
    # Every word with an entry is masked and labelled with its only synonym.
    task = DictMlm(
        masking_rate=1.0, cross_lingual_share=1.0, mask_share=1.0, keep_share=0.0, random_share=0.0
    )
    rows, counts = toy(12, 8, task)(["The cat sees a dog."], [0])
    assert text(rows["inputs"][0]) == "[CLS] the [MASK] [MASK] [MASK] a [MASK] . [SEP]"
    assert text(rows["targets"][0]) == "[CLS] the kat ##ze sieht a hund . [SEP]"
    assert rows["loss_weights"][0].tolist() == [0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0]
    assert rows["language_ids"][0].tolist() == [0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0]
    assert rows["positions"][0].tolist() == [*range(9), 0, 0, 0]
    assert counts["masked_words"] == counts["switched_words"] == 3


def test_golden_kept_words():
    """A kept word shows the text's word or its label; of a longer label the last piece again."""
    shares = dict(masking_rate=1.0, mask_share=0.0, keep_share=1.0, random_share=0.0)
    task = DictMlm(cross_lingual_share=1.0, kept_piece="text", **shares)
    rows, _ = toy(12, 8, task)(["The cat sees a dog."], [0])
    assert text(rows["inputs"][0]) == "[CLS] the cat cat sees a dog . [SEP]"
    assert text(rows["targets"][0]) == "[CLS] the kat ##ze sieht a hund . [SEP]"
    rows, _ = toy(12, 8, DictMlm(cross_lingual_share=1.0, kept_piece="label", **shares))(
        ["The cat sees a dog."], [0]
    )
    assert text(rows["inputs"][0]) == "[CLS] the kat ##ze sieht a hund . [SEP]"


def test_golden_expected_labels():
    """The text stays as it is; a word with an entry is predicted once, at its first piece."""
    task = DictMlm(
        masking_rate=1.0,
        kept_piece="text",
        labels="expected",
        mask_share=0.0,
        keep_share=1.0,
        random_share=0.0,
    )
    make = toy(14, 8, task)
    rows, counts = make(["Katze sieht a hund.", "The cat"], [1, 0])
    found = {text(row): number for number, row in enumerate(rows["inputs"])}
    [only] = found
    segments = sorted(only.replace("[CLS]", "|[CLS]").strip("|").split(" |"))
    assert segments == ["[CLS] kat ##ze sieht a hund . [SEP]", "[CLS] the cat [SEP]"]
    row = found[only]
    predicted = rows["loss_weights"][row] > 0
    assert sorted(PIECES[x] for x in rows["targets"][row][predicted]) == [
        "cat",
        "hund",
        "kat",
        "sieht",
    ]
    np.testing.assert_array_equal(rows["entries"][row] > 0, predicted)
    dictionary = Dictionary.from_pairs({("en", "de"): PAIRS}).restrict(("en", "de", "fr"))
    words = [dictionary.word(int(x) - 1) for x in rows["entries"][row][predicted]]
    assert sorted(words) == ["cat", "hund", "katze", "sieht"]
    np.testing.assert_array_equal(rows["language_ids"], rows["source_language_ids"])
    assert counts["masked_words"] == 4 and counts["switched_words"] == 0


def test_golden_tlm():
    task = Tlm(masking_rate=0.0)
    lines = ["the cat", "die katze", "only one side", "", "a dog .", "le chat ."]
    rows, counts = toy(10, 8, task, pairs=True)(lines, [0, 1, 0, 1, 0, 2])
    found = {text(row): number for number, row in enumerate(rows["inputs"])}
    assert set(found) == {
        "[CLS] the cat [SEP] die kat ##ze [SEP]",
        "[CLS] a dog . [SEP] le ch ##at . [SEP]",
    }
    row = found["[CLS] the cat [SEP] die kat ##ze [SEP]"]
    assert rows["positions"][row].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 0]
    assert rows["language_ids"][row].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]
    row = found["[CLS] a dog . [SEP] le ch ##at . [SEP]"]
    assert rows["source_language_ids"][row].tolist() == [0, 0, 0, 0, 0, 2, 2, 2, 2, 2]
    assert counts["empty_lines"] == 1 and counts["cut_pieces"] == 0


def test_pairs_longer_than_a_row_are_cut_and_counted():
    task = Tlm(masking_rate=0.0)
    make = toy(11, 8, task, pairs=True)
    rows, counts = make(["a " * 9, "x x", "a " * 9, "x " * 9], [0, 1, 0, 1])
    # The shorter side leaves its room to the longer one; 8 places beside [CLS] and two [SEP].
    assert sorted(text(row) for row in rows["inputs"]) == [
        "[CLS] a a a a [SEP] x x x x [SEP]",
        "[CLS] a a a a a a [SEP] x x [SEP]",
    ]
    assert counts["cut_pieces"] == 3 + 5 + 5


def test_a_long_document_is_cut_at_sentence_ends():
    rows, counts = toy(10, 8, Mlm(masking_rate=0.0))(
        ["the cat . the dog . a dog sees a cat . x"], [0]
    )
    segments = sorted(
        text(ids[segment == number])
        for ids, segment in zip(rows["inputs"], rows["segment_ids"])
        for number in range(1, segment.max() + 1)
    )
    assert segments == ["[CLS] a dog sees a cat . x [SEP]", "[CLS] the cat . the dog . [SEP]"]
    assert counts["cut_pieces"] == 0


def test_a_word_longer_than_a_row_is_cut_and_counted():
    rows, counts = toy(8, 4, Mlm(masking_rate=0.0))(["x" + "y" * 20 + " dog"], [0])
    assert counts["cut_words"] == 1 and counts["cut_pieces"] == 21 - 6
    assert sorted(text(row) for row in rows["inputs"]) == [
        "[CLS] dog [SEP]",
        "[CLS] x ##y ##y ##y ##y ##y [SEP]",
    ]


def test_a_word_of_more_pieces_than_can_be_predicted_stays_readable():
    task = Mlm(masking_rate=1.0)
    rows, counts = toy(12, 3, task)(["xyyyy"], [0])
    assert counts["unmasked_words"] == 1 and not rows["loss_weights"].any()
    assert text(rows["inputs"][0]) == "[CLS] x ##y ##y ##y ##y [SEP]"


def test_a_row_never_has_more_than_max_predictions():
    for task in (Mlm(masking_rate=0.9), DictMlm(masking_rate=0.9), DictTlm(masking_rate=0.9)):
        rows, counts = toy(32, 5, task)(["the cat sees a dog . " * 8, "dog cat"] * 6, [0, 0] * 6)
        assert 4 <= rows["loss_weights"].sum(axis=1).max() <= 5
        assert counts["unmasked_words"] == 0  # the texts are cut instead


def test_empty_chunks_make_no_rows():
    for task, pairs in ((Mlm(), False), (DictTlm(), False), (Tlm(), True)):
        make = toy(task=task, pairs=pairs)
        for lines in (["", "  "], []):
            rows, _ = make(tf.constant(lines, tf.string), [0] * len(lines))
            assert rows["inputs"].shape == (0, 16)


def test_options_are_checked():
    with pytest.raises(ValueError, match="masking_rate=1.5"):
        Mlm(masking_rate=1.5)
    with pytest.raises(ValueError, match="add up to 1"):
        Mlm(mask_share=0.9)
    with pytest.raises(ValueError, match="choice='best'"):
        DictMlm(choice="best")
    with pytest.raises(ValueError, match="labels=expected"):
        DictMlm(equal_languages=True)
    with pytest.raises(ValueError, match="choice=uniform"):
        DictMlm(labels="expected", choice="context")
    with pytest.raises(ValueError, match="only_words_with_entries=True"):
        DictMlm(labels="expected", only_words_with_entries=False)


@pytest.fixture(scope="module")
def encoder(small):
    return TextEncoder(small.tokenizer, small.dictionary)


def lines_of(small, count):
    lines, languages = [], []
    for number, language in enumerate(small.tokenizer.languages):
        own = [line for line, _ in zip(small.corpus.lines(language), range(count))]
        lines += own
        languages += [number] * len(own)
    return lines, languages


def run(small, encoder, task, count=400, length=64, most=16, seed=0, number=0):
    maker = ExampleMaker(encoder, small.tokenizer.vocabulary, task, length, most)
    lines, languages = lines_of(small, count)
    made = maker.rows.python_function(
        tf.constant(seed, tf.int64),
        tf.constant(number, tf.int64),
        tf.constant(lines),
        tf.constant(languages),
    )
    rows = {name: value.numpy() for name, value in made.items()}
    return rows, dict(zip(COUNTERS, rows.pop("counters").sum(axis=0).tolist()))


def test_no_piece_is_lost(small, encoder):
    rows, counts = run(small, encoder, Mlm(masking_rate=0.0), length=24)
    lines, languages = lines_of(small, 400)
    expected = collections.Counter()
    for line, language in zip(lines, languages):
        ids, _ = small.tokenizer.encode(line, small.tokenizer.languages[language])
        expected.update((language, number) for number in ids)
    special = set(small.tokenizer.vocabulary.special_ids) - {small.tokenizer.vocabulary.unk_id}
    got = collections.Counter(
        (int(language), int(number))
        for language, number in zip(rows["language_ids"].flat, rows["inputs"].flat)
        if number not in special
    )
    assert got == expected and counts["cut_pieces"] == 0


def test_rows_are_well_formed(small, encoder):
    for task in (DictMlm(), DictMlm(kept_piece="text", labels="expected"), DictTlm()):
        rows, _ = run(small, encoder, task, count=150)
        vocabulary = small.tokenizer.vocabulary
        for row in zip(*(rows[name] for name in ("targets", "segment_ids", "positions"))):
            targets, segments, positions = row
            filled = segments > 0
            # Padding stands at the end; segments are numbered from left to right.
            assert not (np.diff(filled.astype(int)) > 0).any()
            assert set(np.diff(segments[filled])) <= {0, 1} and segments[0] == 1
            for number in range(1, segments.max() + 1):
                mine = segments == number
                assert targets[mine][0] == vocabulary.cls_id
                assert targets[mine][-1] == vocabulary.sep_id
                assert (targets[mine] == vocabulary.cls_id).sum() == 1
                ends = np.flatnonzero(targets[mine] == vocabulary.sep_id)
                assert len(ends) == (2 if isinstance(task, DictTlm) else 1)
                if isinstance(task, DictTlm):
                    expected = [*range(ends[0] + 1), *range(ends[1] - ends[0])]
                else:
                    expected = [*range(ends[0] + 1)]
                assert positions[mine].tolist() == expected
            padding = ~filled
            for name, value in rows.items():
                assert name == "counters" or value.dtype in (np.int32, np.float32)
            assert (targets[padding] == vocabulary.pad_id).all()
        padding = rows["segment_ids"] == 0
        assert not rows["loss_weights"][padding].any()


def test_fifteen_percent_of_the_words_are_masked(small, encoder):
    rows, counts = run(small, encoder, Mlm())
    assert abs(counts["masked_words"] / counts["words"] - 0.15) < 0.004
    rows, counts = run(small, encoder, DictTlm())
    assert abs(counts["masked_words"] / (2 * counts["words"]) - 0.15) < 0.004
    # Among the words with entries, which are most of the words here: hardly fewer.
    rows, counts = run(small, encoder, DictMlm())
    assert 0.145 < counts["masked_words"] / counts["words"] < 0.153


def test_labels_are_lost_nowhere(small, encoder):
    """All of the 15% are predicted: masked, kept and random pieces."""
    rows, _ = run(small, encoder, DictMlm(), count=600)
    masked = rows["loss_weights"] > 0
    inputs, targets = rows["inputs"][masked], rows["targets"][masked]
    mask = inputs == small.tokenizer.vocabulary.mask_id
    count = masked.sum()
    margin = 5 * np.sqrt(0.25 / count)
    assert abs(mask.mean() - 0.8) < margin
    kept = inputs == targets
    assert abs(kept.mean() - 0.1) < margin
    other = ~mask & ~kept
    assert abs(other.mean() - 0.1) < margin
    # Random pieces are ordinary ones, spread over the vocabulary; others are left alone.
    vocabulary = small.tokenizer.vocabulary
    drawn = inputs[other]
    assert not set(drawn) & set(vocabulary.special_ids) and drawn.max() < len(vocabulary.pieces)
    assert (
        np.abs(np.histogram(drawn, 4, (0, len(vocabulary.pieces)))[0] / len(drawn) - 0.25).max()
        < 0.1
    )
    np.testing.assert_array_equal(rows["inputs"][~masked], rows["targets"][~masked])


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_share_of_cross_lingual_labels(small, encoder, share):
    rows, counts = run(small, encoder, DictMlm(cross_lingual_share=share), count=600)
    margin = 5 * np.sqrt(share * (1 - share) / counts["masked_words"])
    assert abs(counts["switched_words"] / counts["masked_words"] - share) < margin
    # And in the batch: a label in another language is a synonym's.
    masked = rows["loss_weights"] > 0
    crossing = (rows["language_ids"] != rows["source_language_ids"]) & masked
    assert abs(crossing.sum() / masked.sum() - share) < margin + 0.05  # pieces, not words
    np.testing.assert_array_equal(
        rows["language_ids"][~masked], rows["source_language_ids"][~masked]
    )


def test_labels_are_synonyms_or_the_word_itself(small, encoder):
    maker = ExampleMaker(encoder, small.tokenizer.vocabulary, DictMlm(), 64, 16)
    lines, languages = lines_of(small, 100)
    words, after = maker.words.python_function(
        tf.constant(1, tf.int64),
        tf.constant(2, tf.int64),
        tf.constant(lines),
        tf.constant(languages),
    )
    dictionary, names = encoder.synonyms.dictionary, small.tokenizer.languages
    seen = 0
    for text, own, synonym, language, masked in zip(
        words.text.numpy(),
        words.language.numpy(),
        after.synonym.numpy(),
        after.language.numpy(),
        after.masked.numpy(),
    ):
        if synonym >= 0:
            choices = dictionary.synonyms(text.decode(), names[own])
            assert masked and dictionary.word(int(synonym)) in choices[names[language]]
            seen += 1
        else:
            assert language == own
        if masked:
            assert dictionary.id(text.decode(), names[own]) >= 0
    assert seen > 200


def test_a_language_without_dictionary_is_masked_plainly(small):
    restricted = small.dictionary.restrict(("de", "en", "es", "fr"))
    rows, counts = run(small, TextEncoder(small.tokenizer, restricted), DictMlm())
    source, masked = rows["source_language_ids"], rows["loss_weights"] > 0
    for name in ("ja", "zh"):
        mine = source == small.tokenizer.languages.index(name)
        assert 0.1 < masked[mine].mean() < 0.2
        np.testing.assert_array_equal(rows["language_ids"][mine], source[mine])
    without, counts = run(small, TextEncoder(small.tokenizer, None), DictMlm())
    assert abs(counts["masked_words"] / counts["words"] - 0.15) < 0.004
    assert counts["switched_words"] == counts["words_with_entry"] == 0


def test_masks_differ_between_chunks_and_seeds_and_repeat(small, encoder):
    task = DictMlm()
    base, _ = run(small, encoder, task, count=50)
    again, _ = run(small, encoder, task, count=50)
    for name in base:
        np.testing.assert_array_equal(base[name], again[name])
    for change in (dict(number=1), dict(seed=1)):
        other, _ = run(small, encoder, task, count=50, **change)
        count = min(len(base["inputs"]), len(other["inputs"]))
        assert not np.array_equal(base["inputs"][:count], other["inputs"][:count])


def test_rows_inside_a_dataset_are_those_outside(small, encoder):
    maker = ExampleMaker(encoder, small.tokenizer.vocabulary, DictMlm(), 32, 8)
    lines, languages = (tf.constant(x) for x in lines_of(small, 30))
    key = (tf.constant(0, tf.int64), tf.constant(4, tf.int64))
    dataset = tf.data.Dataset.from_tensors((lines, languages)).map(
        lambda lines, languages: maker.rows(*key, lines, languages)
    )
    inside, eager = next(iter(dataset)), maker.rows.python_function(*key, lines, languages)
    for name in eager:
        np.testing.assert_array_equal(inside[name].numpy(), eager[name].numpy())
