"""The picture at the head of the page, the sentences on figures, and the model's card at its end."""

import numpy as np

from clwe_jax.report import fill_metrics, plots, space
from clwe_jax.report.data import Chart, Column, Dots, Line, Metric, Picture, Table
from clwe_jax.report.page import Page
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.runs import shared_space
from clwe_jax.text.dictionary.merged import Dictionary

POINTS = [
    dict(word=word, language=language, concept=i, x=x, y=float(i))
    for i, words in enumerate([("house", "haus", "casa"), ("tree", "baum", "arbol")])
    for x, (language, word) in enumerate(zip(("en", "de", "es"), words))
]


def run(figures=(), series=None, **extras):
    config = extras.pop("config", {"data": {"languages": "en,de,es", "source": "pocket"}})
    return RunFolder("runs/x", config, dict(figures), series or {}, extras)


def test_the_picture_is_the_first_thing_on_the_page(write_run, page_of):
    stages = {"before": POINTS, "after": POINTS}
    page = page_of(write_run(extras={"space": {"hub": "en", "stages": stages}}))
    first = page.all("section")[0]
    assert first.all("h2")[0].text == "The shared space"
    titles = [drawing.attributes["aria-label"] for drawing in first.all("svg")]
    assert titles == ["Before alignment", "After alignment"] and "haus" in first.text
    names = [node.attributes.get("class") or node.name for node in page.all()]
    assert names.index("tiles") < names.index("section") < names.index("nav")


def test_lines_join_a_word_to_its_translations():
    found = space.picture("T", POINTS, "en", ["en", "de", "es"])
    assert found.joins == [((0, i), (x, i)) for i in (0.0, 1.0) for x in (1, 2)]
    assert [(dots.label, dots.labels, dots.colour) for dots in found.dots] == [
        ("en", ["house", "tree"], 0),
        ("de", ["haus", "baum"], 1),
        ("es", ["casa", "arbol"], 2),
    ]


def test_words_with_translations_in_all_languages_are_chosen():
    common = [f"w{'x' * (i + 1)}" for i in range(20)]  # left out: they are too frequent
    frequent = {
        "en": [*common, "house", "tree", "it", "dog"],
        "de": ["baum", "haus", "häuser", "hund"],
        "fr": ["arbre", "maison"],
    }
    pairs = {
        ("en", "de"): [("house", "häuser"), ("house", "haus"), ("tree", "baum"), ("dog", "hund")],
        ("en", "fr"): [("house", "maison"), ("tree", "arbre"), ("dog", "chien")],
    }
    dictionary = Dictionary.from_pairs(pairs)
    found = shared_space.concepts(frequent, dictionary, "en")
    assert {"en": "house", "de": "haus", "fr": "maison"} in found
    assert {"en": "tree", "de": "baum", "fr": "arbre"} in found
    assert shared_space.concepts(frequent, None, "en") == []
    vectors = {"haus": [1, 0, 0], "house": [2, 0, 0], "maison": [0, 3, 0]}
    points = shared_space.picture(
        [{"en": "house", "de": "haus", "fr": "maison"}],
        lambda language, words: np.array([vectors[word] for word in words], np.float32),
    )
    en, de, fr = ((point["x"], point["y"]) for point in points)
    assert en == de != fr  # directions are compared, lengths are not
    assert shared_space.picture([], lambda language, words: np.zeros((0, 2))) == []


def test_concepts_of_a_language_without_spaces():
    frequent = {"zh": [*map(chr, range(0x4E00, 0x4E14)), "银行"], "ja": ["銀行"]}
    dictionary = Dictionary.from_pairs({("zh", "ja"): [("银行", "銀行")]})
    assert shared_space.concepts(frequent, dictionary, "zh") == [{"zh": "银行", "ja": "銀行"}]


def test_a_wide_table_shows_its_main_columns_and_folds_the_rest():
    columns = ["Pair", Column("P@1", "percent"), *(Column(f"c{i}", main=False) for i in range(8))]
    table = Table(columns, [["a", *(Metric("x/y") for _ in range(9))]], ["mean", *range(9)], "T")
    first, whole = fill_metrics.resolve([table], [run({"x/y": 0.5})])
    assert [x.head for x in first.columns] == ["Pair", "P@1"] and first.title == "T"
    assert len(first.rows[0]) == len(first.total) == 2
    assert whole.closed == "All 10 columns" and len(whole.rows[0]) == 10 and not whole.title
    narrow = Table(columns[:4], [["a", 1, 2, 3]])
    assert len(fill_metrics.resolve([narrow], [run()])) == 1


def test_a_curve_of_one_point_is_no_chart():
    chart = Chart("Loss", [Line("loss", "train/loss"), Line("other", "train/other")])
    assert fill_metrics.resolve([chart], [run(series={"train/loss": {1: 2.0}})]) == []
    assert fill_metrics.resolve([chart], [run(series={"train/loss": {1: 2.0, 2: 1.0}})])


def test_the_card_names_data_licences_and_code():
    own = {
        "data": {
            "languages": "de,it",
            "source": "text:corpora",
            "dictionaries": "muse",
            "pairs": "verses",
        }
    }
    trained = run(config=own, neighbours=[{"word": "città", "language": "it", "neighbours": []}])
    rows = Page().intended_use(trained, ()).blocks[1].rows
    assert [row[0] for row in rows] == ["Text", "Pairs", "Dictionaries"]
    assert "unknown licence" in rows[0][2] and "CC BY-NC" in rows[2][2]
    assert "demonstration" in str(Page().intended_use(run(), ()).blocks[0].points)
    (text,) = Page().usage(trained, ()).blocks
    assert "model = clwe_jax.load('runs/x')" in text.code
    assert "translate('città', lang='it', to='de')" in text.code
    compile(text.code, "snippet", "exec")
    assert (
        "translate"
        not in Page().usage(run(config={"data": {"languages": "en"}}), ()).blocks[0].code
    )


def test_many_dots_make_a_small_drawing():
    points = np.random.default_rng(0).normal(size=(500, 2)).tolist()
    joins = [(points[i], points[i + 1]) for i in range(60)]
    drawn = plots.svg(Picture("T", [Dots("a", points)], joins), "d1")
    assert drawn.count("<use") == 500 and len(drawn) < 40_000
