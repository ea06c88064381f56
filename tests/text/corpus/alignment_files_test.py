"""Files of word alignments as they come, and bad ones."""

import pytest

from clwe_jax.text.corpus import alignment_files


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", "-").replace("_", ".")).write_text(text, "utf-8")


def read(folder, languages=("en", "fr"), limit=0):
    [found] = alignment_files.find(str(folder), languages, "config.evals.x.data")
    return alignment_files.read(found, limit)


def test_both_sides_in_one_file_numbered_from_one(tmp_path):
    write(tmp_path, enfr_gold="1-1 2p2\n1-1\n", **{"enfr_src__tgt": "a b ||| c d\ne ||| f\n"})
    first, second = read(tmp_path)
    assert (first.source, first.target) == (["a", "b"], ["c", "d"])
    assert first.sure == {(0, 0)} and first.possible == {(0, 0), (1, 1)}
    assert second.sure == second.possible == {(0, 0)}
    assert len(read(tmp_path, limit=1)) == 1


def test_two_files_numbered_from_zero(tmp_path):
    write(tmp_path, en__fr_wa="0-0 1?0\n\n", en__fr_en="\ufeffa b\ne\n", en__fr_fr="c\nf\n")
    first, second = read(tmp_path)
    assert first.source == ["a", "b"] and first.possible == {(0, 0), (1, 0)}
    assert first.sure == {(0, 0)} and not second.possible


def test_only_spaces_and_tabs_end_a_word(tmp_path):
    write(tmp_path, jaen_gold="1-1 2-1\n", **{"jaen_src__tgt": "の \u3000\tだ ||| the\n"})
    [found] = read(tmp_path, ("ja", "en"))
    assert found.source == ["の", "\u3000", "だ"]


@pytest.mark.parametrize("right, refused", [(98, True), (99, False)])
def test_a_link_in_a_hundred_may_be_beyond_its_sentence(right, refused, tmp_path, caplog):
    lines, sides = ["0-0"] * right + ["0-0 0-9"], ["a ||| b"] * (right + 1)
    lines[0] = ""  # of the links, `right` lie within their sentences
    write(tmp_path, enfr_gold="\n".join(lines), **{"enfr_src__tgt": "\n".join(sides)})
    if refused:
        with pytest.raises(ValueError, match=f"enfr.gold:{right + 1}: .* 0-9"):
            read(tmp_path)
    else:
        assert read(tmp_path)[-1].possible == {(0, 0)}
        assert f"1 of {right + 1} links are left out" in caplog.text


def test_languages_that_the_model_lacks_are_left_out(tmp_path):
    write(tmp_path, enfr_gold="1-1\n", **{"enfr_src__tgt": "a ||| b\n"})
    assert alignment_files.find(str(tmp_path), ("en", "de"), "config.evals.x.data") == []


@pytest.mark.parametrize(
    "gold, sides, message",
    [
        ("1-1\n", "a ||| b\nc ||| d\n", r"enfr.gold has 1 lines, and .*src-tgt have 2"),
        ("1-1\n1:1\n", "a ||| b\nc ||| d\n", r"enfr.gold:2: '1:1' is no link"),
        ("1-1\n1-2\n", "a ||| b\nc ||| d\n", r"enfr.gold:2: the link 1-2 is beyond"),
        ("1-1\n", "a b\n", r"src-tgt:1: expected `source \|\|\| target`"),
    ],
)
def test_bad_files_are_named(gold, sides, message, tmp_path):
    write(tmp_path, enfr_gold=gold, **{"enfr_src__tgt": sides})
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"config.evals.x.data"):
        read(tmp_path)
    write(tmp_path, enfr_gold="1-1\n")
    with pytest.raises(FileNotFoundError, match="sentences"):
        read(tmp_path)


def test_sides_of_different_length(tmp_path):
    write(tmp_path, en__fr_wa="0-0\n", en__fr_en="a\nb\n", en__fr_fr="c\n")
    with pytest.raises(ValueError, match="has 2 lines and .* has 1"):
        read(tmp_path)


def test_numbers_of_sentences_stand_before_links_and_sentences(tmp_path):
    sides = {"en__fr_en": "5\ta b\n6\te\n7\tg h\n", "en__fr_fr": "5\tc\n6\tf\n7\ti\n"}
    write(tmp_path, en__fr_gold="5\t0-0 1p0\n7\t1-0\n", **sides)
    first, second = read(tmp_path)
    assert (first.source, first.target) == (["a", "b"], ["c"])
    assert first.sure == {(0, 0)} and first.possible == {(0, 0), (1, 0)}
    assert (second.source, second.sure) == (["g", "h"], {(1, 0)})
    write(tmp_path, en__fr_en="a b\ne\n", en__fr_fr="c\nf\n")
    assert [row.source for row in read(tmp_path)] == [["a", "b"], ["e"]]


def test_the_format_of_naacl(tmp_path):
    sides = [
        "<s snum=0001> a b </s>\n<s snum=0002> e f </s>\n",
        "<s snum=0001> c d </s>\n<s snum=0002> g h </s>\n",
    ]
    gold = "0001 1 2 S\n0001 2 1 P\n0002 2 2\n0002 0 1\n"
    write(tmp_path, en__fr_wa=gold, en__fr_en=sides[0], en__fr_fr=sides[1])
    first, second = read(tmp_path)
    assert first.source == ["a", "b"] and first.sure == {(0, 1)}
    assert first.possible == {(0, 1), (1, 0)} and second.possible == {(1, 1)}


@pytest.mark.parametrize("first, links", [("0", {(1, 1), (2, 2)}), ("1", {(0, 0), (1, 1)})])
def test_links_that_do_not_show_where_numbers_begin_are_asked_for(tmp_path, first, links):
    sides = {"de__en_de": "Das alte Haus brennt\n", "de__en_en": "The old house burns\n"}
    write(tmp_path, de__en_gold="1-1 2-2\n", **sides)
    with pytest.raises(ValueError, match=r"rename .*de-en.0.gold or .*1.gold"):
        read(tmp_path, ("de", "en"))
    (tmp_path / "de-en.gold").rename(tmp_path / f"de-en.{first}.gold")
    [row] = read(tmp_path, ("de", "en"))
    assert row.sure == links


@pytest.mark.parametrize(
    "gold, links", [("1-1 3-3\n", {(0, 0), (2, 2)}), ("0-0 2-2\n", {(0, 0), (2, 2)})]
)
def test_the_places_show_where_numbers_begin(tmp_path, gold, links):
    write(tmp_path, de__en_gold=gold, de__en_de="a b c\n", de__en_en="d e f\n")
    [row] = read(tmp_path, ("de", "en"))
    assert row.sure == links


@pytest.mark.parametrize(
    "gold",
    [
        "1-1 2P2\n1-1\n",
        "1-1,2p2\n1-1\n",
        "0-0:0.9 1?1/0.5\n0-0:1\n",
        "1\t1\t1\tS\n1\t2\t2\tP\n2\t1\t1\tS\n",
        "1 1 1 s\n1 2 2 p\n2 1 1 s\n",
        "7\t1-1 2p2\n8\t1-1\n",
    ],
)
def test_ways_of_writing_links(tmp_path, gold):
    write(tmp_path, de__en_gold=gold, de__en_de="a b\nc\n", de__en_en="d e\nf\n")
    first, second = read(tmp_path, ("de", "en"))
    assert (first.sure, first.possible) == ({(0, 0)}, {(0, 0), (1, 1)})
    assert second.sure == {(0, 0)}
