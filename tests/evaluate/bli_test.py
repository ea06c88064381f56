"""Averaged contextual vectors and P@k by hand; planted translations; words that are not there."""

import collections
import pathlib

import numpy as np
import pytest

from clwe_jax.align import bounded
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.protocols import WordSample, WordSpace
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.evaluate.bli import LexiconInduction
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.induced import WordInduction
from clwe_jax.evaluate.retrieval import SentenceRetrieval
from clwe_jax.text.dictionary import test_dictionaries
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.words.normalize import Normalizer

NAMES = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(30)]
MUSE = pathlib.Path(__file__).parents[3] / "shared" / "data" / "dictionaries" / "muse_splits"


def make_lines(lang, count=80, seed=0):
    r = np.random.RandomState(seed)
    return [" ".join(lang + n for n in r.choice(NAMES, r.randint(2, 6))) for _ in range(count)]


@pytest.fixture
def world(make_tokenizer, make_variables, tmp_path):
    """enxy and dexy mean the same and have one vector; a test dictionary of both directions."""
    tokenizer = make_tokenizer([lang + name for lang in ("en", "de") for name in NAMES])
    variables = make_variables(tokenizer)
    ids = {
        lang: [tokenizer.vocabulary.encode_word(lang + name)[0] for name in NAMES]
        for lang in ("en", "de")
    }
    pieces = np.array(variables["pieces"])
    pieces[ids["de"]] = pieces[ids["en"]]
    for source, target in (("de", "en"), ("en", "de")):
        text = "".join(f"{source}{n.upper()} {target}{n}\n" for n in NAMES[:12])
        (tmp_path / f"{source}-{target}.5000-6500.txt").write_text(text)
    lines = {lang: make_lines(lang, seed=seed) for seed, lang in enumerate(("en", "de"))}
    return tokenizer, {**variables, "pieces": pieces}, tmp_path, lines


def build(world, **options):
    tokenizer, _, folder, lines = world
    context = Context(languages=tokenizer.languages, tokenizer=tokenizer, sample=lines)
    return LexiconInduction(**{"data": str(folder), **options}, context=context)


def run(world, objective, **options):
    tokenizer, variables, _, _ = world
    return dict(build(world, **options).run(ModelEncoder(objective, tokenizer, variables)))


def by_hand(world, objective, language, words, occurrences):
    """{word: [layers + 1, D]}: the mean over its first occurrences, or by itself."""
    tokenizer, variables, _, lines = world
    v = tokenizer.vocabulary
    seen = collections.defaultdict(list)
    for line in [*lines[language], *words]:
        ids, owners = tokenizer.encode(line, language)
        row = objective.numpy_row(
            variables, [v.cls_id, *ids, v.sep_id], tokenizer.language_id(language)
        )[1:-1]
        for place, word in enumerate(line.split()):
            own = [i for i, owner in enumerate(owners) if owner == place]
            seen[word].append((line in words, row[own].mean(0)))
    found = {}
    for word in words:
        inside = [vector for alone, vector in seen[word] if not alone][:occurrences]
        found[word] = np.mean(inside or [vector for _, vector in seen[word]], axis=0)
    return found


@pytest.mark.parametrize("occurrences", [1, 3, 1000])
def test_averages_equal_those_by_hand(world, toy_objective, occurrences):
    tokenizer, variables, _, lines = world
    objective = toy_objective()
    words = ["enaa", "enab", "enbc", "outside"]  # the last one does not occur, and is spelled
    encoder = ModelEncoder(objective, tokenizer, variables)
    sample = WordSample(lines, occurrences, min_count=1000)  # no word is frequent
    space = encoder.vocabulary("en", words[::-1], sample)
    assert space.words == words and space.frequent_count == 0
    expected = by_hand(world, objective, "en", words, occurrences)
    for word, vectors in zip(words, space.vectors):
        np.testing.assert_allclose(vectors, expected[word], atol=1e-4)
    every = collections.Counter(word for line in lines["en"] for word in line.split())
    assert space.counts.tolist() == [min(every[word], occurrences) for word in words]
    assert space.counts[3] == 0 < space.counts[0]


def test_candidates_are_the_frequent_words_of_the_whole_text(world, toy_objective):
    tokenizer, variables, _, lines = world
    counts = {"enab": 9, "enzz": 5, ".": 4, "enaa": 3, "enac": 1}  # the lines have no enzz
    encoder = ModelEncoder(
        toy_objective(), tokenizer, variables, frequencies=Frequencies({"en": 22}, {"en": counts})
    )
    space = encoder.vocabulary("en", ["enac"], WordSample(lines, occurrences=2, max_words=3))
    assert space.words == ["enab", "enzz", "enaa", "enac"] and space.frequent_count == 3
    assert space.counts.tolist() == [2, 0, 2, 2]
    alone = encoder.sentences(["enzz"], "en")[0]
    np.testing.assert_allclose(space.vectors[1], alone, atol=1e-5)
    # A language without counts has the words of the lines.
    assert set(encoder.vocabulary("de", [], WordSample(lines)).words) <= {"de" + x for x in NAMES}


def test_long_lines_lose_no_occurrence(world, toy_objective):
    tokenizer, variables, _, _ = world
    encoder = ModelEncoder(toy_objective(), tokenizer, variables, max_length=8)
    sample = WordSample({"en": [" ".join(["enaa", "enab"] * 20)]}, 1000)
    space = encoder.vocabulary("en", [], sample)
    assert space.words == ["enaa", "enab"] and space.counts.tolist() == [20, 20]


def test_other_variables_share_what_is_compiled(world, toy_objective):
    tokenizer, variables, _, lines = world
    shapes = []

    class Counted(toy_objective):
        def encode(self, variables, batch):
            shapes.append(batch["inputs"].shape)
            return super().encode(variables, batch)

    first = ModelEncoder(Counted(), tokenizer, variables)
    other = first.bind({**variables, "languages": 2 * variables["languages"]}, step=7)
    found = [model.sentences(["enaa enab"], "de") for model in (first, other)]
    assert np.abs(found[0] - found[1]).max() > 0.1 and (first.step, other.step) == (0, 7)
    assert len([shape for shape in shapes if shape[0] > 1]) == 1
    assert first.encoded_counts == other.encoded_counts == {"de": 2}


def test_figures_equal_those_by_hand(world, toy_objective):
    objective = toy_objective()
    found = run(world, objective, occurrences=2, min_count=3)
    lines = {lang: [line.split() for line in some] for lang, some in world[3].items()}
    counts = {
        lang: collections.Counter(word for line in some for word in line)
        for lang, some in lines.items()
    }
    candidates = [word for word in counts["en"] if counts["en"][word] >= 3]
    keys = by_hand(world, objective, "en", candidates, 2)
    queries = by_hand(world, objective, "de", ["de" + name for name in NAMES[:12]], 2)
    for layer in ("layer0", "layer2", "mean_last4"):
        select = (lambda x: x[1:].mean(0)) if layer == "mean_last4" else lambda x: x[int(layer[5:])]
        y = np.stack([select(keys[word]) for word in candidates])
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        ranks = []
        for word, vector in queries.items():
            x = select(vector)
            order = [candidates[i] for i in np.argsort(-(y @ x))]
            gold = "en" + word[2:]
            ranks.append(order.index(gold) if gold in order else 99)
        prefix = "" if layer == "mean_last4" else f"{layer}/"
        assert found[f"bli/de-en/{prefix}p@1"] == pytest.approx(np.mean(np.array(ranks) < 1))
        assert found[f"bli/de-en/{prefix}p@5"] == pytest.approx(np.mean(np.array(ranks) < 5))
    assert 0.1 < found["bli/de-en/p@1"] < found["bli/de-en/p@5"]


def test_csls_knows_the_hubs_of_the_whole_source_language(world, toy_objective):
    tokenizer, variables, folder, lines = world
    variables = {**variables, "languages": 2 * variables["languages"]}
    world = tokenizer, variables, folder, lines
    found = run(world, toy_objective(), occurrences=1, min_count=2, neighbourhood=10)
    frequent = {}
    for lang in ("en", "de"):
        counts = collections.Counter(word for line in lines[lang] for word in line.split())
        frequent[lang] = [word for word, count in counts.items() if count > 1]
    vectors = {
        lang: by_hand(world, toy_objective(), lang, words, 1) for lang, words in frequent.items()
    }
    tested = ["de" + name for name in NAMES[:12]]
    gold = [frequent["en"].index("en" + word[2:]) for word in tested]
    for layer in range(3):
        matrices = {}
        for lang, words in frequent.items():
            matrix = np.stack([vectors[lang][word][layer] for word in words])
            matrices[lang] = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        cosine = matrices["de"] @ matrices["en"].T
        hubness = np.sort(cosine, axis=0)[-10:].mean(0)
        scores = (2 * cosine - hubness)[[frequent["de"].index(word) for word in tested]]
        rank = (scores > scores[np.arange(12), gold][:, None]).sum(1)
        assert found[f"bli/de-en/layer{layer}/p@1_csls"] == pytest.approx(np.mean(rank < 1))
        assert found[f"bli/de-en/layer{layer}/p@5_csls"] == pytest.approx(np.mean(rank < 5))


def test_planted_translations_are_found(world, toy_objective):
    found = run(world, toy_objective(), occurrences=1000)
    for pair in ("de-en", "en-de"):
        # Averages over contexts are near the words' own vectors, which are those of both languages.
        assert found[f"bli/{pair}/layer0/p@1"] > 0.9
        assert found[f"bli/{pair}/p@5_csls"] > 0.8
        assert found[f"bli/{pair}/coverage"] == 1 and found[f"bli/{pair}/words"] == 12
        assert found[f"bli/{pair}/isolated"] == 0
    pairs = [found[f"bli/{pair}/p@1_csls"] for pair in ("de-en", "en-de")]
    assert found["bli/p@1_csls"] == pytest.approx(np.mean(pairs))
    names = {name.split("/", 2)[2] for name in found if name.startswith("bli/de-en/")}
    tops = {f"p@{k}{end}" for k in (1, 5) for end in ("", "_csls")}
    layers = {f"layer{k}/{top}" for k in range(3) for top in tops}
    assert {name for name in names if name.startswith("layer")} == layers
    assert tops | {"p@1_covered", "p@1_csls_covered", "coverage", "isolated", "words"} <= names
    assert {"mrr_distinct_covered", "p@10_csls", "oov", "frequency/1-200/p@1_csls"} <= names


def test_layer_option(world, toy_objective):
    found = run(world, toy_objective(), layer=0)
    assert found["bli/de-en/p@1"] == found["bli/de-en/layer0/p@1"]
    with pytest.raises(ValueError, match="layer=3: .* 0"):
        run(world, toy_objective(), layer=3)


def test_test_words_are_not_added_to_the_candidates(world, toy_objective):
    _, _, folder, lines = world
    # Without its line enaa is no candidate: deaa is wrong, and not covered. dezz has no occurrence.
    lines["en"] = [line for line in lines["en"] if "enaa" not in line]
    (folder / "de-en.5000-6500.txt").write_text("deaa enaa\ndeab enab\ndezz enzz\ndeac t-shirt\n")
    found = run(world, toy_objective())
    assert found["bli/de-en/coverage"] == 1 / 4 and found["bli/de-en/isolated"] == 1 / 4
    assert found["bli/de-en/p@1"] == pytest.approx(found["bli/de-en/p@1_covered"] / 4)
    assert found["bli/de-en/p@1_csls_covered"] in (0.0, 1.0)


def test_test_words_do_not_compete_either(world, toy_objective):
    # enaa stands in the other direction's test dictionary and not in the text. Every word that does
    # is a translation of deaa: were enaa among the keys, it would be the nearest one.
    _, _, folder, lines = world
    lines["en"] = [line for line in lines["en"] if "enaa" not in line]
    words = {word for line in lines["en"] for word in line.split()}
    text = "".join(f"deaa {word}\n" for word in sorted(words))
    (folder / "de-en.5000-6500.txt").write_text(text)
    found = run(world, toy_objective(), min_count=1)
    assert found["bli/de-en/layer0/p@1"] == found["bli/de-en/p@5_csls"] == 1


def test_frequent_words(world, toy_objective):
    tokenizer, variables, _, _ = world
    encoder = ModelEncoder(toy_objective(), tokenizer, variables)
    lines = {"en": ["b a , b", "a , 12 c 12", "b ."]}

    def frequent(min_count, max_words):
        sample = WordSample(lines, min_count=min_count, max_words=max_words)
        space = encoder.vocabulary("en", ["z"], sample)
        assert space.words[space.frequent_count :] == ["z"]
        return space.words[: space.frequent_count]

    assert frequent(2, None) == ["b", "a"] == frequent(1, 2)
    assert frequent(1, None) == ["b", "a", "c"] and frequent(1, 0) == []
    # Of the evaluator's option 0 means all.
    two, every = (run(world, toy_objective(), max_words=x)["bli/de-en/chance"] for x in (2, 0))
    assert every < two == 1 / 2


def test_several_translations(world, toy_objective):
    folder = world[2]
    lines = "".join(f"de{n} wrong\nde{n} en{n}\nde{n} en{n}\n" for n in NAMES[:12])
    before = run(world, toy_objective())
    (folder / "de-en.5000-6500.txt").write_text(lines)
    after = run(world, toy_objective())
    assert after["bli/de-en/p@1"] == before["bli/de-en/p@1"] > 0
    assert after["bli/de-en/words"] == 12


def test_pairs_that_cannot_be_measured_are_named(world, toy_objective, warnings):
    tokenizer, variables, folder, lines = world
    (folder / "fr-en.5000-6500.txt").write_text("un one\n")
    del lines["de"]
    assert run(world, toy_objective()) == {}
    assert "fr-en" in warnings("INFO") and "de-en, en-de" in warnings()


def test_bad_lines_are_skipped_and_named(world, toy_objective, warnings):
    path = world[2] / "de-en.5000-6500.txt"
    path.write_bytes(b"\xef\xbb\xbfdeaa enaa\r\nalone\nde\xff\tx\n\n\ndeab\tenab\r\n")
    found = run(world, toy_objective())
    assert found["bli/de-en/words"] == 2 and found["bli/de-en/coverage"] == 1
    assert "2 lines skipped: line 2" in warnings()


def test_missing_data(world, tmp_path, toy_objective):
    tokenizer, variables, _, lines = world
    empty = tmp_path / "empty"
    with pytest.raises(FileNotFoundError, match="config.evals.bli.data=''"):
        build(world, data=str(empty))  # before training
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match="xx-yy.5000-6500.txt"):
        build(world, data=str(empty))
    (empty / "de-en.5000-6500.txt").write_text("\n")
    with pytest.raises(ValueError, match="holds no pairs"):
        build(world, data=str(empty))
    assert not build(world, data="").has_data


def test_the_same_vectors_have_the_same_figures_in_any_encoder(world, toy_objective):
    """The words of a language model, exported as static vectors."""
    tokenizer, variables, folder, lines = world
    model = ModelEncoder(toy_objective(), tokenizer, variables)
    words = {lang: [lang + name for name in NAMES] for lang in ("en", "de")}
    (folder / "de-en.de").write_text("\n".join(words["de"]) + "\n")
    (folder / "de-en.en").write_text("\n".join(words["en"]) + "\n")
    exported = {}
    for lang in words:
        space = model.vocabulary(lang, [], WordSample(lines, min_count=1))
        assert set(space.words) == set(words[lang])
        exported[lang] = Vectors(space.words, space.vectors[:, 1:].mean(1))

    class Spaces:
        languages = ("en", "de")
        common_vectors = exported.__getitem__

        def space(self, source, target):
            return exported[source], exported[target]

    static = StaticEncoder(Spaces(), tokenizer.words)
    evaluator = build(world, min_count=1)
    ours, theirs = (dict(evaluator.run(each)) for each in (model, static))
    shared = {name for name in ours if "layer" not in name and "isolated" not in name}
    assert shared == set(theirs) and len(shared) > 50
    assert {name: ours[name] for name in shared} == pytest.approx(theirs)
    # One word a sentence: each is the word's own vector, alone in the one, exported in the other.
    x, y = (static.sentences(words[lang], lang)[:, 0] for lang in ("de", "en"))
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (x, y))
    retrieval = SentenceRetrieval(data=str(folder), context=evaluator.context)
    found = dict(retrieval.run(static))
    right = ((x @ y.T).argmax(1) == np.arange(30)).mean()
    assert found["retrieval/de-en/mean"] == pytest.approx(right) and right > 0.1


@pytest.mark.skipif(not MUSE.is_dir(), reason=f"no {MUSE}")
def test_real_dictionaries():
    languages = ("en", "de", "fr", "zh")
    found = test_dictionaries.find(str(MUSE), languages, Normalizer())
    found = {test.name: test for test in found}
    expected = {"de-en", "en-de", "fr-en", "en-fr", "zh-en", "en-zh", "de-fr", "fr-de"}
    assert set(found) == expected
    assert all(1000 < len(test.entries) <= 1500 for test in found.values())
    assert found["de-en"].entries["autonomen"] == {"autonomous", "autonomic"}


def test_a_word_and_its_copy_are_two_questions():
    entries = {
        "radio": {"radio", "wireless"},
        "taxi": {"taxi"},
        "haus": {"house"},
        "gone": {"taxi"},
    }
    test = test_dictionaries.TestSet(
        "de", "en", {word: frozenset(some) for word, some in entries.items()}
    )
    source = WordSpace(["radio", "taxi", "haus"], np.zeros((3, 1, 2)), 3)
    target = WordSpace(["radio", "wireless", "taxi", "house"], np.zeros((4, 1, 2)), 4)
    induced = WordInduction(test, source, target, {})
    lines, right = induced.questions
    assert lines.tolist() == [0, 1, 2, 0, 1]
    assert right == [{0, 1}, {2}, {3}, {1}, set()]
    places = induced.places(np.array([1, 2, 3, 4, 0]))
    assert places.all.tolist() == [1, 2, 3, 0] and places.distinct.tolist() == [4, 0, 3, 0]


def test_outcomes_are_those_of_the_figures(tmp_path):
    vectors = {
        "de": Vectors(["radio", "taxi", "haus", "tor"], np.eye(4, dtype=np.float32)),
        "en": Vectors(
            ["radio", "house", "wireless", "taxi"], np.eye(4, dtype=np.float32)[[0, 2, 0, 1]]
        ),
    }

    class Spaces:
        languages = ("de", "en")
        common_vectors = vectors.__getitem__

        def space(self, source, target):
            return vectors[source], vectors[target]

    lines = "radio radio\nradio wireless\ntaxi taxi\nhaus house\ntor gate\nfort gone\nnie nie\n"
    (tmp_path / "de-en.5000-6500.txt").write_text(lines)
    context = Context(languages=("de", "en"), normalizer=Normalizer())
    evaluator = LexiconInduction(data=str(tmp_path), context=context)
    figures = dict(evaluator.run(StaticEncoder(Spaces(), lambda text, language: text.split())))
    # By all pairs a word without a vector, nie, is its own translation; of other spellings radio has one.
    assert figures["bli/de-en/p@1"] == 4 / 6 and figures["bli/de-en/p@1_distinct"] == 1 / 4
    suffixes = ("", "_csls", "_csls_distinct", "_distinct")
    assert sorted(evaluator.outcomes) == [f"bli/de-en/p@1{suffix}" for suffix in suffixes]
    for path, (right, items, keys) in evaluator.outcomes.items():
        assert right.mean() == figures[path]
        words = "words_distinct" if path.endswith("_distinct") else "words"
        assert len(right) == len(items) == figures[f"bli/de-en/{words}"]
    # As many as there are outcomes: comparisons choose rows so.
    distinct = {row["word"]: row["distinct"] for row in evaluator.details}
    assert [x for x in distinct if distinct[x]] == ["radio", "haus", "tor", "fort"]


def test_bounded_retrieval_has_the_figures_of_the_whole_product(tmp_path, monkeypatch):
    """Ranks are decided by few keys; the table of errors is the same too."""
    r = np.random.RandomState(0)
    x = r.standard_normal((300, 8)).astype(np.float32)
    y = x + 0.9 * r.standard_normal((300, 8)).astype(np.float32)
    spaces = {"de": Vectors([f"w{i}" for i in range(300)], x)}
    spaces["en"] = Vectors([f"w{i}" if i % 3 else f"v{i}" for i in range(300)], y)
    lines = [f"w{i} {spaces['en'].words[i]}\nw{i} v{3 * (i // 3)}\n" for i in range(60)]
    (tmp_path / "de-en.5000-6500.txt").write_text("".join(lines))

    class Spaces:
        languages = ("de", "en")
        common_vectors = spaces.__getitem__

        def space(self, source, target):
            return spaces[source], spaces[target]

    context = Context(languages=("de", "en"))
    evaluator = LexiconInduction(
        data=str(tmp_path), methods="nn,csls,inverted_softmax", context=context
    )
    static = StaticEncoder(Spaces(), lambda text, language: text.split())
    expected, rows = dict(evaluator.run(static)), list(evaluator.details)
    monkeypatch.setattr(bounded, "_MIN_KEYS", 100)
    monkeypatch.setattr(bounded, "_MEMBERS", 20)
    monkeypatch.setattr(bounded, "_PART", 40)
    found = dict(evaluator.run(static))
    assert found == expected and 0.2 < found["bli/p@1_csls"] < 0.8
    assert evaluator.details == rows and {"right", "near", "wrong"} <= {row["kind"] for row in rows}
