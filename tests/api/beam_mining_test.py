"""Mining by Apache Beam gives the pairs of the same process, however the texts are cut."""

import gzip

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="Apache Beam is of the extra 'beam'")

from clwe_jax import api  # noqa: E402
from clwe_jax.api import over_files  # noqa: E402
from clwe_jax.embeddings import files  # noqa: E402
from clwe_jax.embeddings.vectors import Vectors  # noqa: E402

WORDS, LINES = 60, 90


@pytest.fixture
def given(tmp_path):
    """The model, a file and a pattern of two files, and their lines; some occur twice, some are no text."""
    r = np.random.default_rng(0)
    names = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(WORDS)]
    x = r.standard_normal((WORDS, 16)).astype(np.float32)
    y = x + 0.5 * r.standard_normal(x.shape).astype(np.float32)
    for prefix, language, vectors in (("d", "de", x), ("e", "en", y)):
        files.write(str(tmp_path / f"{language}.vec"), Vectors([prefix + n for n in names], vectors))
    german, english = ([], [])
    for number in range(LINES):
        words = [names[i] for i in r.choice(WORDS, 5, replace=False)]
        german.append(" ".join("d" + word for word in words))
        others = words if number % 2 else [names[i] for i in r.choice(WORDS, 5, replace=False)]
        english.append(" ".join("e" + word for word in reversed(others)))
    (tmp_path / "a.txt").write_bytes(("\ufeff" + "\r\n".join([*german, german[3], "", " "])).encode())
    (tmp_path / "b1.txt").write_bytes("\n".join(english[:40]).encode() + b"\xff\n")
    (tmp_path / "b2.txt.gz").write_bytes(gzip.compress("\n".join(english[40:]).encode()))
    model = f"vec:de={tmp_path / 'de.vec'},en={tmp_path / 'en.vec'}"
    return model, (str(tmp_path / "a.txt"), str(tmp_path / "b*")), (german, english)


def mine(model, paths, out, *options):
    options = "--languages=de,en", f"--out={out}", "--least=1", *options
    over_files.main("mine", [f"--model={model}", *options, *paths])
    return [line.split("\t") for line in out.read_text().splitlines()]


@pytest.mark.parametrize("parts", [1, 3, 70])  # of 70 some are empty
def test_pairs_are_those_of_the_process(given, tmp_path, parts):
    model, paths, (german, english) = given
    beam = "--pipeline_options=--runner=DirectRunner"
    found = mine(model, paths, tmp_path / "pairs.tsv", beam, f"--parts={parts}")
    expected = api.load(model).mine(german, "de", english, "en", 1.0)
    assert len(expected) > 30
    assert {(a, b) for _, a, b in found} == {(german[i], english[j]) for i, j, _ in expected}
    margins = [float(margin) for margin, _, _ in found]
    assert margins == sorted(margins, reverse=True)
    np.testing.assert_allclose(margins, [margin for _, _, margin in expected], atol=1e-4)
    assert not list(tmp_path.glob("*beam_*")), "files of the job are left"


def test_a_text_without_sentences_and_a_missing_file_are_named(given, tmp_path):
    model, (path, _), _ = given
    (tmp_path / "empty.txt").write_text("\n \n")
    beam = "--pipeline_options=--runner=DirectRunner", "--parts=2"
    with pytest.raises(SystemExit, match="expected sentences in both"):
        mine(model, (path, str(tmp_path / "empty.txt")), tmp_path / "out", *beam)
    with pytest.raises(SystemExit, match="absent.txt is not a file"):
        mine(model, (path, str(tmp_path / "absent.txt")), tmp_path / "out", *beam)
    assert not list(tmp_path.glob("*beam_*"))
    with pytest.raises(SystemExit):
        over_files.main("mine", [f"--model={model}", "--languages=de,en", *beam, path, path])
