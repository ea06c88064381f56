"""The pages for people who do not program: proposed entries and the space, of a run on invented verses."""

import dataclasses
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest

from clwe_jax import api, options
from clwe_jax.align import search
from clwe_jax.options import systems
from clwe_jax.static import explore, job as static, lexicon, lexicon_command, marked, open_run
from clwe_jax.static import proposals
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.text import dictionary
from clwe_jax.text.words import spellings
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import browser  # noqa: E402

_STEMS = (
    "sun moon star tree river stone bird fish house road king child bread water fire "
    "wind rain snow hand foot eye salt wolf honey sheep door"
).split()


def _verses(language):
    """Verses in which Arabic-like 'ar' writes each word from the right, and has two forms of one."""
    draws, lines = np.random.default_rng(0), []
    for number in range(1, 240):
        words = draws.permutation(_STEMS)[:8].tolist()
        if language == "ar":
            words = [
                "بيتبيت" + "ان" * (number % 3 == 0) if w == "house" else _arabic(w) for w in words
            ]
        text = " ".join(words).capitalize().replace("king", "King").replace(" eye ", ", eye ")
        lines.append(f"MAT {1 + number // 30}:{number}\t{text}.\n")
    return "".join(lines)


def _arabic(word):
    return "".join(chr(0x627 + (ord(letter) * 7) % 36) for letter in word)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose dictionary has one entry and one rejected pair."""
    folder = tmp_path_factory.mktemp("lexicon")
    (folder / "verses").mkdir()
    for language in ("en", "ar"):
        (folder / "verses" / f"{language}.tsv").write_text(_verses(language))
    (folder / "dictionary").mkdir()
    (folder / "dictionary" / "ar-en.txt").write_text(f"{_arabic('sun')}\tsun\n")
    (folder / "dictionary" / "ar-en.not.txt").write_text(f"{_arabic('moon')}\tmoon\n")
    config = systems.load("configs/bible.py:small")
    values = {
        "data.pairs": str(folder / "verses"),
        "data.held_out": "",
        "data.languages": "en,ar",
        "data.dictionaries": str(folder / "dictionary"),
        "evals.retrieval.data": "",
        "evals.similarity.data": "",
        "embeddings.dim": 64,
        "static.words.meaning_dim": 16,
    }
    made = options.with_values(options.parse(config), values).resolve()
    made.check_all()
    static.run(made, str(folder / "run"))
    return folder


def _data(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_words_without_an_entry_are_proposed_with_sentences(run):
    found = _data(run / "run" / "lexicon-ar-en.html")
    assert found["languages"] == ["ar", "en"] and found["names"] == ["Arabic", "English"]
    best = {word: rows[0][0] for word, _, rows, _, _ in found["proposals"]}
    assert _arabic("sun") not in best, "it has an entry"
    assert "moon" not in [x[0] for p in found["proposals"] if p[0] == _arabic("moon") for x in p[2]]
    stems = [stem for stem in _STEMS if stem not in ("sun", "moon", "house")]
    assert sum(best.get(_arabic(stem), "").lower() == stem for stem in stems) >= len(stems) - 2
    assert best[_arabic("king")] == "King" and best[_arabic("bread")] == "bread"
    [house] = [p for p in found["proposals"] if p[0] == "بيتبيت"]
    assert [form for form, _ in house[3]] == ["بيتبيتان"] and house[2][0][0] == "house"
    word, count, rows, _, examples = house
    assert rows[0][3] == "verses" and 0 < rows[0][2] <= 1 and rows[0][1] > 20
    assert len(examples) == marked.EXAMPLES
    for own, other, reference in examples:
        assert re.fullmatch(r"MAT \d:\d+", reference)
        assert word in own[1::2] and "house" in [x.lower() for x in other[1::2]]
        assert "".join(own).endswith(".")
    scores = [p[2][0][2] for p in found["proposals"]]
    assert scores[:3] == sorted(scores[:3], reverse=True)


def test_the_command_writes_the_same_page_from_any_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = lexicon_command.write(str(run / "run"), ["ar", "en"], "page.html")
    assert path == str(tmp_path / "page.html")
    assert _data(path) == _data(run / "run" / "lexicon-ar-en.html")
    back = lexicon_command.write(str(run / "run"), ["en", "ar"])
    assert _data(back)["languages"] == ["en", "ar"]
    with pytest.raises(ValueError, match="expected two of en, ar"):
        lexicon_command.write(str(run / "run"), ["ar", "de"])


def test_an_accelerator_proposes_the_same(run, monkeypatch):
    monkeypatch.setattr(search, "uses_numpy", lambda: False)
    folder = str(run / "run")
    path = lexicon_command.write(folder, ["ar", "en"], str(run / "of_accelerator.html"))
    assert _data(path)["proposals"] == _data(run / "run" / "lexicon-ar-en.html")["proposals"]


def test_all_words_of_the_text_are_counted(run):
    """A model keeps the counts of the most frequent ones alone."""
    folder = str(run / "run")
    config, model = open_run.open_run(folder)
    trainer = static.Static(config, folder).read_dictionaries().trainer
    words = {
        language: dict(itertools.islice(counts.items(), 5))
        for language, counts in model.frequencies.words.items()
    }
    few = dataclasses.replace(model.frequencies, words=words)
    fewer = dataclasses.replace(model, frequencies=few)
    whole, found = (lexicon.propose(trainer, x, folder, ("ar", "en")) for x in (model, fewer))
    assert found == whole and len(found) > 20


def test_a_word_is_written_as_most_sentences_write_it():
    cut = lambda piece, language: re.findall(r"\w+", piece.lower())
    sentences = ["The house of Jesus, Jesus’ House.", "House. House said “Jesus", "a LORD, n-Yuda"]
    found = marked.spell_words(sentences, "en", cut)
    assert found["jesus"] == "Jesus" and found["house"] == "house"
    assert found["lord"] == "LORD" and found["yuda"] == "Yuda"


def test_a_word_is_marked_where_it_stands():
    cut = lambda piece, language: [x.lower() for x in re.findall(r"\w+", piece)]
    parts = marked.mark("“The House, house-boat.", "house", "en", cut)
    assert parts == ["“The ", "House", ", ", "house", "-boat."]


def _saved(page, kind):
    return page.run(f"FILES['{kind}'][1]()")


def test_a_person_judges_saves_and_goes_on(run, tmp_path):
    path = str(run / "run" / "lexicon-ar-en.html")
    with browser.opened(path) as page:
        words = page.run("WORDS.map(x => x.word)")
        first = {x[0]: [t[0] for t in x[2]] for x in _data(path)["proposals"]}
        assert page.run("document.querySelector('#card h2').textContent") == words[0]
        assert page.run("getComputedStyle(document.querySelector('#card h2')).direction") == "rtl"
        page.press("a")
        page.press("r")
        page.press("s")
        page.press("c")
        page.run("document.querySelector('.own').value = 'own word, other'")
        page.press(["Enter"])
        page.press("1a")  # right, and accepted
        page.press("11a")  # wrong: the next one is accepted, if there is one
        page.press("u")  # which is undone, with its marks
        assert page.run("marks[translationsOf(now)[0]]") == "wrong"
        page.press("fau")
        assert page.run("withForms") is True
        page.run("marks = {}; withForms = false; show()")
        right = f"{words[0]}\t{first[words[0]][0]}\n{words[3]}\town word\n{words[3]}\tother\n"
        right += f"{words[4]}\t{first[words[4]][0]}\n"
        wrong = "".join(f"{words[1]}\t{x}\n" for x in first[words[1]])
        assert _saved(page, "txt") == right and _saved(page, "not") == wrong
        counts = page.run("document.getElementById('counts').textContent")
        assert counts.endswith("3 accepted, 1 rejected, 1 skipped")
        assert _saved(page, "csv").count("\r\n") == 1 + 4 + len(first[words[1]])
        lift = xml.fromstring(_saved(page, "lift"))
        assert [x.text for x in lift.iter("gloss") for x in x][:2] == [
            first[words[0]][0],
            "own word",
        ]
        # It is kept in the browser, and a saved file goes on elsewhere.
        page.command("Page.reload")
        while not page.run("document.readyState === 'complete' && typeof judged !== 'undefined'"):
            pass
        assert _saved(page, "txt") == right
        page.run("judged = {}; keep(); show()")
        page.run(f"read({json.dumps(right)}, 'right'); read({json.dumps(wrong)}, 'wrong')")
        assert _saved(page, "txt") == right and _saved(page, "not") == wrong
        page.run("$('search').value = 'house'; $('state').value = ''; $('search').oninput()")
        assert page.run("document.querySelector('#card h2').textContent") == "بيتبيت"
        page.run("$('source').value = 'verses'; $('source').oninput()")
        assert page.run("document.querySelector('#card h2').textContent") == "بيتبيت"
        page.run("$('source').value = ''")
        page.press("x")
        page.run("ACTIONS.forms(); ACTIONS.accept()")
        assert "بيتبيتان\thouse\n" in _saved(page, "txt")
        page.run("$('state').value = 'open'; $('state').oninput()")
        assert "No word" in page.run("$('card').textContent")
        page.run("document.querySelector('#card button').onclick()")
        assert page.run("chosen().length") == page.run("WORDS.filter(x => !judged[x.word]).length")
        # Names can be left out, and a file that writes them small is of the same words.
        page.run("judged = {}; $('names').checked = false; $('names').oninput()")
        left = page.run("chosen().map(x => x.word)")
        assert set(page.run("WORDS.map(x => x.word)")) - set(left) == {_arabic("king")}
        page.run(f"read({json.dumps(_arabic('king'))} + '\\tking', 'right')")
        assert _saved(page, "txt") == f"{_arabic('king')}\tKing\n"
    # What the page saves is a dictionary of this program.
    (tmp_path / "ar-en.txt").write_text(right)
    (tmp_path / "ar-en.not.txt").write_text(wrong)
    found = dictionary.load(str(tmp_path), ["ar", "en"])
    assert found.pair_count == 4 and len(found.rejected) == len(first[words[1]])


def test_groups_are_of_words_that_begin_alike_and_mean_the_same():
    translation = lambda word, score: [proposals.ProposedTranslation(word, 1, score, "verses")]
    made = [
        ("walked", 0, translation("go", 0.9)),
        ("walker", 1, translation("go", 0.8)),
        ("walking", 2, translation("stay", 0.7)),
        ("rock", 3, translation("go", 0.6)),
    ]
    heads = proposals._group(made, {"walked": 1, "walker": 5, "walking": 1, "rock": 1})
    assert [(head[0], forms) for head, forms in heads] == [
        ("walker", [("walked", 0)]),
        ("walking", []),
        ("rock", []),
    ]


def test_the_space_page_answers_as_the_model_does(run, tmp_path):
    folder = str(run / "run")
    path = explore.write(folder, str(tmp_path / "explore.html"))
    model = api.load(folder)
    assert sum(len(model.vectors(lang)) for lang in ("ar", "en")) >= 50
    with browser.opened(path) as page:
        for lang, to in (("ar", "en"), ("en", "ar")):
            for word in model.vectors(lang).words:
                for method in ("csls", "cosine"):
                    expected = model.neighbours(word, lang, 5, to, method=method)
                    found = page.run(
                        f"nearest({json.dumps(word)}, '{lang}', '{to}', '{method}', 5)"
                    )
                    scores = {
                        near.word: near.score
                        for near in model.neighbours(word, lang, 30, to, method=method)
                    }
                    assert [x["score"] for x in found] == pytest.approx(
                        [scores[x["word"]] for x in found], abs=0.01
                    ), word
                    assert found[0]["word"] == expected[0].word
                    for near, other in zip(
                        expected, found
                    ):  # words that are equally near may change places
                        assert near.score == pytest.approx(other["score"], abs=0.01)
            own = page.run(f"nearest({json.dumps(word)}, '{lang}', '{lang}', 'cosine', 5)")
            assert word not in [x["word"] for x in own]
        # The dictionary's entry is marked, and the rejected pair is never shown.
        [sun, *_] = page.run(f"nearest({json.dumps(_arabic('sun'))}, 'ar', 'en', 'csls')")
        assert sun["entry"] and sun["word"] == "sun"
        moon = page.run(f"nearest({json.dumps(_arabic('moon'))}, 'ar', 'en', 'csls', 40)")
        assert "moon" not in [x["word"] for x in moon] and len(moon) > 10
        english = "Bird, fish and star."
        arabic = " ".join(map(_arabic, ("star", "bird", "fish"))) + "."
        texts = json.dumps([english, arabic])
        links = model.align(english, arabic, lang="en", to="ar")
        found = page.run(f"align(...{texts}, 'en', 'ar')")
        assert (
            sorted(found) == [[x.source_place, x.target_place] for x in links] and len(found) == 4
        )
        x, y = (
            model.encode([text], lang, pool="information", normalize=True)[0]
            for text, lang in ((english.replace("and ", ""), "en"), (arabic, "ar"))
        )
        near = page.run(f"similarity(...{texts}, 'en', 'ar')")
        assert near == pytest.approx(float(x @ y), abs=0.01)
        # A person types; a word from the right is shown so; an unknown word has others beside it.
        page.run(
            "$('language').value = 'ar'; $('text').value = 'بيتبيت'; $('ask').onsubmit(new Event('x'))"
        )
        assert "house" in page.run("$('answer').textContent")
        assert page.run("document.querySelectorAll('#map circle').length") > 10
        page.run("ask('housse', 'en')")
        assert "house" in page.run("$('answer').textContent")
        page.run(f"[$('source').value, $('target').value] = {texts}; $('from').value = 'en'")
        page.run("$('to').value = 'ar'; link()")
        assert page.run("document.querySelectorAll('#links path').length") == 4
        assert page.run("getComputedStyle($('links').children[2]).direction") == "rtl"


WRITTEN = {
    "fr": "L’eau d'un lac, qu'il aujourd'hui",
    "en": "The king's don't we'll",
    "tr": "İstanbul'da",
    "th": "น้ำ ทำ คำ",
    "fa": "كتاب می‌خواهم",
}


@pytest.mark.parametrize("language", WRITTEN)
def test_the_space_page_cuts_text_as_the_model_does(language):
    """It left out elided words, and all Thai words with SARA AM."""
    if not (node := shutil.which("node")):
        pytest.skip("no node: it runs the page's script")
    text = WRITTEN[language]
    normalizer, segmenter = Normalizer(), Segmenter({language: ["น้ำ", "ทำ", "คำ"]})
    words = segmenter.words(normalizer(text, language), language)
    distinct = list(dict.fromkeys(words))
    vectors = Vectors(distinct, np.eye(16, dtype=np.float32)[: len(distinct)])
    space = StaticSpaces({language: vectors}, {}, {}, language, normalizer=normalizer)
    script = (pathlib.Path(explore.__file__).parents[1] / "report/templates/explore.js").read_text()
    made = (
        "const document = {getElementById: () => ({textContent: require('fs').readFileSync(0)})};"
        + script.partition("const weightOf")[0]
        + f"console.log(JSON.stringify(cut({json.dumps(text)}, '{language}')))"
    )
    data = json.dumps(explore.collect(space))
    found = subprocess.run(
        [node, "-e", made], input=data, capture_output=True, text=True, check=True
    )
    assert json.loads(found.stdout) == words


def test_a_page_of_few_bytes_has_the_frequent_words(run):
    model = api.load(str(run / "run")).loaded
    whole = explore.collect(model)
    assert whole["left"] == {"en": 0, "ar": 0}
    few = explore.collect(model, explore._ASIDE_BYTES + 12_000)
    assert 0 < len(few["words"]["en"]) < len(whole["words"]["en"])
    assert few["words"]["en"] == whole["words"]["en"][: len(few["words"]["en"])]
    assert sum(len(x) for x in few["vectors"].values()) < 12_000


def test_cherokee_is_shown_in_the_letters_that_fonts_have():
    assert spellings.readable("ꭰᏼꮝꮣ", "chr") == "ᎠᏴᏍᏓ"
    assert spellings.readable("straße", "de") == "straße"
    raw = {
        "chr": Vectors(["ꭰᏼ", "ꮵꮜ"], np.float32([[1, 0.5], [0, 1]])),
        "en": Vectors(["water", "jesus"], np.float32([[1, 0], [0, 1]])),
    }
    data = explore.collect(StaticSpaces(raw, {}, {}, "en"))
    assert data["words"]["chr"] == ["ᎠᏴ", "ᏥᏌ"] and data["keys"]["chr"] == {"ꭰᏼ": 0, "ꮵꮜ": 1}
