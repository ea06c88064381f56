"""Stamps of files."""

import subprocess
import sys

from clwe_jax.text import stamps


def test_a_stamp_tells_large_files_apart(tmp_path):
    path, content = tmp_path / "text", bytes(range(256)) * 4_096
    path.write_bytes(content)
    stamp = stamps.stamp(path)
    for other in (content + b"!", b"!" + content[1:], content[:-1] + b"!"):
        path.write_bytes(other)
        assert stamps.stamp(path) != stamp
    path.write_bytes(content)
    assert stamps.stamp(path) == stamp


def test_files_of_one_name_share_an_entry(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "de-en.txt").write_text(f"wort {folder}\n")
    paths = [str(tmp_path / folder / "de-en.txt") for folder in ("a", "b")]
    first, second = map(stamps.stamp, paths)
    assert stamps.stamps(paths + paths) == {"de-en.txt": "; ".join(sorted((first, second)))}
    assert stamps.stamps(paths, str(tmp_path)) == {"a/de-en.txt": first, "b/de-en.txt": second}


def test_stamps_need_no_tensorflow():
    code = "import sys; from clwe_jax.text import stamps; sys.exit({'tensorflow', 'seqio'} & {*sys.modules} != set())"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
