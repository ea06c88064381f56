"""Test dictionaries: lines that are no pair."""

import pytest

from clwe_jax import options
from clwe_jax.options.compare import CompareRun
from clwe_jax.text.dictionary import compared_words, pair_files, test_dictionaries
from clwe_jax.text.words.normalize import Normalizer


def read(path, text):
    path.write_text(text, encoding="utf-8")
    return test_dictionaries.read(pair_files.parse_name(str(path)), Normalizer())


def test_a_word_of_no_characters_is_no_test_word(tmp_path, said):
    path = tmp_path / "de-en.5000-6500.txt"
    test = read(path, "Haus house\n\u00ad z\nBaum \u00ad\nBaum tree\nTor\n")
    assert test.entries == {"haus": {"house"}, "baum": {"tree"}}
    assert f"{path}: 3 lines skipped: line 5: expected 2 columns" in said.text
    assert r"'\xad z'" in said.text and r"'Baum \xad'" in said.text
    with pytest.raises(ValueError, match="holds no pairs"):
        read(path, "\u00ad z\n")


def test_a_comparison_finds_the_test_words_of_several_folders(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "de-en.5000-6500.txt").write_text("Haus house\n")
    places = f"{tmp_path / 'whole'},{tmp_path / 'parts'}"
    values = {"data.source": "text:corpus", "data.languages": "de,en", "data.dictionaries": places}
    config = compared_words.adopt_options(options.with_values(CompareRun(), values))
    assert config.evals["bli"].data == str(tmp_path / "parts")
