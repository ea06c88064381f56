"""Parts of speech from tagged text."""

import gzip

import pytest

from clwe_jax.evaluate import tags
from clwe_jax.text.words.normalize import Normalizer


def test_the_most_frequent_tag_of_a_word(tmp_path):
    (tmp_path / "en_ewt.dev.tsv").write_text(
        "# text = May May fly\nMay\tmay\tAUX\nmay\tmay\tAUX\nMay\tMay\tPROPN\nfly\tfly\tVERB\n\n"
    )
    with gzip.open(tmp_path / "en.conllu.gz", "wt") as file:
        file.write("1\tFly\tfly\tNOUN\tNN\t_\t0\troot\t_\t_\n2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n")
    (tmp_path / "de_gsd.tsv").write_text("Haus\tHaus\tNOUN\n")
    assert tags.read(str(tmp_path), "en") == {"may": "AUX", "fly": "NOUN"}
    cased = tags.read(str(tmp_path), "en", Normalizer(lower_case=False))
    assert cased == {"May": "AUX", "may": "AUX", "fly": "VERB", "Fly": "NOUN"}
    assert tags.read(str(tmp_path), "fr") == {}


def test_columns_are_chosen_as_for_labelled_rows(tmp_path):
    (tmp_path / "en.tsv").write_text("X\tX\tNOUN\nten\tten\tNUM\nnum\tNUM\tNOUN\n#\t#\tSYM\n")
    assert tags.read(str(tmp_path), "en") == {"x": "NOUN", "ten": "NUM", "num": "NOUN", "#": "SYM"}
    (tmp_path / "de.tsv").write_text("1\tHaus\tNOUN\n2\tgut\tADJ\n\n1\tja\tINTJ\n")
    assert tags.read(str(tmp_path), "de") == {"haus": "NOUN", "gut": "ADJ", "ja": "INTJ"}


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="config.evals.bli.tags"):
        tags.read(str(tmp_path / "no"), "en")
    (tmp_path / "en.tsv").write_text("the cat sat\n")
    with pytest.raises(ValueError, match="en.tsv"):
        tags.read(str(tmp_path), "en")
