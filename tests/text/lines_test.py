"""Lines of text files: ways of compression, encodings, files that are no text."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

from backports import zstd
import pytest

from clwe_jax.text import lines, unpacking

TEXT = "ünf Wörter sind hier\nund noch eine Zeile\n"


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


PACKED = {
    "gz": gzip.compress(TEXT.encode()),
    "bz2": bz2.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
    "zst": zstd.compress(TEXT.encode()),
    "zip": zip_of({"a/b.txt": TEXT, "__MACOSX/b.txt": "x"}),
    "txt": TEXT.encode(),
}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("ending", PACKED)
def test_the_content_decides_and_not_the_name(tmp_path, packed, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(PACKED[packed])
    assert list(lines.iterate_lines(str(path))) == TEXT.splitlines()
    assert lines.read_lines(str(path)) == list(enumerate(TEXT.splitlines(), 1))


@pytest.mark.parametrize("packed", ["gz", "bz2", "xz", "zst"])
def test_a_cut_file_is_named(tmp_path, packed):
    path = tmp_path / f"de.txt.{packed}"
    whole = TEXT * 5_000
    data = {
        "gz": gzip.compress(whole.encode()),
        "bz2": bz2.compress(whole.encode()),
        "xz": lzma.compress(whole.encode()),
        "zst": zstd.compress(whole.encode()),
    }[packed]
    path.write_bytes(data[:-8])
    with pytest.raises(ValueError, match=rf"de.txt.{packed} .*: fetch it again"):
        lines.read_text(str(path))


@pytest.mark.parametrize(
    "data, message",
    [
        (zip_of({"a.txt": "x", "b.txt": "y"}), r"zip archive of 2 files \(a.txt, b.txt\): .*unzip"),
        (zip_of({}), "an empty zip archive"),
        (zip_of({"[Content_Types].xml": "x", "xl/a": "y"}), "a document of an office program"),
        (gzip.compress(zip_of({"a.txt": "x"})), "a zip archive within"),
        (tar_of({"a.txt": b"x"}), "a tar archive: unpack it with `tar -xf"),
        (gzip.compress(tar_of({"a.txt": b"x"})), "a tar archive: unpack it with `tar -xf"),
        (b"7z\xbc\xaf\x27\x1c\0\0", "7z x"),
        (b"%PDF-1.4\n", "pdftotext"),
        (b"\x80\x04\x95\n}.", "a pickle"),
        (b"\n<!DOCTYPE html>\n<html>404", "a web page"),
        (bytes(5_000), "null bytes"),
        (b"SQLite format 3\0", "SQLite"),
    ],
    # Packed data have the time in them: as a name, two processes would know other tests.
    ids=lambda value: value if isinstance(value, str) else "data",
)
def test_other_files_are_named_and_what_to_do(tmp_path, data, message):
    path = tmp_path / "en.txt"
    path.write_bytes(data)
    for read in (lines.read_text, lambda x: list(lines.iterate_lines(x))):
        with pytest.raises(ValueError, match=rf"en.txt is .*{message}"):
            read(str(path))


def test_a_damaged_zip_archive_is_named(tmp_path):
    path = tmp_path / "en.zip"
    path.write_bytes(PACKED["zip"][:60])
    with pytest.raises(ValueError, match="en.zip is damaged"):
        unpacking.list_members(str(path))


# Text of each encoding, with the names that fit.
ENCODED = [
    ("Він сказав, що завтра буде дощ, а ми все одно підемо до міста.", "cp1251", "WINDOWS-1251"),
    ("Она пришла домой поздно вечером и сразу легла спать.", "koi8-r", "KOI8-U"),
    ("Она пришла домой поздно вечером и сразу легла спать.", "cp866", "CP866"),
    ("Über die Brücke gehen wir zu den schönen Häusern.", "latin-1", "WINDOWS-1252"),
    ("L'été dernier nous avons mangé des pâtes à côté.", "latin-1", "WINDOWS-1252"),
    ("Zażółć gęślą jaźń, proszę pani, jutro będzie śnieg.", "cp1250", "WINDOWS-1250"),
    ("Αύριο θα πάμε στην Αθήνα, ο καιρός είναι καλός.", "cp1253", "WINDOWS-1253"),
    ("我们明天去北京看朋友,天气很好。今天下雨了。", "gb18030", "GB18030"),
    ("我們明天去台北看朋友,天氣很好。今天下雨了。", "big5", "BIG5"),
    ("私は明日東京へ行きます。天気がいいですね。", "euc-jp", "EUC-JP"),
    ("私は明日東京へ行きます。天気がいいですね。", "shift_jis", "CP932"),
    ("나는 내일 서울에 갑니다. 날씨가 좋네요.", "euc-kr", "CP949"),
    ("سنذهب غدا إلى القاهرة، الطقس جميل.", "cp1256", "WINDOWS-1256"),
]


@pytest.mark.parametrize("text, encoding, name", ENCODED)
def test_another_encoding_is_named(tmp_path, text, encoding, name):
    path = tmp_path / "x.txt"
    path.write_bytes(b"plain\n" + f"{text}\n".encode(encoding) * 9)
    message = rf"x.txt:2: not UTF-8 .*`iconv -f {name} -t UTF-8"
    with pytest.raises(ValueError, match=message):
        list(lines.iterate_lines(str(path)))
    with pytest.raises(ValueError, match=message):
        lines.read_text(str(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_wide_letters_are_named(tmp_path, encoding):
    path = tmp_path / "x.txt"
    path.write_bytes("plain text\nof two lines\n".encode(encoding))
    with pytest.raises(ValueError, match=f"x.txt:1: not UTF-8 but {encoding[:6].upper()}"):
        list(lines.iterate_lines(str(path)))


def test_a_fifth_of_bad_lines_ends_the_reading(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"gut\n" * 41 + b"sch\xf6n\n" * 10)
    counts = lines.LineCounts()
    assert list(lines.iterate_lines(str(path), counts))[-1] == "sch\ufffdn"
    assert counts.describe_repairs("in de") == {"lines in de that are not UTF-8": 10}
    path.write_bytes(b"gut\n" * 40 + b"sch\xf6n\n" * 10)
    with pytest.raises(ValueError, match="x.txt:41: not UTF-8 .10 of the first 50 lines"):
        list(lines.iterate_lines(str(path)))


def test_a_part_of_few_lines_does_not_show_the_encoding(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"sch\xf6n\n" + b"gut\n" * 500)
    counts = lines.LineCounts()
    blocks = list(lines.iterate_blocks(str(path), counts, limit=8))
    assert sum(blocks, []) == ["sch\ufffdn", "gut"] and counts.repaired_lines == 1
    path.write_bytes(b"sch\xf6n " * 300_000 + b"\n" + b"gut\n" * 500)  # longer than a block
    assert len(list(lines.iterate_lines(str(path)))) == 501
    path.write_bytes(b"sch\xf6n\n" + b"gut\n")
    with pytest.raises(ValueError, match="1 of the first 2 lines"):
        next(lines.iterate_lines(str(path)))


def test_the_command_unpacks_what_it_converts(tmp_path):
    path = tmp_path / "x.txt.xz"
    path.write_bytes(lzma.compress("schöne Häuser\n".encode("latin-1")))
    with pytest.raises(ValueError, match=r"`xzcat .*x.txt.xz \| iconv .* > .*x.txt`"):
        list(lines.iterate_lines(str(path)))


def test_a_copy_for_programs_that_read_gzip_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    same = {"a.txt": PACKED["txt"], "a.txt.gz": PACKED["gz"]}
    other = {"b.txt.xz": PACKED["xz"], "c.txt.gz": PACKED["txt"], "d.txt": PACKED["gz"]}
    for name, data in {**same, **other}.items():
        path = tmp_path / name
        path.write_bytes(data)
        copy = unpacking.unpacked_copy(str(path))
        assert (copy == str(path)) == (name in same)
        if name in other:
            with open(copy, encoding="utf-8") as file:
                assert file.read() == TEXT
            assert unpacking.unpacked_copy(str(path)) == copy


def test_lines_that_end_in_carriage_returns_are_named(tmp_path):
    path = tmp_path / "en.txt"
    path.write_bytes(b"one\rtwo\rthree\r")
    for read in (lines.read_text, lambda x: list(lines.iterate_lines(x))):
        with pytest.raises(ValueError, match=r"en.txt:1: all lines end in a carriage .*`tr '"):
            read(str(path))
