"""Mining by Apache Beam gives the pairs of the same process, however the texts are cut."""

import gzip
import os
import pathlib

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="Apache Beam is of the extra 'beam'")

from clwe_jax.api import over_files  # noqa: E402
from clwe_jax.embeddings import files  # noqa: E402
from clwe_jax.embeddings.vectors import Vectors  # noqa: E402

WORDS, LINES = 60, 90
BEAM = ["--pipeline_options=--runner=DirectRunner"]


@pytest.fixture
def given(tmp_path):
    """The model, a file and a pattern of two files, and their lines; some occur twice, some are no text."""
    r = np.random.default_rng(0)
    names = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(WORDS)]
    x = r.standard_normal((WORDS, 16)).astype(np.float32)
    y = x + 0.5 * r.standard_normal(x.shape).astype(np.float32)
    for prefix, language, vectors in (("d", "de", x), ("e", "en", y)):
        files.write(
            str(tmp_path / f"{language}.vec"), Vectors([prefix + n for n in names], vectors)
        )
    german, english = [], []
    for number in range(LINES):
        words = [names[i] for i in r.choice(WORDS, 5, replace=False)]
        german.append(" ".join("d" + word for word in words))
        others = words if number % 2 else [names[i] for i in r.choice(WORDS, 5, replace=False)]
        english.append(" ".join("e" + word for word in reversed(others)))
    (tmp_path / "a.txt").write_bytes(
        ("\ufeff" + "\r\n".join([*german, f" {german[3].upper()}", "", " "])).encode()
    )
    (tmp_path / "b1.txt").write_bytes("\n".join(english[:40]).encode() + b"\xff\n")
    (tmp_path / "b2.txt.gz").write_bytes(gzip.compress("\n".join(english[40:]).encode()))
    model = f"vec:de={tmp_path / 'de.vec'},en={tmp_path / 'en.vec'}"
    return model, (str(tmp_path / "a.txt"), str(tmp_path / "b*")), (german, english)


def mine(model, paths, out, *options):
    options = "--languages=de,en", f"--out={out}", "--least=1", *options
    over_files.main("mine", [f"--model={model}", *options, *paths])
    return [line.split("\t") for line in out.read_text().splitlines()]


@pytest.mark.parametrize("parts", [1, 3, 70])  # of 70 some are empty
def test_pairs_are_those_of_the_process(given, tmp_path, monkeypatch, caplog, parts):
    model, paths, (german, english) = given
    monkeypatch.chdir(tmp_path)
    names = [os.path.basename(path) for path in paths]
    found = mine(model, names, pathlib.Path("pairs [1].tsv"), *BEAM, f"--parts={parts}")
    assert "b*: 1 of 90 lines are not UTF-8" in caplog.text
    assert not list(tmp_path.glob("*beam_*")), "files of the job are left"
    (tmp_path / "c.txt").write_text("\n".join(german))
    (tmp_path / "d.txt").write_text("\n".join(english))
    expected = mine(model, ("c.txt", "d.txt"), pathlib.Path("expected.tsv"))
    assert len(expected) > 30
    clean = lambda rows: {(a.strip().lower(), b.removesuffix("\ufffd")) for _, a, b in rows}  # noqa: E731
    assert clean(found) == clean(expected)
    margins = [float(margin) for margin, _, _ in found]
    assert margins == sorted(margins, reverse=True)
    np.testing.assert_allclose(margins, [float(margin) for margin, _, _ in expected], atol=1e-4)


def test_a_text_without_sentences_and_a_missing_file_are_named(given, tmp_path):
    model, (path, _), _ = given
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(SystemExit, match="empty.txt: expected sentences"):
        mine(model, (path, str(tmp_path / "empty.txt")), tmp_path / "out", *BEAM, "--parts=2")
    with pytest.raises(SystemExit, match="absent.txt"):
        mine(model, (path, str(tmp_path / "absent.txt")), tmp_path / "out", *BEAM)
    options = "--languages=de,xx", f"--out={tmp_path / 'out'}", *BEAM
    with pytest.raises(SystemExit, match="xx"):
        over_files.main("mine", [f"--model={model}", *options, path, path])
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    "options",
    [BEAM, ["--parts=3"], [*BEAM, "--out=x", "--parts=0"]],
    ids=["no out", "no Beam", "0"],
)
def test_wrong_options_are_named(options, capsys):
    with pytest.raises(SystemExit):
        over_files.main("mine", ["--model=x", "--languages=de,en", *options, "a", "b"])
    assert "--p" in capsys.readouterr().err.splitlines()[-1]


def test_a_mark_is_one_at_the_beginning_of_a_file_alone(given, tmp_path):
    model, _, (german, english) = given
    marked = [german[0], *("\ufeff" + line for line in german[1:])]
    (tmp_path / "a.txt").write_bytes(("\ufeff" + "\n".join(marked)).encode())
    (tmp_path / "b.txt").write_text("\n".join(english))
    paths = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    found = {line[1] for line in mine(model, paths, tmp_path / "beam.tsv", *BEAM, "--parts=2")}
    expected = {line[1] for line in mine(model, paths, tmp_path / "alone.tsv")}
    assert found == expected and any(line.startswith("\ufeff") for line in found)
    assert german[0] in found or not any(german[0] in line for line in found)
