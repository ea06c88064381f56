"""Who brings data of their own meets nothing of the embedded world: languages that it lacks."""

import dataclasses
import importlib.util
import pathlib
import re
import sys

import numpy as np
import pytest

from clwe_jax import options, pocket
from clwe_jax.options import shipped
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.static import StaticRun
from clwe_jax.runs import inputs
from clwe_jax.static import job as static_job
from clwe_jax.text.corpus import clcr_files

ROOT = pathlib.Path(__file__).resolve().parents[1]
_SPEC = importlib.util.spec_from_file_location("guides_test", ROOT / "tests" / "guides_test.py")
guides = importlib.util.module_from_spec(_SPEC)
sys.modules.setdefault("guides_test", guides)
_SPEC.loader.exec_module(guides)

SOURCE, TARGET = "uk", "it"
WORDS = {
    SOURCE: [f"слово{chr(1072 + i)}{chr(1072 + j)}" for i in range(12) for j in range(12)],
    TARGET: [f"parola{chr(97 + i)}{chr(97 + j)}" for i in range(12) for j in range(12)],
}
ALIGNERS = sorted(path.stem for path in (ROOT / "configs").glob("align_*.py"))


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A folder of text, vectors, dictionaries and test sets in both languages."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "verses").mkdir()
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(144, 8))
    sentences = rng.integers(0, 144, (60, 6))
    for language, words in WORDS.items():
        (folder / f"{language}.txt").write_text(
            "".join(" ".join(words[i] for i in row) + "\n" for row in sentences)
        )
        (folder / f"{SOURCE}-{TARGET}.{language}").write_text(
            "".join(" ".join(words[i] for i in row) + "\n" for row in sentences[:20])
        )
        verses = [" ".join(words[i] for i in row) for row in sentences[:20]]
        (folder / "verses" / f"{language}.tsv").write_text(
            "".join(
                f"{'JHN' if n < 5 else 'MAT'} 1:{n}\t{verse}\n" for n, verse in enumerate(verses)
            )
        )
        rows = basis @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
        lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows.round(3)))
        (folder / f"{language}.vec").write_text(f"144 8\n{''.join(lines)}")
    for a, b in ((SOURCE, TARGET), (TARGET, SOURCE), (SOURCE, "en"), (TARGET, "en")):
        right = WORDS.get(b, WORDS[TARGET])
        pairs = [f"{x} {y}\n" for x, y in zip(WORDS[a], right)]
        (folder / f"{a}-{b}.txt").write_text("".join(pairs[:100]))
        (folder / f"{a}-{b}.0-5000.txt").write_text("".join(pairs[:100]))
        (folder / f"{a}-{b}.5000-6500.txt").write_text("".join(pairs[100:]))
    for side in ("source", "target"):
        (folder / side).mkdir()
    assert not {SOURCE, TARGET} & set(pocket.LANGUAGES)
    return folder


def own_values(folder):
    """Option -> the value that names one's own data."""
    return {
        "data.languages": f"{SOURCE},{TARGET}",
        "data.source": f"text:{folder}",
        "data.dictionaries": str(folder),
        "data.pairs": str(folder),
        "evals.retrieval.data": str(folder),
        "evals.bli.data": str(folder),
        "evals.bleu.data": str(folder),
        "evals.mining.data": str(folder),
        "align.source_vectors": f"{folder}/{SOURCE}.vec",
        "align.target_vectors": f"{folder}/{TARGET}.vec",
        "clcr.source": f"run:{folder}/source",
        "clcr.target": f"run:{folder}/target",
        "init.parameters": f"run:{folder}/source",
        "static.add_to": "",
    }


def parse(config, values):
    raw = options.load(shipped.config_file(config))
    for path, value in values.items():
        raw.update_from_flattened_dict({path: value})
    return options.parse(raw)


def check(run, workdir):
    run.check_all()
    if isinstance(run, ClcrRun):
        clcr_files.check(run, workdir)
    else:
        inputs.check(run, workdir, options.pairs(run) if isinstance(run, StaticRun) else ())


OWN = re.compile(r"--config\.(data\.source=text:|align\.\w+_vectors=|data\.pairs=)")
WORLD = re.compile(
    r"--config\.data\.pocket_"
)  # of the embedded world's text, which has its own languages
COMMANDS = [
    parameter
    for parameter in guides.SYSTEMS
    if any(map(OWN.match, parameter.values[0])) and not any(map(WORLD.match, parameter.values[0]))
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_of_a_guide_works_with_languages_of_ones_own(words, own, tmp_path):
    [config] = [x.partition("=")[2] for x in words if x.startswith("--config=")]
    values = own_values(own)
    named = (x.removeprefix("--config.").partition("=") for x in words if x.startswith("--config."))
    given = {path: values[path] if value and path in values else value for path, _, value in named}
    given.pop("job", None)
    raw = options.load(shipped.config_file(config))
    # The larger scales name folders.
    given |= {"data.languages": values["data.languages"], "data.dictionaries": str(own)}
    if raw.data.get("held_out"):  # which takes verses
        given["data.pairs"] = str(own / "verses")
    tests = {"bli", "retrieval"}.intersection(raw.get("evals", {}))
    given |= {f"evals.{name}.data": str(own) for name in tests}
    run = parse(config, given).resolve()
    check(run, str(tmp_path))
    assert not (tmp_path / "pocket").exists()


@pytest.mark.parametrize("name", ALIGNERS)
def test_given_vectors_need_no_text(name, own, tmp_path):
    values = own_values(own)
    named = ["data.languages", "data.dictionaries", "align.source_vectors", "align.target_vectors"]
    run = parse(f"configs/{name}.py", {path: values[path] for path in named}).resolve()
    check(run, str(tmp_path))


def test_given_vectors_are_aligned_without_text(own, tmp_path):
    values = own_values(own)
    named = ["data.languages", "data.dictionaries", "align.source_vectors", "align.target_vectors"]
    given = {path: values[path] for path in [*named, "evals.bli.data"]}
    run = parse("configs/align_procrustes.py", given | {"align.split": "0-5000"}).resolve()
    run = dataclasses.replace(run, static=dataclasses.replace(run.static, induced_words=0))
    static_job.run(run, str(tmp_path), False)
    assert (tmp_path / "results.json").is_file() and not (tmp_path / "pocket").exists()


def test_entailment_follows_the_sentences(own, tmp_path):
    values = own_values(own)
    named = ["data.languages", "data.pairs", "clcr.source", "clcr.target"]
    run = parse("configs/clcr.py", {path: values[path] for path in named}).resolve()
    assert not run.clcr.entailment.seeds and not run.clcr.gold
    check(run, str(tmp_path))
    embedded = parse("configs/clcr.py", {}).resolve()
    assert embedded.clcr.entailment.seeds
