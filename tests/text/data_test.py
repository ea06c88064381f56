"""The command that fetches public data, against a server on this machine."""

import functools
import hashlib
import http.server
import io
import os
import subprocess
import sys
import tarfile
import threading
import urllib.error

import pytest

from clwe_jax.text import data, dictionary, ebible
from clwe_jax.text.corpus import download, parallel
from clwe_jax.text.labelled import folders


@pytest.fixture
def served(monkeypatch):
    """URL -> content, of what a transfer finds; appends to `served['asked']` the URLs."""
    contents, asked = {}, []

    def transfer(url, part, attempts, timeout):
        asked.append(url)
        if url not in contents:
            raise OSError(f"{url}: the server answers 404 Not Found")
        with open(part, "wb") as file:
            file.write(contents[url])

    monkeypatch.setattr(download, "_transfer", transfer)
    return contents, asked


def test_every_set_names_its_licence_and_its_options(capsys):
    with pytest.raises(SystemExit):
        data.main(["--help"])
    shown = capsys.readouterr().out
    for name, found in data.SETS.items():
        assert name in shown and found.licence in shown and "=DIR" in found.use("DIR", ["de"])


def test_the_sums_of_tatoeba_are_whole():
    lines = data._SUMS.read_text().splitlines()
    assert len(lines) == len(dict(line.split() for line in lines)) == 224
    assert all(len(line.split()[1]) == 64 for line in lines)


def test_tatoeba_is_checked_by_its_sum(served, tmp_path, capsys):
    contents, asked = served
    address = data._TATOEBA + "tatoeba.deu-eng."
    contents[address + "deu"] = contents[address + "eng"] = b"Not the test set.\n"
    with pytest.raises(SystemExit, match="differs in SHA-256(?!.*manifest)"):
        data.main(["tatoeba", "--languages=en,de", f"--out={tmp_path}"])
    assert asked == [address + "deu"] and not (tmp_path / "tatoeba.deu-eng.deu").exists()
    assert "CC BY 2.0 FR" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="has no 'xq'"):
        data.main(["tatoeba", "--languages=xq", f"--out={tmp_path}"])


@pytest.fixture
def flores(served):
    """An archive with FLORES-200's names is served."""
    names = (
        "eng_Latn zho_Hant zho_Hans als_Latn min_Arab min_Latn kmr_Latn fuv_Latn ltg_Latn".split()
    )
    files = [f"{part}/{name}.{part}" for name in names for part in ("dev", "devtest")]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        for name in [*files, "metadata_dev.tsv"]:
            member = tarfile.TarInfo(f"./flores200_dataset/{name}")
            member.size = len(name)
            file.addfile(member, io.BytesIO(name.encode()))
    served[0][data._FLORES + data._ARCHIVE] = packed.getvalue()


def test_languages_of_flores_are_found_by_any_of_their_codes(flores, tmp_path, said):
    data.main(["flores", "--languages=sq,min,ku,ff,zh_Hant", f"--out={tmp_path}"])
    there = {path.name: path.read_text() for path in tmp_path.glob("dev.*")}
    assert there == {
        "dev.sq": "dev/als_Latn.dev",
        "dev.min": "dev/min_Latn.dev",
        "dev.ku": "dev/kmr_Latn.dev",
        "dev.ff": "dev/fuv_Latn.dev",
        "dev.zh": "dev/zho_Hant.dev",
    }
    assert "ff: FLORES-200 has of it only fuv_Latn" in said.text
    other = tmp_path / "other"
    data.main(["flores", "--languages=als,min_Arab", f"--out={other}"])
    assert (other / "dev.sq").read_text() == "dev/als_Latn.dev"
    assert (other / "dev.min").read_text() == "dev/min_Arab.dev"
    assert "als: als_Latn of FLORES-200, which is called sq here" in said.text
    with pytest.raises(SystemExit, match="'lv'.*'ltg_Latn'"):
        data.main(["flores", "--languages=lv", f"--out={tmp_path}"])
    with pytest.raises(SystemExit, match="min_Latn .*min_Arab .*'min'"):
        data.main(["flores", "--languages=min,min_Arab", f"--out={tmp_path}"])


def test_flores_is_unpacked(flores, tmp_path, capsys):
    data.main(["flores", "--languages=en,zh", f"--out={tmp_path}"])
    assert (tmp_path / "dev.zh").read_text() == "dev/zho_Hans.dev"
    assert (tmp_path / "devtest.en").read_text() == "devtest/eng_Latn.devtest"
    assert f"--config.evals.retrieval.data={tmp_path}/devtest" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="has no 'de'"):
        data.main(["flores", "--languages=de", f"--out={tmp_path}"])


def test_ntrex_gets_our_names(served, tmp_path, capsys):
    contents, asked = served
    for name in ("src.eng", "ref.deu", "ref.zho-TW", "ref.kmr"):
        contents[f"{data._NTREX}newstest2019-{name}.txt"] = f"{name}\nand more\n".encode()
    data.main(["ntrex", "--languages=en,de,zh_Hant,kmr", f"--out={tmp_path}"])
    found = {path.name: path.read_text().split()[0] for path in tmp_path.glob("newstest2019.*")}
    assert found == {
        "newstest2019.en": "src.eng",
        "newstest2019.de": "ref.deu",
        "newstest2019.zh": "ref.zho-TW",
        "newstest2019.ku": "ref.kmr",
    }
    used = capsys.readouterr().out.partition("--config.evals.retrieval.data=")[2].split()[0]
    assert [x.name for x in parallel.test_pairs(used, ("de", "en"), "evals")] == ["de-en"]
    with pytest.raises(SystemExit, match="NTREX-128 has no 'kab'"):
        data.main(["ntrex", "--languages=kab", f"--out={tmp_path}"])


def test_sib200_is_found_by_the_classifier(served, tmp_path, capsys):
    contents, asked = served
    rows = {
        "train": '9\thealth\tA text,  "quoted".',
        "dev": '1\ttravel\t"A ""word""."',
        "test": "12\thealth\tC",
    }
    for name in ("eng_Latn", "kab_Latn"):
        for part, row in rows.items():
            contents[f"{data._SIB200}{name}/{part}.tsv"] = (
                f"index_id\tcategory\ttext\n{row}\n".encode()
            )
    data.main(["sib200", "--languages=kab,en", f"--out={tmp_path}"])
    assert f"--config.transfer.train=en:{tmp_path}/en.train.tsv" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.glob("*.tsv")) == [
        f"{language}.{part}.tsv" for language in ("en", "kab") for part in ("dev", "test", "train")
    ]
    pair = parallel.read(parallel.test_pairs(f"{tmp_path}/sentences", ["kab", "en"], "data")[0])
    assert pair.source == pair.target == ['A "word".', 'A text, "quoted".', "C"]
    assert folders.find(str(tmp_path)) == {
        x: str(tmp_path / f"{x}.test.tsv") for x in ("en", "kab")
    }
    asked.clear()
    data.main(["sib200", "--languages=kab,en", f"--out={tmp_path}"])
    assert not asked


def test_gatitos_is_a_dictionary(served, tmp_path, capsys):
    contents, _ = served
    for name in ("wo", "mni-Mtei", "ar-MA", "chm"):
        contents[f"{data._GATITOS}en_{name}.tsv"] = f"water\t{name}\na lot\tyu bari\n".encode()
    data.main(["gatitos", "--languages=wo,mni,ary,mhr", f"--out={tmp_path}"])
    assert f"--config.data.dictionaries={tmp_path}" in capsys.readouterr().out
    read = dictionary.load(str(tmp_path), ("en", "wo", "mni", "ary", "mhr"))
    assert read.pairs("wo", "en") == [("wo", "water"), ("yu bari", "a lot")]
    assert all(read.pairs(x, "en") for x in ("mni", "ary", "mhr"))


def test_names_of_test_sets_are_codes_of_languages():
    sets = [download.names_of(name) for name in ("sib200", "ntrex")]
    assert list(map(len, (*sets, download.names_of("gatitos")))) == [205, 122, 173]
    for wanted in "cy eu gl hy sw tt de zh".split():
        assert all(data._find_names([wanted], names, "the set") for names in sets)


def test_a_treebank_is_found_by_the_tagger(served, tmp_path, capsys):
    contents, _ = served
    base = data._UD.format("German-GSD")
    for part in ("train", "dev", "test"):
        contents[f"{base}de_gsd-ud-{part}.conllu"] = part.encode()
    contents[base + "LICENSE.txt"] = b"CC BY-SA 4.0"
    data.main(["ud", "--languages=de", f"--out={tmp_path}"])
    assert folders.find(str(tmp_path)) == {"de": str(tmp_path / "de_gsd-ud-test.conllu")}
    assert (tmp_path / "licences" / "de_gsd" / "LICENSE.txt").exists()
    # The command that it prints names a file that was fetched: of English only where English was.
    assert f"transfer.train=de:{tmp_path}/de_gsd-ud-train.conllu" in capsys.readouterr().out
    assert "=en:x/en_ewt-ud-train.conllu" in data.SETS["ud"].use("x", ["de", "en"])


def test_sets_take_any_code_of_a_language(served, tmp_path):
    contents, asked = served
    address = data._TATOEBA + "tatoeba.kur-eng."
    contents[f"{download.ADDRESS}en-tl.txt"] = b"a b\n"
    for command in ("tatoeba --languages=kmr", "muse --languages=fil", "ud --languages=deu"):
        with pytest.raises(SystemExit, match="404"):
            data.main([*command.split(), f"--out={tmp_path}"])
    assert asked[0] == address + "kur" and "German-GSD" in asked[-1]
    assert f"{download.ADDRESS}en-tl.txt" in asked


def test_muse_comes_with_its_test_words(served, tmp_path):
    contents, asked = served
    for pair in ("en-de", "de-en"):
        for end in (".txt", ".0-5000.txt", ".5000-6500.txt"):
            contents[f"{download.ADDRESS}{pair}{end}"] = b"a b\n"
    data.main(["muse", "--languages=de", f"--out={tmp_path}"])
    assert "en-de.5000-6500.txt" in os.listdir(tmp_path) and len(asked) == 6


def test_without_a_network_the_message_says_what_to_do(monkeypatch, tmp_path):
    def unreachable(*_, **__):
        import socket

        raise urllib.error.URLError(socket.gaierror(-3, "Temporary failure in name resolution"))

    monkeypatch.setattr(download.urllib.request, "urlopen", unreachable)
    with pytest.raises(SystemExit, match="put it at .*tatoeba.fra-eng.fra"):
        data.main(["tatoeba", "--languages=fr", f"--out={tmp_path}"])


def test_the_command_fetches_from_a_server_after_an_interruption(tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir(), here.mkdir()
    names = [f"tatoeba.deu-eng.{end}" for end in ("deu", "eng")]
    for name in names:
        (there / name).write_bytes(name.encode() * 9_000)
    (here / f"{names[0]}.part").write_bytes((there / names[0]).read_bytes()[:50_000])
    sums = tmp_path / "sums"
    lines = [
        f"{name} {hashlib.sha256((there / name).read_bytes()).hexdigest()}\n" for name in names
    ]
    sums.write_text("".join(lines))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=there)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        program = (
            "import pathlib, sys; from clwe_jax.text import data; "
            "data._TATOEBA, data._SUMS = sys.argv[1], pathlib.Path(sys.argv[2]); "
            "data.main(['tatoeba', '--languages=de', '--out=' + sys.argv[3]])"
        )
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        command = [sys.executable, "-c", program, address, str(sums), str(here)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        server.shutdown()
    assert done.returncode == 0 and "complete. Use it with" in done.stdout, done.stderr
    assert "WARNING" not in done.stderr and f"2/2 {address}{names[1]}" in done.stderr
    assert all((here / name).read_bytes() == (there / name).read_bytes() for name in names)
    assert not list(here.glob("*.part"))


def test_a_damaged_archive_is_named(tmp_path, capsys):
    (tmp_path / "flores200_dataset.tar.gz").write_bytes(bytes(range(256)) * 4)
    with pytest.raises(SystemExit, match="flores200_dataset.tar.gz is damaged"):
        data.main(["flores", "--languages=de", f"--out={tmp_path}"])


LICENCES = """ID\tFile\tLanguage\tDialect\tVernacular Title\tLicence Type\tLicence Version\tCopyright Holder
engBBE\tx\tEnglish\t\tBasic\tPublic Domain\t\tPublic Domain
engwebp\tx\tEnglish\t\tWorld English Bible\tPublic Domain\t\tPublic Domain
abt_maprik\tx\tAmbulas\tMaprik\t\tby-nc-nd\t4.0\tWycliffe
abt_wosera\tx\tAmbulas\tWosera\t\tby-sa\t4.0\t
"""


def test_bibles_are_fetched_with_their_licences(served, tmp_path, said, capsys):
    contents, asked = served
    contents[f"{ebible.ADDRESS}metadata/licences.tsv"] = LICENCES.encode()
    verses = {"eng-engwebp": ["In the beginning", "<range>"], "abt-abt-wosera": ["Batnyé", ""]}
    for name, lines in verses.items():
        text = "\n".join(lines) + "\n" * (41_899 - len(lines) + 1)
        contents[f"{ebible.ADDRESS}corpus/{name}.txt"] = text.encode()
    data.main(["ebible", "--languages=engwebp,abt", f"--out={tmp_path}"])
    assert "--config.data.languages=en,abt" in capsys.readouterr().out
    assert (tmp_path / "licences.tsv").read_text().splitlines()[1:] == [
        "eng-engwebp.txt\tEnglish\tWorld English Bible\tPublic Domain",
        "abt-abt-wosera.txt\tAmbulas\t\tCC BY-SA 4.0",
    ]
    assert "others are abt_maprik" in said.text
    [files] = parallel.find(str(tmp_path), ("en", "abt"), "data.pairs")
    assert files.kind == "verses"
    with pytest.raises(SystemExit, match="404"):
        data.main(["ebible", "--languages=abt_maprik", f"--out={tmp_path}"])
    assert asked[-1].endswith("corpus/abt-abt-maprik.txt")
    with pytest.raises(SystemExit, match="'xq'"):
        data.main(["ebible", "--languages=xq", f"--out={tmp_path}"])
    capsys.readouterr()
    data.main(["ebible", "--languages=list", f"--out={tmp_path}"])
    assert "abt\tabt_maprik\tAmbulas\t\tCC BY-NC-ND 4.0, Wycliffe" in capsys.readouterr().out


def test_a_named_english_bible_is_fetched(served, tmp_path):
    contents, asked = served
    table = LICENCES.replace("engBBE", "eng_bbe")
    contents[f"{ebible.ADDRESS}metadata/licences.tsv"] = table.encode()
    for wanted, file in (("eng_bbe", "eng-eng-bbe"), ("en", "eng-engwebp"), ("eng", "eng-engwebp")):
        contents[f"{ebible.ADDRESS}corpus/{file}.txt"] = b""
        data.main(["ebible", f"--languages={wanted}", f"--out={tmp_path / wanted}"])
        assert asked[-1].endswith(f"{file}.txt")


def test_the_licences_of_earlier_fetches_stay(served, tmp_path):
    contents, _ = served
    contents[f"{ebible.ADDRESS}metadata/licences.tsv"] = LICENCES.encode()
    for name in ("eng-engwebp", "abt-abt-wosera"):
        contents[f"{ebible.ADDRESS}corpus/{name}.txt"] = b""
    rows = []
    for wanted in ("abt", "en", "abt"):
        data.main(["ebible", f"--languages={wanted}", f"--out={tmp_path}"])
        lines = (tmp_path / "licences.tsv").read_text().splitlines()
        rows.append([line.partition("\t")[0] for line in lines])
    expected = ["file", "abt-abt-wosera.txt", "eng-engwebp.txt"]
    assert rows == [expected[:2], expected, expected]
