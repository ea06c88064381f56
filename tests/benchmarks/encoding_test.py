"""The benchmark of encode on this side."""

import json
import pathlib
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("size", [("--words=9", "--dim=4"), ("--layers=1", "--dim=32")])
def test_all_sentences_are_encoded_and_a_record_is_left(monkeypatch, tmp_path, size):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import encoding

    (tmp_path / "text").write_text("A house.\nThe house is red.\n\nLater lines are left out.\n")
    monkeypatch.chdir(tmp_path)
    given = ["--text=text", "--sentences=3", *size, "--rounds=2"]
    monkeypatch.setattr(sys, "argv", ["encoding.py", *given])
    encoding.main()
    [path] = tmp_path.glob("runs/benchmarks/*/record.json")
    record = json.loads(path.read_text())
    assert min(record["figures"]["clwe_jax, sentences/s"]) > 0
    lines = encoding.peer_encoding.lines_of("text", 3)
    assert lines == ["A house.", "The house is red.", ""]
    normalizer = encoding.Normalizer()
    counts = encoding.counts_of(lines, normalizer)
    make, _ = encoding.static(counts, normalizer, 9, 4, "model2vec")
    found = make().vectors("en")
    assert (
        len(found) == 9 and {"house", "red", "."} <= set(found.words) and "later" not in found.words
    )
