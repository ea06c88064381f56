"""Files of vectors: exact numbers, counted faults, formats of other programs, twins."""

import gzip
import io
import os
import struct
import zipfile

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import save_facebook_model

from clwe_jax.embeddings import collect, files, text_files
from clwe_jax.embeddings.vectors import Vectors

GOOD = "3 2\nhaus 1 2\nbaum 0.5 -0.25\nsee 1e-3 4\n"
PARSED = {"haus": [1, 2], "baum": [0.5, -0.25], "see": [1e-3, 4]}


def written(tmp_path, text, name="v.vec") -> str:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return str(path)


def read(path, **options) -> Vectors:
    return files.read(path, cache=False, **options)


def as_dict(vectors: Vectors) -> dict:
    return {word: row.tolist() for word, row in zip(vectors.words, vectors.vectors)}


def expected(rows: dict) -> dict:
    return {word: np.array(row, np.float32).tolist() for word, row in rows.items()}


def many(words=300, dim=7, seed=0) -> Vectors:
    random = np.random.default_rng(seed)
    numbers = random.standard_normal((words, dim)).astype(np.float32)
    numbers *= np.float32(10) ** random.integers(-30, 30, (words, 1))
    names = [f"w{i}" for i in range(words - 4)] + ["ß", "東京", '"', "it's"]
    return Vectors(names, numbers)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.partition("\n")[2],  # without a first line of numbers, as GloVe
        GOOD[:-1],  # without the last line end
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", " \n").replace("3 2 ", "3 2"),  # as fastText writes it
        GOOD.replace(" ", "\t"),
        GOOD.replace("\n", "\n\n"),
        "\ufeff" + GOOD,
    ],
    ids=["header", "bare", "open", "crlf", "trailing", "tabs", "gaps", "bom"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_text_in_all_its_forms(tmp_path, text, packed):
    data = gzip.compress(text.encode(), mtime=0) if packed else text
    vectors = read(written(tmp_path, data, "v.vec.gz" if packed else "v.vec"))
    assert as_dict(vectors) == expected(PARSED)
    assert vectors.vectors.dtype == np.float32 and not vectors.report


def test_decimals_are_rounded_correctly(tmp_path):
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 4_000, dtype=np.uint32).view(np.float32)
    bits = bits[np.isfinite(bits)]
    texts = [f"{x:.9g}" for x in bits.tolist()] + [f"{x:.4f}" for x in random.normal(size=500)]
    texts += [repr(x) for x in random.normal(size=500).tolist()]
    # Many digits, exponents of all spellings, signs, subnormals, no digit on one side.
    digits = random.integers(0, 10, (300, 30)).astype(str)
    texts += ["0." + "".join(row) for row in digits] + ["".join(row) + ".5" for row in digits]
    texts += ["-0.0", "-0", "+1.5", "1E5", "1e+05", "1e-45", "7e-46", "3.4028235e38", ".5", "5."]
    texts = texts[: len(texts) // 4 * 4]
    rows = [texts[i : i + 4] for i in range(0, len(texts), 4)]
    text = "".join(f"w{i} {' '.join(row)}\n" for i, row in enumerate(rows))
    vectors = read(written(tmp_path, text))
    oracle = {f"w{i}": np.array([float(t) for t in row]) for i, row in enumerate(rows)}
    assert len(vectors) > 1_300
    for word, found in zip(vectors.words, vectors.vectors):
        wanted = oracle[word].astype(np.float32)
        np.testing.assert_array_equal(found, wanted, err_msg=word)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted), err_msg=word)


@pytest.mark.parametrize("block", [64, 1_000])
def test_blocks_end_anywhere(tmp_path, monkeypatch, block):
    monkeypatch.setattr(text_files, "_BLOCK", block)
    lines = [f"w{i} {i} {i / 8}\n" for i in range(200)]
    lines[50] = "new york 5 6\n"
    lines[100] = "short 1\n"
    lines[150] = "\n"
    vectors = read(written(tmp_path, "200 2\n" + "".join(lines)))
    names = [f"w{i}" for i in range(200) if i not in (0, 50, 100, 150)]
    names.insert(49, "new york")
    names = [name for name in names if name != "w0"]
    assert vectors.words == names
    assert vectors.vectors[vectors.index["w199"]].tolist() == [199, 199 / 8]
    assert vectors.report["words_with_spaces"] == 1 and vectors.report["wrong_width"] == 1
    assert ":52:" in vectors.examples["words_with_spaces"]
    assert ":102: short 1" in vectors.examples["wrong_width"]


@pytest.mark.parametrize(
    "line, name",
    [
        ("haus 7 7", "duplicates"),
        ("kurz 1", "wrong_width"),
        ("lang 1.5 2 3.5", "wrong_width"),
        ("rest", "wrong_width"),
        ("wort eins zwei", "not_numbers"),
        ("wort 1_0 2", "not_numbers"),
        ("wort nan 2", "not_finite"),
        ("wort 1 -inf", "not_finite"),
        ("wort 1e39 1", "not_finite"),
        ("null 0 -0.0", "zero_vectors"),
        (" 1 2", "empty_words"),
    ],
)
def test_bad_lines_are_left_out_counted_and_shown(tmp_path, line, name):
    path = written(tmp_path, GOOD.replace("see", f"{line}\nsee"))
    vectors = read(path)
    assert as_dict(vectors) == expected(PARSED)
    assert vectors.report == {name: 1}
    assert vectors.examples[name].startswith(f"{path}:4:")


def test_a_file_that_was_changed_is_read_again(tmp_path):
    assert as_dict(read(written(tmp_path, GOOD))) == expected(PARSED)
    other = GOOD.replace("haus", "maus")
    assert read(written(tmp_path, other)).words == ["maus", "baum", "see"]


def test_words_with_spaces_and_broken_bytes_are_kept(tmp_path):
    text = GOOD.encode() + b"new york 1 1\n. . . 2 2\nm\xff 3 3\n"
    vectors = read(written(tmp_path, text))
    more = {"new york": [1, 1], ". . .": [2, 2], "m\ufffd": [3, 3]}
    assert as_dict(vectors) == expected(PARSED | more)
    assert vectors.report == {"words_with_spaces": 2, "not_utf8": 1}


def test_tiny_and_huge_numbers_are_no_zeros_or_infinities(tmp_path):
    # Their squares are, in float32.
    vectors = read(written(tmp_path, "a 1e-30 1e-30\nb 1e30 1e30\n"))
    assert vectors.words == ["a", "b"] and not vectors.report


def test_a_lone_carriage_return_ends_no_line(tmp_path):
    vectors = read(written(tmp_path, GOOD + "a\rb 1 2\nc 1 2\n"))
    assert vectors.words[-2:] == ["a\rb", "c"] and "b" not in vectors.index
    # `write` would leave it out.
    assert vectors.report == {"words_with_spaces": 1}


def test_nor_does_one_where_an_empty_line_makes_up_for_it(tmp_path):
    vectors = read(written(tmp_path, GOOD + "p 1.5 2\rq 3 4\n\n"))
    assert as_dict(vectors) == expected(PARSED) and vectors.report == {"wrong_width": 1}


@pytest.mark.parametrize("end", ["\n", " \n", "\r\n", " \r\n"])
@pytest.mark.parametrize("space", [" ", "\t"])
def test_usual_lines_are_not_taken_apart_one_by_one(tmp_path, monkeypatch, end, space):
    monkeypatch.setattr(text_files, "_by_line", lambda *_: pytest.fail("the slow way"))
    lines = GOOD.partition("\n")[2].replace(" ", space).replace("\n", end)
    assert as_dict(read(written(tmp_path, lines))) == expected(PARSED)


def test_max_vocab_counts_usable_words(tmp_path, caplog):
    path = written(tmp_path, "a 1 2\na 3 4\nb 0 0\nc 5 6\nd 7 8\n")
    assert read(path, max_vocab=2).words == ["a", "c"]
    assert read(path, max_vocab=None).words == ["a", "c", "d"]
    caplog.set_level("INFO", "absl")
    assert len(read(path, max_vocab=5)) == 3
    assert "holds 3 words, fewer than max_vocab=5" in caplog.text
    assert f"1 zero vectors (all zero, without direction; left out), first at {path}:3" in (
        caplog.text
    )


def test_a_cut_file_is_noticed(tmp_path):
    vectors = read(written(tmp_path, GOOD.replace("3 2", "9 2")))
    assert vectors.report == {"missing_words": 6}
    assert read(written(tmp_path, GOOD.replace("3 2", "9 2")), max_vocab=2).report == {}


@pytest.mark.parametrize("name", ["v.vec", "v.txt", "v.bin", "v.npz", "v.VEC"])
@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
def test_written_and_read_alike(tmp_path, name, packed):
    vectors = many()
    path = str(tmp_path / (name + packed))
    files.write(path, vectors)
    assert (tmp_path / (name + packed)).read_bytes().startswith(b"\x1f\x8b") == bool(packed)
    found = read(path)
    assert list(found.words) == vectors.words and not found.report
    np.testing.assert_array_equal(found.vectors, vectors.vectors)  # to the bit
    assert os.listdir(tmp_path) == [os.path.basename(path)]
    assert read(path, max_vocab=5).words == vectors.words[:5]


def muse_reads(path):
    """As `read_txt_embeddings` of MUSE goes through a file."""
    words, vectors = [], []
    with open(path, encoding="utf-8", newline="\n", errors="ignore") as file:
        for i, line in enumerate(file):
            if i == 0:
                count, dim = map(int, line.split())
                continue
            word, vector = line.rstrip().split(" ", 1)
            vectors.append(np.array([float(x) for x in vector.split(" ")]))
            assert len(vectors[-1]) == dim
            words.append(word)
    assert count == len(words)
    return words, np.array(vectors, np.float32)


def vecmap_reads(path):
    """As VecMap reads a file."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        count, dim = map(int, file.readline().split(" "))
        words, matrix = [], np.empty((count, dim), np.float32)
        for i in range(count):
            word, vector = file.readline().split(" ", 1)
            words.append(word)
            matrix[i] = [float(x) for x in vector.split(" ")]
    return words, matrix


def gensim_reads(path):
    found = KeyedVectors.load_word2vec_format(path, binary=path.endswith(".bin"))
    return found.index_to_key, found.vectors


@pytest.mark.parametrize(
    "reader, name",
    [
        (gensim_reads, "v.vec"),
        (gensim_reads, "v.bin"),
        (muse_reads, "v.vec"),
        (vecmap_reads, "v.txt"),
    ],
)
def test_other_tools_read_what_is_written(tmp_path, reader, name):
    vectors, path = many(), str(tmp_path / name)
    files.write(path, vectors)
    words, found = reader(path)
    assert list(words) == vectors.words
    np.testing.assert_array_equal(found, vectors.vectors)


@pytest.mark.parametrize("binary", [False, True])
def test_what_gensim_writes_is_read(tmp_path, binary):
    vectors = many()
    keyed = KeyedVectors(vectors.dim)
    keyed.add_vectors(vectors.words, vectors.vectors)
    path = str(tmp_path / ("v.bin" if binary else "v.txt"))
    keyed.save_word2vec_format(path, binary=binary)
    found = read(path)
    assert found.words == vectors.words and not found.report
    np.testing.assert_array_equal(found.vectors, vectors.vectors)
    # Binary under a name that says nothing of it.
    if binary:
        os.rename(path, tmp_path / "vectors")
        assert read(str(tmp_path / "vectors")).words == vectors.words


def test_models_of_fasttext_are_read(tmp_path):
    text = [["haus", "baum", "haus"], ["see", "haus", "baum"]] * 20
    model = FastText(text, vector_size=6, min_count=1, epochs=1, bucket=100, seed=1, workers=1)
    path = str(tmp_path / "model.bin")
    save_facebook_model(model, path)
    found = read(path)
    assert dict(zip(found.words, found.counts.tolist())) == {"haus": 60, "baum": 40, "see": 20}
    np.testing.assert_allclose(found.vectors, model.wv[list(found.words)], atol=1e-6)


def test_the_first_format_of_fasttext_is_read(tmp_path):
    text = [["haus", "baum", "haus"], ["see", "haus", "baum"]] * 20
    model = FastText(text, vector_size=6, min_count=1, epochs=1, bucket=100, seed=1, workers=1)
    save_facebook_model(model, str(tmp_path / "new.bin"))
    new = (tmp_path / "new.bin").read_bytes()
    header, rest = new[8 : 8 + 56], new[8 + 56 :]
    sizes, rest = rest[:20], rest[28:]  # without the number of pruned words
    words_end = 0
    for _ in range(3):
        words_end = rest.index(b"\0", words_end) + 10
    vectors = rest[words_end + 1 :]  # without a flag of the quantised form before each matrix
    count = 16 + 4 * 6 * int.from_bytes(vectors[:8], "little")
    old = header + sizes + rest[:words_end] + vectors[:count] + vectors[count + 1 :]
    (tmp_path / "old.bin").write_bytes(old)
    found, expected = read(str(tmp_path / "old.bin")), read(str(tmp_path / "new.bin"))
    assert found.words == expected.words
    np.testing.assert_array_equal(found.vectors, expected.vectors)


def test_an_archive_of_one_file_of_vectors_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "wiki.vec.zip", "w") as archive:
        archive.writestr("wiki.vec", GOOD)
    assert as_dict(read(str(tmp_path / "wiki.vec.zip"))) == expected(PARSED)


def archive_of(*names):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return data.getvalue()


FASTTEXT = struct.pack("<2i12id", 793_712_314, 12, 16, 5, 5, 1, 5, 1, 1, 3, 100, 2, 4, 100, 1e-4)


@pytest.mark.parametrize(
    "data, name, message",
    [
        (FASTTEXT, "lid.176.ftz", "a classifier of fastText"),
        (FASTTEXT, "lid.176.bin", "a classifier of fastText"),
        (FASTTEXT[8:], "old.bin", "a classifier of fastText"),
        (FASTTEXT.replace(b"\3\0\0\0", b"\2\0\0\0"), "v.ftz", "compressed by `fasttext quantize`"),
        (
            b"\x80\x04\x95\x8c\x16gensim.models.word2vec\x94\x8c\x08Word2Vec\x94vector_size",
            "v.model",
            r"a pickle of gensim.*gensim.models.Word2Vec.load\('.*v.model'\).wv.save_word2vec_format",
        ),
        (
            b"\x80\x04\x95\x8c\x19gensim.models.keyedvectors\x94\x8c\x0cKeyedVectors\x94vector_size",
            "v.kv",
            r"a pickle of gensim.*gensim.models.KeyedVectors.load\('.*v.kv'\).save_word2vec_format",
        ),
        (b"\x80\x03}q\0X\3\0\0\0haus", "v.pkl", "a pickle of Python"),
        (b"\x93NUMPY\1\0", "v.kv.vectors.npy", "an array of NumPy without words"),
        (b"\x89HDF\r\n", "mini.h5", "an HDF5 file"),
        (
            archive_of("glove.50d.txt", "glove.100d.txt"),
            "glove.zip",
            r"2 files \(glove.50d.txt, glove",
        ),
        (
            gzip.compress(archive_of("a.txt", "b.txt")),
            "v.npz.gz",
            "v.npz.gz is damaged or holds no",
        ),
        (archive_of("words.npy", "other.npy"), "v.npz", "v.npz is damaged or holds no vectors"),
        (b"<!DOCTYPE html><html>Not found", "wiki.vec", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "v.bin", "Git LFS"),
    ],
)
def test_files_of_other_kinds_are_named(tmp_path, data, name, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(written(tmp_path, data, name))
    assert str(tmp_path / name) in str(caught.value)


def test_white_space_in_words_is_not_written_to_text(tmp_path, caplog):
    names = ["a", "b c", "", "d\u00a0e", "f\n"]
    vectors = Vectors(names, np.arange(1, 11, dtype=np.float32).reshape(5, 2))
    path = str(tmp_path / "v.vec")
    files.write(path, vectors)
    assert as_dict(read(path)) == expected({"a": [1, 2], "d\u00a0e": [7, 8]})
    assert "3 words" in caplog.text
    files.write(str(tmp_path / "v.npz"), vectors.take([0, 1]))
    assert read(str(tmp_path / "v.npz")).words == ["a", "b c"]


def test_keys_stay_with_their_words_beside_faults(tmp_path):
    """A phrase makes a file a faulty one, whose words are collected one by one."""
    words = ["US", "new york", "gone", "US", "May", "gone"]
    keys = ["us", "new york", "gone", "other", "may", "second"]
    numbers = np.eye(6, dtype=np.float32)
    numbers[2] = 0
    kept = collect.keep_usable("file", Vectors(words, numbers, keys=keys), None)
    assert kept.words == ["US", "new york", "May", "gone"]
    assert kept.keys == ["us", "new york", "may", "second"]
    assert kept.report["zero_vectors"] == kept.report["duplicates"] == 1


def test_brought_npz_is_checked(tmp_path):
    numbers = np.array([[1, 2], [np.nan, 1], [3, 4], [0, 0]], np.float32)
    Vectors(["a", "b", "a", "c"], numbers, np.array([4, 3, 2, 1])).save(str(tmp_path / "v.npz"))
    found = read(str(tmp_path / "v.npz"))
    assert found.words == ["a"] and found.counts.tolist() == [4]
    assert found.report == {"not_finite": 1, "duplicates": 1, "zero_vectors": 1}


def test_cut_binary_file(tmp_path):
    path = str(tmp_path / "v.bin")
    files.write(path, many(50))
    whole = (tmp_path / "v.bin").read_bytes()
    (tmp_path / "v.bin").write_bytes(whole[: len(whole) // 2])
    found = read(path)
    assert 20 < len(found) < 30 and found.report == {"missing_words": 50 - len(found)}
    np.testing.assert_array_equal(found.vectors, many(50).vectors[: len(found)])


def test_a_binary_file_that_announces_more_words_than_memory_holds(tmp_path):
    path = tmp_path / "v.bin"
    path.write_bytes(b"1000000000000000000 2\nword " + np.ones(2, "<f4").tobytes())
    found = read(str(path), max_vocab=None)
    assert found.words == ["word"] and found.report == {"missing_words": 10**18 - 1}


@pytest.mark.parametrize(
    "data, name, message",
    [
        ("", "v.vec", "is empty"),
        ("3 2\n", "v.vec", "is empty"),
        ("haus house\nbaum tree\n", "v.txt", "no usable vector .*v.txt:1: haus house.*expected"),
        ("haus\nbaum\n", "v.txt", "v.txt:1: expected a word and its numbers, found 'haus'"),
        ("3 5\na 1 2\nb 3 4\n", "v.vec", "v.vec:2: expected a word and 5 numbers as .*v.vec:1"),
        ("haus 1 2\n", "v.bin", "v.bin:1: expected the number of words and the number of dim"),
        (gzip.compress(b"a 1 2\n" * 500, mtime=0)[:-30], "v.vec.gz", "v.vec.gz is damaged"),
        (
            (793_712_314).to_bytes(4, "little") + bytes(40),
            "v.bin",
            "v.bin is not a complete fastText",
        ),
    ],
)
def test_files_without_vectors_are_named(tmp_path, data, name, message):
    with pytest.raises(ValueError, match=message):
        read(written(tmp_path, data, name))


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_LONGEST_LINE", 1_000)
    monkeypatch.setattr(text_files, "_BLOCK", 512)
    with pytest.raises(ValueError, match=r"v\.txt:2"):
        read(written(tmp_path, "a 1 2\n" + "b" * 3_000, "v.txt"))


def test_bad_arguments(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.vec"):
        read(str(tmp_path / "absent.vec"))
    with pytest.raises(ValueError, match="max_vocab=0"):
        read(written(tmp_path, GOOD), max_vocab=0)
    with pytest.raises(ValueError, match=r"v\.doc: .* \.vec"):
        files.write(str(tmp_path / "v.doc"), many())
    with pytest.raises(ValueError, match=r"v\.vec\.bz2: .* plain or \.gz"):
        files.write(str(tmp_path / "v.vec.bz2"), many())


def test_the_second_read_is_the_twin(tmp_path, monkeypatch):
    path = written(tmp_path, GOOD.replace("see", "haus 7 7\nsee"))
    first = files.read(path)
    monkeypatch.setattr(files, "_read", lambda *_: pytest.fail("read again"))
    second = files.read(path)
    assert as_dict(second) == as_dict(first)
    assert second.report == first.report and second.examples == first.examples
    assert isinstance(second.vectors.base, np.memmap)


def test_the_twin_goes_by_size_time_and_max_vocab(tmp_path):
    path = written(tmp_path, GOOD)
    files.read(path)
    assert files.read(path, max_vocab=2).words == ["haus", "baum"]
    assert len(files.read(path)) == 3
    written(tmp_path, GOOD + "neu 1 1\n")
    assert files.read(path).words[-1] == "neu"
    written(tmp_path, GOOD + "alt 1 1\n")  # as long
    os.utime(path, ns=(0, 1_000_000_000))
    assert files.read(path).words[-1] == "alt"


def test_a_damaged_twin_is_made_again(tmp_path):
    path = written(tmp_path, GOOD)
    files.read(path)
    (twin,) = [name for name in os.listdir(tmp_path) if name.endswith(".npz")]
    (tmp_path / twin).write_bytes(b"PK broken")
    assert as_dict(files.read(path)) == expected(PARSED)
    assert as_dict(files.read(path)) == expected(PARSED)


def test_cache_folders(tmp_path, monkeypatch):
    path = written(tmp_path, GOOD)
    files.read(path, cache=str(tmp_path / "twins"))
    assert os.listdir(tmp_path / "twins") and sorted(os.listdir(tmp_path)) == ["twins", "v.vec"]
    # Nothing can be written beside the file: the user's cache folder.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    save = Vectors.save

    def refuses(self, where, about=None):
        if os.path.dirname(where) == str(tmp_path):
            raise PermissionError(where)
        save(self, where, about)

    monkeypatch.setattr(Vectors, "save", refuses)
    files.read(path)
    assert len(os.listdir(tmp_path / "home" / "clwe_jax")) == 1
    monkeypatch.setattr(files, "_read", lambda *_: pytest.fail("read again"))
    assert as_dict(files.read(path)) == expected(PARSED)


def test_nothing_is_written_without_a_cache(tmp_path):
    read(written(tmp_path, GOOD))
    assert os.listdir(tmp_path) == ["v.vec"]


@pytest.mark.parametrize("language", ["de", "deu", "ger", "de-AT"])
def test_words_of_conceptnet_go_by_any_code_of_their_language(tmp_path, language):
    path = written(tmp_path, "/c/de/haus_tier 1 2\n/c/en/house 3 4\n")
    assert as_dict(read(path, language=language)) == {"haus tier": [1, 2]}


@pytest.mark.parametrize(
    "data, message",
    [
        (GOOD.encode("utf-16"), "v.vec:1: not UTF-8 but UTF-16: .*iconv"),
        (GOOD.encode("utf-16-le"), "v.vec:1: not UTF-8 but UTF-16LE"),
        (GOOD.replace("\n", "\r").encode(), "v.vec:1: all lines end in a carriage return"),
        (b"\x40" + bytes(7) + b'{"words": {}}' * 9, "tensors .safetensors. without words"),
    ],
)
def test_text_that_is_not_ours_is_named(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        read(written(tmp_path, data))
