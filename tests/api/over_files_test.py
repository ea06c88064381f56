"""The commands over files give what the methods of a model give, line by line."""

import gzip
import io
import os
import pathlib
import stat
import subprocess
import sys

import numpy as np
import pytest

from clwe_jax import api
from clwe_jax.api import over_files
from clwe_jax.embeddings import files
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.corpus import parallel

WORDS = 30


@pytest.fixture
def model(tmp_path):
    """Files of vectors of two languages, in which word n translates word n."""
    x = np.random.default_rng(0).standard_normal((WORDS, 16)).astype(np.float32)
    for prefix, language in (("d", "de"), ("e", "en")):
        files.write(str(tmp_path / f"{language}.vec"), Vectors(names(prefix), x))
    return f"vec:de={tmp_path / 'de.vec'},en={tmp_path / 'en.vec'}"


def names(prefix):
    return [prefix + chr(97 + i // 26) + chr(97 + i % 26) for i in range(WORDS)]


@pytest.fixture
def texts(tmp_path):
    """A German and an English file, the words of whose lines are in other orders; line 3 is empty."""
    r = np.random.default_rng(1)
    orders = [r.permutation(WORDS)[:5] for _ in range(40)]
    orders[3] = orders[3][:0]
    lines = [[" ".join(names(x)[i] for i in order) for order in orders] for x in "de"]
    lines[1] = [" ".join(reversed(line.split())) for line in lines[1]]
    (tmp_path / "a.txt").write_text("\n".join(lines[0]) + "\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(("\n".join(lines[1])).encode()))
    return (str(tmp_path / "a.txt"), str(tmp_path / "b.txt.gz")), lines


def run(command, *arguments, capsys):
    over_files.main(command, arguments)
    return capsys.readouterr().out


def test_words_are_linked_line_by_line(model, texts, tmp_path, capsys, monkeypatch):
    paths, (left, right) = texts
    monkeypatch.setattr(over_files, "_AT_ONCE", 7)  # several parts, the last one shorter
    out = run("align", f"--model={model}", "--languages=de,en", *paths, capsys=capsys)
    found = out.split("\n")
    assert len(found) == 41 and found[3] == found[40] == ""
    assert set(found[0].split()) == {"0-4", "1-3", "2-2", "3-1", "4-0"}
    loaded = api.load(model)
    for line, a, b in zip(found, left, right):
        links = loaded.align(a, b, "de", "en")
        assert line == " ".join(f"{x.source_place}-{x.target_place}" for x in links)
    out_file = str(tmp_path / "links")
    assert not run(
        "align", f"--model={model}", "--languages=de,en", f"--out={out_file}", *paths, capsys=capsys
    )
    assert open(out_file).read() == out


def test_links_number_the_tokens_between_spaces(tmp_path, capsys):
    """'e-mail' and "don't" are one token each, whatever words the model finds in them."""
    names = ["i", "don", "'", "t", "e", "-", "mail", "3", ",", "5", "house", "%"]
    rows = np.eye(len(names), 16, dtype=np.float32)
    for language in ("de", "en"):
        files.write(str(tmp_path / f"{language}.vec"), Vectors(names, rows))
    model = f"--model=vec:de={tmp_path / 'de.vec'},en={tmp_path / 'en.vec'}"
    (tmp_path / "a").write_text("e-mail 3,5 % house\n\n")
    (tmp_path / "b").write_text("house % 3.5 e-mail\n\n")
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    out = run("align", model, "--languages=de,en", *paths, capsys=capsys)
    assert out == "0-3 1-2 2-1 3-0\n\n"
    out = run("align", model, "--languages=de,en", "--words=own", *paths, capsys=capsys)
    links, source, target = out.split("\n")[0].split("\t")
    assert source.split(" ") == ["e", "-", "mail", "3", ",", "5", "%", "house"]
    assert target.split(" ") == ["house", "%", "3", ".", "5", "e", "-", "mail"]
    for link in links.split(" "):
        i, j = map(int, link.split("-"))
        assert source.split(" ")[i] == target.split(" ")[j]
    assert out.split("\n")[1] == "\t\t"


def test_given_words_have_the_links_of_those_between_spaces(model):
    loaded = api.load(model)
    texts = "daa,dab dac dad", "eac ead eab"
    expected = loaded.align(*texts, "de", "en", words="spaces")
    assert {(x.source, x.target) for x in expected} > {("daa,dab", "eab"), ("dac", "eac")}
    for sides in (map(str.split, texts), (texts[0], tuple(texts[1].split()))):
        assert loaded.align(*sides, "de", "en", words="spaces") == expected
    # A word with a space is one, as it is given.
    [link] = loaded.align(["daa dab"], ["eab"], "de", "en", words="spaces")
    assert link.source == "daa dab"


def test_text_without_spaces_is_named(model, tmp_path, capsys, caplog):
    (tmp_path / "zh.txt").write_text("我去银行取钱然后回家吃饭。\n" * 3)
    (tmp_path / "en.txt").write_text("ea\n" * 3)
    paths = [str(tmp_path / "zh.txt"), str(tmp_path / "en.txt")]
    run("align", f"--model={model}", "--languages=de,en", *paths, capsys=capsys)
    assert (
        "zh.txt: " in caplog.text and "--words=own" in caplog.text and "en.txt" not in caplog.text
    )


def test_translations_are_found(model, texts, capsys):
    paths, (left, right) = texts
    out = run(
        "mine", f"--model={model}", "--languages=de,en", "--least=1.01", *paths, capsys=capsys
    )
    rows = [line.split("\t") for line in out.splitlines()]
    assert len(rows) > 30 and all(float(margin) >= 1.01 for margin, _, _ in rows)
    assert {(a, b) for _, a, b in rows} <= set(zip(left, right))
    assert [float(x) for x, *_ in rows] == sorted((float(x) for x, *_ in rows), reverse=True)


def test_equal_lines_of_a_file_count_once(model, texts, tmp_path, capsys):
    (first, second), (left, right) = texts
    options = ["mine", f"--model={model}", "--languages=de,en", "--least=1.01"]
    once = run(*options, first, second, capsys=capsys)
    copies = str(tmp_path / "copies.txt")
    # Copies differ in white space, and in case.
    lines = [*left, *left[:9], *(f" {line.upper()}\t" for line in left[:9]), *left[:9] * 5]
    (tmp_path / "copies.txt").write_text("\n".join(lines))
    assert run(*options, copies, second, capsys=capsys) == once and len(once.split("\n")) > 30


@pytest.mark.parametrize("command", ["align", "mine", "tag"])
def test_another_encoding_is_named(model, command, texts, tmp_path, capsys, monkeypatch):
    path = tmp_path / "uk.txt"
    path.write_bytes("Він прийшов додому пізно ввечері.\n".encode("cp1251") * 41)
    files = [str(path)] if command == "tag" else [str(path), texts[0][1]]
    languages = "--languages=de" if command == "tag" else "--languages=de,en"
    with pytest.raises(SystemExit, match="uk.txt:1: not UTF-8 .*iconv -f WINDOWS-1251"):
        run(command, f"--model={model}", languages, *files, capsys=capsys)


def test_words_are_labelled(texts, capsys, monkeypatch):
    class Tagger:
        def tag(self, lines, lang):
            assert lang == "de" and len(lines) <= 7
            return [[(word, word[-1].upper()) for word in line] for line in lines]

    monkeypatch.setattr(over_files, "_AT_ONCE", 7)
    monkeypatch.setattr(over_files.api, "load", lambda *a, **k: Tagger())
    paths, (left, _) = texts
    out = run("tag", "--model=run", "--languages=de", paths[0], capsys=capsys)
    sentences = out.removesuffix("\n").split("\n\n")
    first = left[0].split()
    assert sentences[0] == "\n".join(f"{word}\t{word[-1].upper()}" for word in first)
    assert (
        out.count("\n\n") >= 39
        and io.StringIO(out).readline() == f"{first[0]}\t{first[0][-1].upper()}\n"
    )


def test_files_that_do_not_fit_are_named(model, texts, tmp_path, capsys):
    (tmp_path / "short.txt").write_text("ea eb\n")
    short = str(tmp_path / "short.txt")
    with pytest.raises(SystemExit, match="short.txt .* 1 lines"):
        run("align", f"--model={model}", "--languages=de,en", texts[0][0], short, capsys=capsys)
    with pytest.raises(SystemExit, match="2"):
        run("align", f"--model={model}", "--languages=de,en", "nowhere", short, capsys=capsys)
    assert "nowhere" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("tag", "--model=x", "--languages=de,en", short, capsys=capsys)
    assert "--languages=de,en: expected 1" in capsys.readouterr().err
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(SystemExit, match="empty.txt: expected sentences"):
        run(
            "mine",
            f"--model={model}",
            "--languages=de,en",
            short,
            str(tmp_path / "empty.txt"),
            capsys=capsys,
        )


def test_a_pipe_is_written_and_stays_one(model, texts, tmp_path, capsys):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    run("align", f"--model={model}", "--languages=de,en", f"--out={pipe}", *texts[0], capsys=capsys)
    read = os.read(reader, 1 << 16)
    os.close(reader)
    assert read.count(b"\n") == 40 and stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_a_warning_is_a_plain_line(model, texts, tmp_path):
    (tmp_path / "unknown.txt").write_text("qq\n")
    command = ["mine", f"--model={model}", "--languages=de,en", "unknown.txt", "unknown.txt"]
    done = subprocess.run(
        [sys.executable, "-m", "clwe_jax", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2])},
    )
    assert done.stderr.splitlines()[-1].startswith("warning: ") and "unknown.txt" in done.stderr


def test_what_is_wrong_is_said_before_the_model_is_loaded(texts, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(api, "load", lambda *_, **__: pytest.fail("loaded"))
    (path, _), least = texts[0], "--least=nan"
    given = ["--model=vec:de=x,en=y", "--languages=de,en"]
    for arguments, said in (
        ([*given, path, str(tmp_path / "nowhere.txt")], "nowhere.txt is not a file"),
        ([*given, path, path, f"--out={tmp_path / 'no' / 'pairs'}"], "there is no folder"),
        ([*given, path, path, least], "expected a number"),
        ([*given, path, path, f"--out={tmp_path}"], "is a folder"),
        (
            [*given, path, texts[0][1], f"--out={tmp_path}/./a.txt"],
            "would take the place of the text",
        ),
    ):
        with pytest.raises(SystemExit):
            over_files.main("mine", arguments)
        assert said in capsys.readouterr().err


def test_the_texts_are_kept_from_the_result_of_beam(texts, tmp_path, capsys, monkeypatch):
    """As without Beam; the names of the texts may be patterns, and all of them lie in a bucket."""
    monkeypatch.setattr(over_files, "_mine_by_beam", lambda _: pytest.fail("mined"))
    options = ["--model=x", "--languages=de,en", "--pipeline_options=--runner=DirectRunner"]
    pattern, bucket = f"{tmp_path}/*.t*", "gs://texts/de.txt"
    (tmp_path / "folder.t").mkdir()
    for out, said in (
        (f"{tmp_path}/./a.txt", "would take the place of the text"),
        (bucket, "would take the place of the text"),
        (str(tmp_path), "is a folder"),
        (f"{tmp_path}/no/pairs", "there is no folder"),
    ):
        with pytest.raises(SystemExit):
            over_files.main("mine", [*options, pattern, bucket, f"--out={out}"])
        assert said in capsys.readouterr().err
    monkeypatch.setattr(over_files, "_mine_by_beam", lambda _: None)
    for out in (f"{tmp_path}/pairs", "gs://pairs/de-en.tsv"):
        over_files.main("mine", [*options, pattern, bucket, f"--out={out}"])


def test_nothing_found_and_bad_bytes_are_said(model, texts, tmp_path, capsys, said):
    strange = tmp_path / "strange.txt"
    strange.write_bytes("caf\xe9 na\xefve\n1\n2\n3\n4\n5\n".encode("latin-1"))
    assert not run(
        "mine", f"--model={model}", "--languages=de,en", str(strange), texts[0][1], capsys=capsys
    )
    assert "strange.txt: 1 of 6 lines are not UTF-8" in said.text and "Nothing" in said.text


def test_the_module_imports_no_jax(run_python):
    """`compiled.keep` sets the folder of compiled programs before jax is imported."""
    run_python("-c", "import sys, clwe_jax.api.over_files; assert 'jax' not in sys.modules")


def test_documents_are_aligned(model, tmp_path, capsys):
    """Line 2 is added, lines 4 and 5 are one line on the other side, and an empty line counts in numbers."""
    r = np.random.default_rng(2)
    rows = [r.permutation(WORDS)[:6] for _ in range(12)]
    german, english = ([" ".join(names(prefix)[i] for i in row) for row in rows] for prefix in "de")
    english = [english[0], "", *english[2:3], f"{english[3]} {english[4]}", *english[5:]]
    for name, lines in (("a", german), ("b", english)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    out = tmp_path / "de-en.tsv"
    arguments = (f"--model={model}", "--languages=de,en", f"--out={out}")
    run("align-documents", *arguments, str(tmp_path / "a"), str(tmp_path / "b"), capsys=capsys)
    found = [line.split("\t") for line in out.read_text().splitlines()]
    assert [x[3] for x in found] == ["1:1", "3:3", "4-5:4", *(f"{i}:{i - 1}" for i in range(6, 13))]
    assert found[2][:2] == [f"{german[3]} {german[4]}", english[3]]
    assert all(0.9 < float(x[2]) <= 1 for x in found)
    [files] = parallel.find(str(tmp_path), ("de", "en"), "data.pairs")
    assert parallel.read(files).target == [x[1] for x in found]
