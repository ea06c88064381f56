"""All kinds of loaded models have the same methods and the same checks of their arguments."""

import re

import numpy as np
import pytest

from clwe_jax import api, options, terminal
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.pair import PairModels
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.section import nearest
from clwe_jax.options.static import StaticRun
from clwe_jax.options.transfer import TransferRun


def language_model():
    """A language model whose tokenizer knows two languages; nothing is computed."""
    tokenizer = type("Tokenizer", (), {"languages": ("en", "de")})
    return LanguageModel(None, tokenizer, None, {})


@pytest.fixture(params=["model", "pair", "static"])
def model(request):
    if request.param == "model":
        return api.Model(language_model())
    if request.param == "pair":
        return api.Model(PairModels({"en": language_model(), "de": language_model()}))
    vectors = Vectors(["a", "b"], np.eye(2, dtype=np.float32))
    return api.Model(StaticSpaces({"en": vectors, "de": vectors}, {}, {}, "en"))


@pytest.mark.parametrize(
    "message, call",
    [
        ("texts: .* write .text.", lambda m: m.encode("a", lang="en")),
        ("texts=None: expected a list", lambda m: m.encode(None, lang="en")),
        (r"texts.1.=3: expected a string", lambda m: m.encode(["a", 3], lang="en")),
        ("lang='en1'.*Did you mean 'en'", lambda m: m.encode(["a"], lang="en1")),
        (r"lang=.'en'.: expected the code of a language", lambda m: m.encode(["a"], lang=["en"])),
        ("lang=None: expected the code", lambda m: m.vectors(lang=None)),
        (r"text=.'a'.: expected one string", lambda m: m.words(["a"], lang="en")),
        (r"word=.'a'.: expected one string, .* list", lambda m: m.neighbours(["a"], lang="en")),
        ("to='fr'.*Known: de, en", lambda m: m.neighbours("a", lang="en", to="fr")),
        ("k='3': expected a whole number", lambda m: m.neighbours("a", lang="en", k="3")),
        ("k=0: expected a whole number", lambda m: m.translate("a", lang="en", to="de", k=0)),
        ("method 'clsl'.*Did you mean 'csls'", lambda m: m.neighbours("a", "en", method="clsl")),
        ("lang=None, to=None: expected .*Known: de, en", lambda m: m.translate("a")),
        ("to='en' is the word's own", lambda m: m.translate("a", lang="en", to="en")),
        ("b=3: expected one string", lambda m: m.similarity("a", 3, lang="en")),
        ("to='d'", lambda m: m.similarity("a", "b", lang="en", to="d")),
        ("word=3: expected one string", lambda m: m.knows(3, lang="en")),
    ],
)
def test_arguments_of_a_wrong_type_are_named(model, message, call):
    with pytest.raises(ValueError, match=message):
        call(model)


def test_a_long_list_of_names_is_cut():
    names = [f"name{i}" for i in range(20_000)]
    message = nearest("xyz", names)
    assert len(message) < 2_000 and message.endswith("and 19,880 more.")
    assert nearest("xyz", ["b", "a"]) == "Known: a, b."


def test_the_size_of_a_batch_is_checked():
    vectors = Vectors(["a", "b"], np.eye(2, dtype=np.float32))
    model = api.Model(StaticSpaces({"en": vectors}, {}, {}, "en"))
    with pytest.raises(ValueError, match="batch_size=0"):
        model.encode(["a"], lang="en", batch_size=0)


def test_progress_is_shown_where_asked(capsys):
    class Shows(LanguageModel):
        def encoder(self, batch_size=64):
            return self

        def pool_texts(self, texts, *_):
            with terminal.task("texts", len(texts)) as advance:
                advance(len(texts))
            return np.ones((len(texts), 2), np.float32)

    model = api.Model(Shows(None, language_model().tokenizer, None, {}))
    for outer, shown, expected in (
        (None, True, True),
        (None, False, False),
        (None, None, False),
        (True, None, True),
        (True, False, False),
    ):
        with terminal.progress(outer):
            model.encode(["a", "b"], lang="en", show_progress=shown)
        assert ("2/2 texts" in capsys.readouterr().err) is expected


@pytest.mark.parametrize(
    "message, call",
    [
        ("have no senses, which the method 'senses'", lambda m: m.senses("a", "en")),
        (
            "have no senses, which the method 'translate_in_context'",
            lambda m: m.translate_in_context("a", "a b", "de"),
        ),
        ("write no text, .*configs/laser.py", lambda m: m.translate_sentence("a", "en", "de")),
        ("have learned no labels, .*configs/ner_bilstm_crf.py", lambda m: m.tag(["a"], "en")),
        ("have learned no labels, .*configs/classify_topics.py", lambda m: m.classify(["a"], "en")),
        ("have learned no labels, .*configs/edge_probing.py", lambda m: m.label_spans([], "en")),
        ("have no pivots, .*configs/clcr.py", lambda m: m.reduced()),
    ],
)
def test_what_a_model_lacks_is_said(message, call):
    vectors = Vectors(["a", "b"], np.eye(2, dtype=np.float32))
    with pytest.raises(ValueError, match=f"Static vectors {message}"):
        call(api.Model(StaticSpaces({"en": vectors, "de": vectors}, {}, {}, "en")))


@pytest.mark.parametrize("kind", [StaticRun, TransferRun, ClcrRun])
def test_a_step_of_a_run_that_has_none_is_refused(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    options.write_config(kind(), "run", "..")
    for name in ("run", "run:run"):
        with pytest.raises(ValueError, match=f"step=500: {name} .*language model"):
            api.load(name, step=500)


@pytest.mark.parametrize("name", ["hf:bert", "vec:de=x.vec", "hf:bert+run:run", "run:a+run:b"])
def test_a_step_of_other_models_is_refused(name):
    with pytest.raises(ValueError, match=f"step=500: {re.escape(name)} .*language model"):
        api.load(name, step=500)


def test_a_folder_without_a_run_names_the_runs_beside_it(tmp_path, monkeypatch):
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for name in ("runs", "a"):
        with pytest.raises(FileNotFoundError, match="holds no run.* Runs are in runs/a$"):
            api.load(name)
    with pytest.raises(FileNotFoundError, match="clwe-jax --config=joint_dictionary --workdir=b$"):
        api.load("b")
    (tmp_path / "runs" / "a" / "report.html").touch()
    (tmp_path / "runs" / "a" / "vocab").mkdir()
    for name in ("report.html", "vocab"):
        with pytest.raises(FileNotFoundError, match="a part of a run: name its folder, runs/a$"):
            api.load(f"runs/a/{name}")
