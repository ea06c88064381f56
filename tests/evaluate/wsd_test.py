"""Nearest-neighbour word sense disambiguation, on planted senses and by hand; its files."""

import gzip
import pathlib

import numpy as np
import pytest

from clwe_jax.evaluate import wsd, wsd_files
from clwe_jax.evaluate.context import Context

REAL = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "wsd"

SENTENCES = [
    [("The", None), ("bank", "bank|NOUN|bank%1"), ("lends money", "lend|VERB|lend%2 lend%3")],
    [("A", None), ("river", None), ("bank", "bank|NOUN|bank%2")],
    [],
    [("Banks", "bank|NOUN|bank%1"), (".", None)],
]


def evaluator(**options):
    return wsd.WordSenseDisambiguation(context=Context(languages=("en",)), **options)


def write(folder, sentences, name="toy", zipped=False):
    """Files in the unified format; returns the text's path."""
    xml = ["<?xml version='1.0'?>", "<corpus lang='en' source='toy'>", "<text id='d0'>"]
    keys = []
    for number, sentence in enumerate(sentences):
        xml.append(f"<sentence id='d0.s{number}'>")
        for place, (word, entry) in enumerate(sentence):
            if entry is None:
                xml.append(f"<wf lemma='x' pos='X'>{word}</wf>")
            else:
                lemma, pos, own = entry.split("|")
                name_of = f"d0.s{number}.t{place}"
                xml.append(
                    f"<instance id='{name_of}' lemma='{lemma}' pos='{pos}'>{word}</instance>"
                )
                keys.append(f"{name_of} {own}")
        xml.append("</sentence>")
    xml += ["</text>", "</corpus>"]
    opener, end = (gzip.open, ".gz") if zipped else (open, "")
    for suffix, lines in ((".data.xml", xml), (".gold.key.txt", keys)):
        with opener(folder / f"{name}{suffix}{end}", "wt") as file:
            file.write("\n".join(lines) + "\n")
    return str(folder / f"{name}.data.xml{end}")


@pytest.mark.parametrize("zipped", [False, True])
def test_reads_words_and_instances(tmp_path, zipped):
    corpus = wsd_files.read(write(tmp_path, SENTENCES, zipped=zipped))
    assert corpus.name == "toy"
    assert corpus.sentences == [
        ["The", "bank", "lends", "money"],
        ["A", "river", "bank"],
        [],
        ["Banks", "."],
    ]
    found = [(i.lemma, i.pos, i.sentence, i.start, i.stop, i.keys) for i in corpus.instances]
    assert found == [
        ("bank", "NOUN", 0, 1, 2, ("bank%1",)),
        ("lend", "VERB", 0, 2, 4, ("lend%2", "lend%3")),
        ("bank", "NOUN", 1, 2, 3, ("bank%2",)),
        ("bank", "NOUN", 3, 0, 1, ("bank%1",)),
    ]


def test_reads_the_first_sentences_alone(tmp_path):
    corpus = wsd_files.read(write(tmp_path, SENTENCES), max_sentences=2)
    assert len(corpus.sentences) == 2 and len(corpus.instances) == 3


def change(path, old, new):
    path = pathlib.Path(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_keys_and_instances_that_disagree_are_named(tmp_path):
    path = write(tmp_path, SENTENCES)
    change(tmp_path / "toy.gold.key.txt", "d0.s1.t2 bank%2", "d0.s9.t9 bank%2")
    message = r"toy.data.xml and .*toy.gold.key.txt.*d0.s1.t2 is only in the text.*d0.s9.t9 is only in the k"
    with pytest.raises(ValueError, match=message):
        wsd_files.read(path)


def test_many_that_disagree_are_counted(tmp_path):
    sentences = [[("bank", "bank|NOUN|bank%1")]] * 6
    path = write(tmp_path, sentences)
    (tmp_path / "toy.gold.key.txt").write_text("d0.s0.t0 bank%1\n")
    with pytest.raises(ValueError, match="d0.s3.t0 and 2 more"):
        wsd_files.read(path)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("</sentence>", "", r"toy.data.xml:\d+: not XML"),
        ("instance", "word", "holds no <instance>"),
        ("lemma='bank'", "", "sentence d0.s0: an <instance> needs id, lemma"),
        ("id='d0.s1.t2'", "id='d0.s0.t1'", "d0.s0.t1 is more than one instance"),
    ],
)
def test_bad_text_is_named(tmp_path, old, new, message):
    path = write(tmp_path, SENTENCES)
    change(path, old, new)
    with pytest.raises(ValueError, match=message):
        wsd_files.read(path)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("d0.s1.t2 bank%2", "d0.s1.t2", r"key.txt:3: expected an instance's id"),
        ("d0.s1.t2 bank%2", "d0.s0.t1 bank%2", r"key.txt:3: a second line for d0.s0.t1"),
    ],
)
def test_bad_keys_are_named(tmp_path, old, new, message):
    path = write(tmp_path, SENTENCES)
    change(tmp_path / "toy.gold.key.txt", old, new)
    with pytest.raises(ValueError, match=message):
        wsd_files.read(path)


def test_files_that_are_not_there(tmp_path):
    path = write(tmp_path, SENTENCES)
    (tmp_path / "toy.gold.key.txt").unlink()
    with pytest.raises(FileNotFoundError, match="expected .*toy.gold.key.txt"):
        wsd_files.read(path)
    broken = tmp_path / "cut.data.xml.gz"
    broken.write_bytes(gzip.compress(b"<corpus>" * 100)[:30])
    (tmp_path / "cut.gold.key.txt").write_text("")
    with pytest.raises(ValueError, match="cut.data.xml.gz is damaged"):
        wsd_files.read(str(broken))


TABLE = """sense_key\tlemma\tpos\tsynset\tsense_number
bank%1:2\tbank\tn\tx\t2
bank%1:1\tbank\tn\tx\t1
bank%2:1\tbank\tv\tx\t1
red%5:1\tred hot\ts\tx\t1
red%3:1\tred hot\ta\tx\t1
red%3:2\tred hot\ta\tx\t2
bank%1:3\tbank\tn\tx\t3
"""


def test_first_senses(tmp_path):
    path = tmp_path / "senses.tsv.gz"
    path.write_bytes(gzip.compress(TABLE.encode()))
    assert wsd_files.first_senses(str(path)) == {
        ("bank", "NOUN"): "bank%1:1",
        ("bank", "VERB"): "bank%2:1",
        ("red_hot", "ADJ"): "red%3:1",
    }


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("sense_number", "rank", "tsv:1: no column sense_number"),
        ("\tn\tx\t1", "\tq\tx\t1", "tsv:3: expected a sense key"),
        ("\tn\tx\t2", "\tn\tx\ttwo", "tsv:2: expected a sense key"),
        ("\tn\tx\t2", "", "tsv:2: expected a sense key"),
    ],
)
def test_bad_tables_are_named(tmp_path, old, new, message):
    path = tmp_path / "senses.tsv"
    path.write_text(TABLE.replace(old, new))
    with pytest.raises(ValueError, match=message):
        wsd_files.first_senses(str(path))


# Neighbours. Sentences of planted words: the vector of a word is written in its name.


def encode(sentences):
    """'w:1,2' has the vector [1, 2] in layer 1, and [1, 1] in layer 0; others zeros."""
    for words in sentences:
        out = np.zeros((len(words), 2, 2), np.float32)
        for place, word in enumerate(words):
            if ":" in word:
                out[place, 1] = [float(x) for x in word.split(":")[1].split(",")]
                out[place, 0] = 1
        yield out


def corpus_of(folder, entries, name="toy"):
    return wsd_files.read(write(folder, [[(word, entry)] for word, entry in entries], name))


TRAINING = [
    ("w:4,0", "bank|NOUN|bank%1"),
    ("w:0,2", "bank|NOUN|bank%1"),
    ("w:-1,1", "bank|NOUN|bank%2"),
    ("w:1,-1 w:3,-1", "lend|VERB|lend%1"),
]


def test_a_sense_is_the_mean_of_its_occurrences(tmp_path):
    senses = wsd.train(corpus_of(tmp_path, TRAINING), encode)
    assert senses.keys == ["bank%1", "bank%2", "lend%1"] and senses.counts.tolist() == [2, 1, 1]
    expected = np.array([[2, 1], [-1, 1], [2, -1]], float)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(senses.vectors[1], expected, atol=1e-6)
    assert senses.lemmas == {("bank", "NOUN"): [0, 1], ("lend", "VERB"): [2]}


def test_nearest_of_all_and_of_the_lemma(tmp_path):
    senses = wsd.train(corpus_of(tmp_path, TRAINING), encode)
    test = corpus_of(
        tmp_path,
        [
            ("w:5,-2", "bank|NOUN|bank%1"),  # nearest of all is lend%1
            ("w:-9,8", "bank|NOUN|bank%2"),
            ("w:2,1", "bank|VERB|x%1"),  # of the lemma, but of another part of speech
            ("w:2,1", "new|NOUN|y%1"),
            ("gone", "bank|NOUN|z%1"),
        ],
        "test",
    )

    def cutting(sentences):
        for words, vectors in zip(sentences, encode(sentences), strict=True):
            yield vectors[:0] if words == ["gone"] else vectors

    first = {("bank", "VERB"): "x%1", ("bank", "NOUN"): "z%1"}
    everywhere, restricted, backed_off = wsd.predict(senses, test, cutting, first)
    assert everywhere[1] == ["lend%1", "bank%2", "bank%1", "bank%1", "z%1"]
    assert restricted[1] == ["bank%1", "bank%2", "x%1", None, "z%1"]
    assert backed_off == 3
    gold = [i.keys for i in test.instances]
    assert wsd.f1(restricted[1], gold) == pytest.approx(2 * 4 / (4 + 5))
    assert wsd.f1(everywhere[1], gold) == pytest.approx(2 / 5)


def test_many_instances_are_compared_in_parts(tmp_path, monkeypatch):
    senses = wsd.train(corpus_of(tmp_path, TRAINING), encode)
    r = np.random.RandomState(0)
    entries = [(f"w:{a:.2f},{b:.2f}", "bank|NOUN|bank%1") for a, b in r.randn(9, 2)]
    test = corpus_of(tmp_path, entries, "test")
    expected = wsd.predict(senses, test, encode, {})
    monkeypatch.setattr(wsd, "_AT_ONCE", 2)
    found = wsd.predict(senses, test, encode, {})
    # In layer 0 all senses are equally near.
    assert (found[0][1], found[1][1], found[2]) == (expected[0][1], expected[1][1], expected[2])
    assert len(set(expected[0][1])) == 3


def test_an_encoder_that_loses_sentences(tmp_path):
    corpus = corpus_of(tmp_path, TRAINING)
    with pytest.raises(ValueError, match="returned 3 sentences, expected 4"):
        wsd.train(corpus, lambda sentences: encode(sentences[:3]))
    with pytest.raises(ValueError, match="sense-annotated"):
        wsd.train(corpus, lambda sentences: (x[:0] for x in encode(sentences)))


def test_the_interval_holds_the_figure_and_narrows():
    r = np.random.RandomState(0)
    predicted = [("a" if x < 0.6 else "b") if x < 0.9 else None for x in r.rand(2000)]
    gold = [("a", "c")] * 2000
    value = wsd.f1(predicted, gold)
    low, high = wsd.f1_interval(predicted, gold)
    assert low < value < high and 0.02 < high - low < 0.06
    assert wsd.f1_interval(predicted, gold) == (low, high)
    few = wsd.f1_interval(predicted[:100], gold[:100])
    assert few[1] - few[0] > 3 * (high - low)


def test_the_table(tmp_path):
    """All of it: planted senses are found in layer 1, which is chosen on the development set."""
    r = np.random.RandomState(0)

    def entries(count):
        found = []
        for _ in range(count):
            lemma, sense = r.choice(["bank", "may"]), r.randint(2)
            x = np.array([[3, 0], [0, 3]])[sense] + 0.3 * r.randn(2)
            found.append((f"w:{x[0]:.3f},{x[1]:.3f}", f"{lemma}|NOUN|{lemma}%{sense}"))
        return found

    training = write(tmp_path, [[e] for e in entries(60)], "training")
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("dev", "set"):
        write(tests, [[e] for e in [*entries(40), ("w:1,1", "odd|NOUN|odd%0")]], name)
    table = tmp_path / "senses.tsv"
    table.write_text(
        "sense_key\tlemma\tpos\tsense_number\n"
        + "".join(f"{lemma}%0\t{lemma}\tn\t1\n" for lemma in ("bank", "may", "odd"))
    )
    job = evaluator(training=training, tests=str(tests), wordnet=str(table), development="dev")
    found = dict(job.measure(encode))
    assert found["wsd/layer"] == 1 and found["wsd/senses"] == 4
    for name in ("dev", "set"):
        assert found[f"wsd/{name}/f1"] == found[f"wsd/{name}/layer1/f1"] == 1
        assert found[f"wsd/{name}/layer0/f1"] < 0.8
        assert 0.3 < found[f"wsd/{name}/f1_all"] < 0.8  # which word it is does not show
        assert found[f"wsd/{name}/back_off"] == pytest.approx(1 / 41)
        assert 0.3 < found[f"wsd/{name}/first_sense"] < 0.8
        low, high = (found[f"wsd/{name}/f1_all_{end}"] for end in ("low", "high"))
        assert low < found[f"wsd/{name}/f1_all"] < high
    assert found["wsd/mean/f1"] == 1
    without = dict(evaluator(training=training, tests=str(tests)).measure(encode))
    assert without["wsd/set/f1"] == pytest.approx(2 * 40 / (40 + 41))


def test_the_layer_is_chosen_on_the_development_set(tmp_path, monkeypatch):
    training = write(tmp_path, [[e] for e in TRAINING], "training")
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("dev", "one", "two"):
        write(tests, [[("w", "bank|NOUN|bank%1")]], name)

    def predict(senses, test, encode, first):
        right, wrong = ["bank%1"], ["bank%2"]
        layers = [wrong, right] if test.name == "dev" else [right, wrong]
        return layers[::-1], layers, 0

    monkeypatch.setattr(wsd, "predict", predict)
    options = dict(training=training, tests=str(tests))
    chosen = dict(evaluator(**options, development="dev").measure(encode))
    assert chosen["wsd/layer"] == 1 and chosen["wsd/one/f1"] == 0 and chosen["wsd/dev/f1"] == 1
    assert chosen["wsd/one/f1_all"] == 0 and chosen["wsd/dev/f1_all"] == 1  # by its own layer, 0
    by_mean = dict(evaluator(**options, development="absent").measure(encode))
    assert by_mean["wsd/layer"] == 0 and by_mean["wsd/one/f1"] == 1


@pytest.mark.skipif(not REAL.exists(), reason="no real data in ../shared/data/wsd")
def test_first_senses_of_the_real_sets():
    first = wsd_files.first_senses(str(REAL / "wordnet" / "senses.tsv.gz"))
    corpus = wsd_files.read(str(REAL / "raganato_eval" / "semeval2007.data.xml"))
    assert len(corpus.instances) == 455
    predicted = [first.get((i.lemma, i.pos)) for i in corpus.instances]
    # 55.2 with WordNet 3.0 (Raganato et al. 2017, table 3).
    assert wsd.f1(predicted, [i.keys for i in corpus.instances]) == pytest.approx(0.552, abs=0.005)


def test_absent_files_are_named_before_training(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "empty").mkdir()
    path = write(tmp_path / "tests", SENTENCES)
    for field in ("training", "tests", "wordnet"):
        with pytest.raises(FileNotFoundError, match=f"config.evals.wsd.{field}='absent'"):
            evaluator(**{"training": path, "tests": str(tmp_path / "tests")} | {field: "absent"})
    with pytest.raises(FileNotFoundError, match="expected a folder with"):
        evaluator(training=path, tests=str(tmp_path / "empty"))
