"""The BiLSTM-CRF's benchmark on our side."""

import pathlib
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("decode", [False, True])
def test_both_measurements_pass_through_all_sentences(monkeypatch, decode):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import tagger

    options = ["--dim=4", "--cells=3", "--rows=2", "--sentences=9", "--shortest=1", "--longest=9"]
    monkeypatch.setattr(sys, "argv", ["tagger.py", *options])
    args = tagger.arguments()
    given = tagger.made_up_sentences(args)
    assert [len(x) for x in given["words"]] == [len(x) for x in given["gold"]]
    assert {len(x) for x in given["words"]} <= set(range(1, 10)) and len(given["words"]) == 9
    run = tagger.our_predictions(args, given) if decode else tagger.our_epochs(args, given, 2)
    run(1)
