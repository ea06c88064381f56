"""The downloader, against a server on this machine."""

import dataclasses
import functools
import hashlib
import http.server
import json
import os
import threading

import pytest

from clwe_jax.text import data as public_data
from clwe_jax.text import dictionary
from clwe_jax.text.corpus import download
from clwe_jax.text.dictionary import wiktionary

FILES = {
    "/d/en-de.txt": b"".join(b"word%d wort%d\n" % (i, i) for i in range(20_000)),
    "/d/de-en.txt": b"eins one\n",
    "/d/de-en.0-5000.txt": b"zwei two\n",
    "/d/de-en.5000-6500.txt": b"drei three\n",
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves FILES with ranges; the class attributes choose its misbehaviour."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get("Range")))
        if self.path not in FILES:
            self.send_error(404)
            return
        if self.server.failures:
            self.server.failures -= 1
            self.send_error(503)
            return
        data, status, start = FILES[self.path], 200, 0
        asked = self.headers.get("Range")
        if asked and self.server.ranges:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status = 206
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) - start))
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        body = data[start:]
        if self.server.cuts:
            self.server.cuts -= 1
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.failures, server.cuts, server.ranges = [], 0, 0, True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    server.address = f"http://127.0.0.1:{server.server_address[1]}/d/"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(server, directory, pairs=("en-de",), **options):
    return download.download(str(directory), pairs, address=server.address, timeout=10, **options)


def assert_whole(directory, *names):
    manifest = json.loads((directory / "manifest.json").read_text())
    for name in names:
        data = FILES["/d/" + name]
        assert (directory / name).read_bytes() == data
        assert manifest[name] == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert not [name for name in os.listdir(directory) if name.endswith((".part", ".tmp"))]


def test_the_public_list():
    assert len(download.PAIRS) == len(set(download.PAIRS)) == 108
    assert len({language for pair in download.PAIRS for language in pair.split("-")}) == 45
    assert {"de-fr", "en-zh", "zh-en"} <= set(download.PAIRS)


def test_fetches_and_does_not_fetch_again(server, tmp_path):
    names = fetch(server, tmp_path, ("en-de", "de-en"))
    assert names == ["en-de.txt", "de-en.txt"]
    assert_whole(tmp_path, *names)
    assert fetch(server, tmp_path, ("en-de", "de-en")) == names
    assert len(server.requests) == 2


def test_splits(server, tmp_path):
    names = fetch(server, tmp_path, ("de-en",), splits=True)
    assert len(names) == 3
    assert_whole(tmp_path, *names)


def test_an_interrupted_transfer_continues_where_it_stopped(server, tmp_path):
    server.cuts = 2
    fetch(server, tmp_path)
    assert_whole(tmp_path, "en-de.txt")
    whole = len(FILES["/d/en-de.txt"])
    assert [r for _, r in server.requests] == [
        None,
        f"bytes={whole // 2}-",
        f"bytes={whole // 2 + (whole - whole // 2) // 2}-",
    ]


def test_the_next_call_continues(server, tmp_path):
    server.cuts = 1
    with pytest.raises(OSError, match="1 attempts failed, the last with: got .* again"):
        fetch(server, tmp_path, attempts=1)
    assert os.listdir(tmp_path) == ["en-de.txt.part"]
    fetch(server, tmp_path)
    assert_whole(tmp_path, "en-de.txt")
    assert server.requests[1][1] is not None


def test_starts_over_where_the_server_knows_no_ranges(server, tmp_path):
    server.cuts, server.ranges = 1, False
    fetch(server, tmp_path)
    assert_whole(tmp_path, "en-de.txt")


@pytest.mark.parametrize("extra", [b"", b"too much"])
def test_a_whole_or_overlong_part(server, tmp_path, extra):
    (tmp_path / "en-de.txt.part").write_bytes(FILES["/d/en-de.txt"] + extra)
    fetch(server, tmp_path)
    assert_whole(tmp_path, "en-de.txt")


def test_tries_again_when_the_server_is_busy(server, tmp_path):
    server.failures = 3
    fetch(server, tmp_path)
    assert_whole(tmp_path, "en-de.txt")


def test_absent_on_the_server(server, tmp_path):
    with pytest.raises(OSError, match="xx-yy.txt: .*404"):
        fetch(server, tmp_path, ("xx-yy",))
    assert len(server.requests) == 1


def test_sha256_is_checked_against_the_manifest(server, tmp_path):
    good = FILES["/d/de-en.txt"]
    known = {"size": len(good), "sha256": hashlib.sha256(b"another").hexdigest()}
    (tmp_path / "manifest.json").write_text(json.dumps({"de-en.txt": known}))
    with pytest.raises(ValueError, match="SHA-256 .*manifest.json"):
        fetch(server, tmp_path, ("de-en",))
    assert not (tmp_path / "de-en.txt").exists() and not (tmp_path / "de-en.txt.part").exists()


def test_a_file_that_was_damaged_is_fetched_again(server, tmp_path):
    fetch(server, tmp_path)
    path = tmp_path / "en-de.txt"
    path.write_bytes(path.read_bytes().replace(b"word7 ", b"w0rd7 "))
    fetch(server, tmp_path)
    assert_whole(tmp_path, "en-de.txt")


def wiktionary_files():
    return {
        "/d/upper%20sorbian.txt": (
            "House\tDom\nice cream\tzymny lód\nhouse\tdom\none line here\nmany words are too many\tx\n"
            "link\t[[wótkaz]]\ngood day\tdobry dźeń\n-\t!\n"
        ).encode("utf-8"),
        "/d/welsh.txt": "cafe\u0301\tcaffi\n".encode("utf-8"),
    }


def test_wiktionary_is_cleaned_and_read_beside_another_dictionary(server, tmp_path, monkeypatch):
    for name, data in wiktionary_files().items():
        monkeypatch.setitem(FILES, name, data)
    found = wiktionary.download_languages(
        str(tmp_path), ["hsb", "cy"], address=server.address, timeout=10
    )
    assert found == {"hsb": (3, 5), "cy": (1, 0)}
    assert (tmp_path / "en-hsb.wiktionary.txt").read_text("utf-8") == (
        "house\tdom\nice cream\tzymny lód\ngood day\tdobry dźeń\n"
    )
    assert (tmp_path / "en-cy.wiktionary.txt").read_text("utf-8") == "cafe\u0301\tcaffi\n"
    (tmp_path / "en-hsb.txt").write_text("house dom\ncat kóčka\n", "utf-8")
    (tmp_path / "en-hsb.5000-6500.txt").write_text("dog pos\n", "utf-8")
    merged = dictionary.load(str(tmp_path), ["en", "hsb"])
    assert set(merged.pairs("en", "hsb")) == {
        ("house", "dom"),
        ("cat", "kóčka"),
        ("ice cream", "zymny lód"),
        ("good day", "dobry dźeń"),
    }
    asked = len(server.requests)
    wiktionary.download_languages(str(tmp_path), ["hsb"], address=server.address, timeout=10)
    assert len(server.requests) == asked


def test_a_language_without_a_name_says_how_to_name_its_file(server, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="xyz: .*hsb:upper_sorbian"):
        wiktionary.download_languages(str(tmp_path), ["xyz"], address=server.address)
    monkeypatch.setitem(FILES, "/d/some%20language.txt", b"one\tuno\n")
    wiktionary.download_languages(
        str(tmp_path), ["xyz:some_language"], address=server.address, timeout=10
    )
    assert (tmp_path / "en-xyz.wiktionary.txt").read_bytes() == b"one\tuno\n"


def test_the_command_fetches_wiktionary(server, tmp_path, monkeypatch, capsys):
    for name, data in wiktionary_files().items():
        monkeypatch.setitem(FILES, name, data)
    fetch_all = functools.partial(wiktionary.download_languages, address=server.address)
    served = dataclasses.replace(public_data.SETS["wiktionary"], fetch=fetch_all)
    monkeypatch.setitem(public_data.SETS, "wiktionary", served)
    public_data.main(["wiktionary", "--languages=cy", f"--out={tmp_path}"])
    assert (tmp_path / "en-cy.wiktionary.txt").read_text("utf-8") == "cafe\u0301\tcaffi\n"
    assert f"--config.data.dictionaries={tmp_path}" in capsys.readouterr().out
