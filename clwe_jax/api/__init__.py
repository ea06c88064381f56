"""Use a trained model: vectors of sentences and of words in context, nearest words, senses.

    from clwe_jax import api

    model = api.load("runs/dict_mlm_50")
    vectors = model.encode(["Die Bank ist geschlossen."], lang="de")

TensorFlow is not needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from clwe_jax import options, registry
from clwe_jax.api.answers import WordLink, WordTranslation
from clwe_jax.options.transfer import encoder_parts

if TYPE_CHECKING:
    from clwe_jax.api.model import Model
    from clwe_jax.encoders.nearest import Neighbour
    from clwe_jax.api.mteb_model import MtebModel
    from clwe_jax.encoders.sense_view import Sense, SenseView, Translated

# Class -> its module. They import jax, so that a program pays for them when it loads a model.
_LATER = {
    "Model": "api.model",
    "MtebModel": "api.mteb_model",
    "Neighbour": "encoders.nearest",
    "Sense": "encoders.sense_view",
    "SenseView": "encoders.sense_view",
    "Translated": "encoders.sense_view",
}
_WITHOUT_STEPS = (None, "static", "clcr")  # jobs whose models are read as they are; None: no run
__all__ = [
    "Model",
    "MtebModel",
    "Neighbour",
    "Sense",
    "SenseView",
    "Translated",
    "WordTranslation",
    "WordLink",
    "load",
    "mteb",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'clwe_jax.api' has no attribute {name!r}")
    return registry.import_target(f"clwe_jax.{_LATER[name]}:{name}")


def __dir__() -> list[str]:
    return __all__


def load(
    workdir: str | os.PathLike[str],
    step: int | None = None,
    *,
    languages: Sequence[str] = (),
    words: Mapping[str, Sequence[str]] | None = None,
) -> Model:
    """Loads the trained model in a run's folder, a model of Hugging Face, or LASER's release.

    Args:
      workdir: the run's folder, with or without 'run:' before it; or files of word vectors in one
        space, 'wiki.de.vec' or 'vec:en=FILE,de=FILE'. A language model needs config.json, vocab/ and checkpoints/, and
        words.json for `neighbours`; static vectors need config.json, spaces.json, spaces/ and
        alignments/. A model of Hugging Face (BERT, XLM-R, ModernBERT, ...) is the folder that
        `save_pretrained` writes, with or without 'hf:' before it; 'hf:DIR?pool=mean' says how a sentence's
        vector is made where the folder does not. LASER's released encoder is a folder with bilstm.*.pt.
        Two of these with their kinds, 'hf:DIR+run:DIR', make one model: its sentences have both vectors,
        one after the other.
      step: step of a checkpoint of a language model's pretraining; None: the final parameters, of the newest
        readable checkpoint. Other models have no steps.
      languages: of a model of Hugging Face, the codes of the text's languages; (): XLM's own, and for
        the other models those of the run beside it, or of multilingual BERT. Of files of vectors, the languages that their names
        are searched for first; of one file that is not LANGUAGE=FILE, its own.
      words: of a model of Hugging Face, language -> the frequent words that `neighbours` searches.

    Raises:
      FileNotFoundError: the folder holds no run, no tokenizer, no checkpoint or no vectors.
      ValueError: a file of the run is damaged, the folder has an older layout, or the checkpoint
        belongs to another model or vocabulary; `languages` or `words` for a run, which has its own, or
        a string instead of a list; a step of a model that has none.
    """
    from clwe_jax.api.model import Model
    from clwe_jax.encoders import load as encoders
    from clwe_jax.interop.configuration import is_downloaded

    for name, value in {"languages": languages, **(words or {})}.items():
        if isinstance(value, str):  # its letters would be the codes, or the words
            raise ValueError(f"{name}: expected a list, got one string; write [{value!r}]")
    workdir = os.fspath(workdir)
    run = _run_folder(workdir)
    if run is not None and (languages or words):
        raise ValueError(
            f"languages and words are arguments for a model of Hugging Face; {run} is none"
        )
    job = None if run is None else options.read_config(run).job
    is_labeller = job in registry.TABLES["labeller"]
    if step is not None and (is_labeller or job in _WITHOUT_STEPS):
        raise ValueError(
            f"step={step}: {workdir} has no steps: leave it out, or name the run of a language model"
        )
    if is_labeller:
        return Model(registry.lookup("labeller", job)(run))
    if run is not None:
        return Model(encoders.of_folder(run, step))
    if len(encoder_parts(workdir)[0]) == 2:
        if words:
            raise ValueError("words: the second encoder has the words")
        return Model(encoders.load(workdir, languages, "vec"))
    workdir = workdir.removeprefix("run:")
    if is_downloaded(workdir):
        from clwe_jax.encoders import hf_model

        return Model(hf_model.load(workdir, languages, words))
    if words:
        raise ValueError("words: files of vectors hold their own words")
    return Model(encoders.of_vectors(workdir.removeprefix("vec:"), languages))


def _run_folder(workdir: str) -> str | None:
    """The folder of a run; None for two encoders, files of vectors and downloaded models."""
    from clwe_jax.interop.configuration import is_downloaded

    first, *others = encoder_parts(workdir)[0]
    first = first.removeprefix("run:")
    # Pages and records belong to a run, which the message of `read_config` names.
    is_page = first.endswith((".html", ".json"))
    is_vectors = first.startswith("vec:") or (os.path.isfile(first) and not is_page)
    return None if others or is_vectors or is_downloaded(first) else first


def load_for(workdir: str, languages: Sequence[str]) -> Model:
    """`load` for text of these languages: a run has its own, and other models are told them."""
    return load(workdir, languages=languages if _run_folder(workdir) is None else ())


def mteb(model: Model, name: str = "clwe_jax/model") -> MtebModel:
    """The model as one of mteb 2, which `mteb.evaluate(model, tasks)` takes; `name` stands in its results."""
    from clwe_jax.api.mteb_model import MtebModel

    return MtebModel(model, name)
