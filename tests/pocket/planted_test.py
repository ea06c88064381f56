"""Texts of the embedded world that share lines, and the gold of the pairs."""

import itertools
import subprocess
import sys

import pytest

from clwe_jax import pocket
from clwe_jax.pocket import generate, planted
from clwe_jax.pocket.world import split_of
from clwe_jax.pocket.write import write_corpus, write_shared

COUNT, MONEY = 300, ("money",)
SHARED = {order: pocket.Shared(0.3, order) for order in planted.ORDERS}


def rendered(language, line):
    return generate.grammar(language).render(line.meaning).text


def numbered(language, shared, count=COUNT):
    """Number of a planted meaning -> its place in the text."""
    found = planted.lines(language, count, shared=shared)
    return {line.number: i for i, line in enumerate(found) if line.number is not None}


@pytest.mark.parametrize("order", planted.ORDERS)
def test_texts_that_share_nothing_are_those_of_the_stream(tmp_path, order):
    write_corpus(tmp_path, ("de",), 40, 5, MONEY, (0.0, order, False))
    stream = itertools.islice(pocket.sentences("de", 5, among=MONEY), 40)
    text = (tmp_path / "de.txt").read_text(encoding="utf-8")
    assert text == "".join(f"{sentence.text}\n" for sentence in stream)


@pytest.mark.parametrize("share", [0.03, 0.1, 1.0])
@pytest.mark.parametrize("order", planted.ORDERS)
def test_the_share_is_exact(order, share):
    found = list(planted.lines("fr", COUNT, shared=pocket.Shared(share, order)))
    numbers = [line.number for line in found if line.number is not None]
    assert len(found) == COUNT and sorted(numbers) == list(range(round(share * COUNT)))


def test_planted_meanings_are_distinct_and_occur_once():
    found = list(planted.lines("en", COUNT, among=MONEY, shared=SHARED["scattered"]))
    keys = {line.meaning.key for line in found if line.number is not None}
    others = {line.meaning.key for line in found if line.number is None}
    assert len(keys) == 90 and not keys & others


@pytest.mark.parametrize("order", planted.ORDERS)
def test_held_out_meanings_do_not_occur(order):
    found = planted.lines("en", 3_000, shared=SHARED[order])
    assert {split_of(line.meaning.key) for line in found} == {"train"}


def test_planted_lines_of_two_languages_render_one_meaning():
    texts = {x: list(planted.lines(x, COUNT, shared=SHARED["documents"])) for x in ("de", "zh")}
    here, there = (
        {line.number: line for line in lines if line.number is not None} for lines in texts.values()
    )
    assert here.keys() == there.keys()
    for number, line in here.items():
        assert line.meaning == there[number].meaning
        assert rendered("zh", line) == rendered("zh", there[number])


def test_documents_keep_their_order_and_drift_a_little():
    count, shared = 3_000, pocket.Shared(0.2)
    places = [numbered(language, shared, count) for language in ("de", "en")]
    runs = []  # lengths of the stretches that stand together in both texts
    drift = []  # how much further apart two neighbours are in one text than in the other
    for number in range(1, len(places[0])):
        steps = [place[number] - place[number - 1] for place in places]
        if all(1 <= step <= 2 for step in steps):
            runs[-1:] = [runs[-1] + 1] if runs else [2]
            drift.append(steps[0] - steps[1])
        else:
            runs.append(1)
    assert all(20 <= length <= 40 for length in runs[:-1]) and len(runs) >= 15
    assert {-1, 0, 1} == set(drift) and drift.count(0) > 0.8 * len(drift)
    # The documents themselves are at different places, in another order.
    firsts = list(itertools.accumulate(runs, initial=0))[:-1]
    orders = [sorted(firsts, key=place.__getitem__) for place in places]
    assert orders[0] != orders[1] != firsts


def test_scattered_lines_have_no_order():
    here, there = (numbered(language, SHARED["scattered"]) for language in ("de", "en"))
    steps = [abs((here[n] - here[n - 1]) - (there[n] - there[n - 1])) for n in range(1, len(here))]
    assert sum(step > 3 for step in steps) > 0.9 * len(steps)


@pytest.mark.parametrize(
    "pair, shared",
    [(("en", "zh"), SHARED["documents"]), (("de", "en"), pocket.Shared(0.05, "scattered"))],
)
def test_the_gold_has_all_pairs(pair, shared):
    source, target = (list(planted.lines(x, COUNT, 1, MONEY, shared)) for x in pair)
    here = [[rendered(x, line) for x in pair] for line in source]
    there = [[rendered(x, line) for x in pair] for line in target]
    expected = [
        (i + 1, j + 1, source[i].number is not None and source[i].number == target[j].number)
        for i in range(COUNT)
        for j in range(COUNT)
        if here[i][0] == there[j][0] or here[i][1] == there[j][1]
    ]
    found = pocket.shared_pairs(*pair, COUNT, 1, MONEY, shared)
    assert found == expected
    assert sum(pair.planted for pair in found) == round(shared.share * COUNT)
    assert not all(pair.planted for pair in found)  # the embedded world is small
    # Lines of one meaning are among them.
    same = {
        (i + 1, j + 1)
        for (i, a), (j, b) in itertools.product(enumerate(source), enumerate(target))
        if a.meaning == b.meaning
    }
    assert same <= {pair[:2] for pair in found}


def test_the_gold_file_names_lines_of_the_text_files(tmp_path):
    shared = SHARED["documents"]
    write_corpus(tmp_path, ("de", "en"), COUNT, 2, MONEY, shared)
    write_shared(tmp_path, ("en", "de"), COUNT, 2, MONEY, list(shared))
    found = pocket.read_pairs(tmp_path / "de-en.tsv")
    assert found == pocket.shared_pairs("de", "en", COUNT, 2, MONEY, shared)
    texts = [(tmp_path / f"{x}.txt").read_text(encoding="utf-8").splitlines() for x in ("de", "en")]
    meanings = {rendered("de", line): line for line in planted.lines("de", COUNT, 2, MONEY, shared)}
    chosen = [pair for pair in found if pair.planted]
    assert len(chosen) == 90
    for i, j, _ in chosen:
        assert rendered("en", meanings[texts[0][i - 1]]) == texts[1][j - 1]


def test_languages_apart_draw_from_domains_of_their_own():
    domains = {}
    for language in pocket.LANGUAGES:
        found = planted.lines(language, COUNT, shared=pocket.Shared(apart=True))
        domains[language] = {line.meaning.domain for line in found}
    assert not any(a & b for a, b in itertools.combinations(domains.values(), 2))
    assert not pocket.shared_pairs("en", "zh", 1_000, shared=pocket.Shared(apart=True))
    with pytest.raises(ValueError, match="en .* money"):
        next(planted.lines("en", COUNT, among=MONEY, shared=pocket.Shared(apart=True)))


def test_every_process_plants_the_same(tmp_path):
    program = (
        "import sys; from clwe_jax import pocket; "
        "pocket.write_corpus(sys.argv[1], ('en',), 60, 4, ('money',), (0.3, 'documents', False))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "other")], check=True)
    write_corpus(tmp_path / "here", ("de", "en"), 60, 4, MONEY, SHARED["documents"])
    one, two = (tmp_path / folder / "en.txt" for folder in ("here", "other"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("wrong", [pocket.Shared(1.5), pocket.Shared(0.1, "sorted")])
def test_bad_values_are_named(wrong):
    with pytest.raises(ValueError, match=r"share .*\[0, 1\].*order .*documents"):
        next(planted.lines("en", COUNT, shared=wrong))
