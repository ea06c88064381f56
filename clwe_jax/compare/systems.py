"""The systems of a comparison: their configs, and when to use which."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Mapping

from clwe_jax import options
from clwe_jax.options.compare import CompareOptions, CompareRun
from clwe_jax.options.section import nearest
from clwe_jax.options.systems import describe_options
from clwe_jax.options.transfer import ENCODERS, short_name

FLOOR = "floor"
PARALLEL = "data.pairs"


@dataclasses.dataclass(frozen=True)
class System:
    """A system of a comparison.

    Attributes:
      name: its name in `config.compare.systems`.
      title: its name in the report.
      config: its config file, without '.py'; '' for one that is not trained.
      when, when_not: a sentence each.
      values: option -> value, where the system differs from its config.
      languages: number of languages that it joins; 0: any.
      model: of a system that is not trained, run:DIR, hf:DIR, laser:DIR or vec:FILES.
    """

    name: str
    title: str
    config: str
    when: str
    when_not: str
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    languages: int = 0
    model: str = ""

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return re.sub(r"[^\w.-]+", "-", self.name).strip("-.")[-60:]

    @property
    def key(self) -> str:
        """Its name in metrics, without the path of a model."""
        return self.title if self.model else self.name

    @property
    def has_seeds(self) -> bool:
        """Whether its runs of different seeds differ."""
        return bool(self.config)


_DICTIONARY_ONLY = "Your dictionary lacks many words of your text: it knows no others."
_ALIGNER_WHEN_NOT = (
    "You have text and a dictionary: Joint-Align beside dictionary vectors finds more sentences."
)
_SYSTEMS = (
    System(
        FLOOR,
        "Dictionary floor",
        "",
        "You have a dictionary and no text, or want to know what a trained model has to beat.",
        _DICTIONARY_ONLY,
    ),
    System(
        "dictionary_vectors",
        "Dictionary vectors",
        "dictionary_vectors",
        "You need one space of all languages in seconds, and the dictionary covers your words.",
        _DICTIONARY_ONLY,
    ),
    System(
        "joint_align",
        "Joint-Align",
        "joint_align",
        "You need small, fast word vectors for words that the dictionary lacks too.",
        "You compare whole sentences: dictionary vectors beside them find more.",
    ),
    System(
        "joint_dictionary",
        "Joint-Align + dictionary",
        "joint_dictionary",
        "You need sentence retrieval or word translation on a laptop: minutes, no accelerator.",
        "Words mean different things in different sentences: it has one vector a word.",
        {"static.mine": False},
    ),
    System(
        "joint_dictionary_mined",
        "Joint-Align + mined dict.",
        "joint_dictionary",
        "Your texts are comparable (news, encyclopedias): they hold translations that add to the dictionary.",
        "Your texts share nothing, as novels do: mining then finds nothing, and costs time.",
    ),
    System(
        "procrustes",
        "Procrustes",
        "align_procrustes",
        "You have vectors of each language and a dictionary, and want the simplest map.",
        _ALIGNER_WHEN_NOT,
    ),
    System(
        "rcsls",
        "RCSLS",
        "align_rcsls",
        "You have vectors of each language and no text, a dictionary, and translate words by CSLS.",
        _ALIGNER_WHEN_NOT,
    ),
    System(
        "geomm",
        "GeoMM",
        "align_geomm",
        "You align several languages at once, and the dictionary is small.",
        _ALIGNER_WHEN_NOT,
    ),
    System(
        "vecmap",
        "VecMap's map",
        "align_vecmap",
        "You have vectors of each language and a dictionary, and compare sentences in pairs of languages.",
        _ALIGNER_WHEN_NOT,
    ),
    System(
        "contrastive",
        "Contrastive maps",
        "align_contrastive",
        "You align given vectors and can spend minutes on better maps.",
        _ALIGNER_WHEN_NOT,
    ),
    System(
        "self_learning",
        "Self-learning",
        "align_self_learning",
        "You have no dictionary at all, and text of similar kinds.",
        "You have even a small dictionary: supervised alignment is better and surer.",
    ),
    System(
        "duong",
        "Duong et al.",
        "duong_joint",
        "You repeat the experiments on joint training with a dictionary.",
        "You look for the best vectors: Joint-Align with dictionary vectors costs less.",
    ),
    System(
        "mlm",
        "MLM (mBERT)",
        "mbert",
        "You have very much text and an accelerator for days, and no dictionary.",
        "You have minutes or little text: from random parameters it has learned almost nothing by then.",
    ),
    System(
        "dict_mlm",
        "DICT-MLM",
        "dict_mlm_50",
        "You repeat DICT-MLM's paper, whose labels weigh the original word more.",
        "You want the best contextual model: with the labels of all languages alike it is better in most tests.",
    ),
    System(
        "dict_mlm_all",
        "DICT-MLM, all languages alike",
        "dict_mlm_all",
        "You have dictionaries, and want a contextual model for sentences or for labels in other languages.",
        "You repeat the paper, or have minutes alone and need no words in context: static vectors find more.",
    ),
    System(
        "dict_mlm_tests",
        "DICT-MLM, sees tests",
        "dict_mlm_50",
        "Only to see how much of a published figure is a leak of test pairs into the dictionary.",
        "For anything else: its induction is not a measurement.",
        {"data.exclude_tests": False},
    ),
    System(
        "warm_mlm",
        "Warm MLM",
        "warm_dict_mlm",
        "You want a contextual model that starts from word vectors; their text and dictionary do the work.",
        "Static vectors suffice: they are smaller and faster.",
        {"task": {"name": "mlm"}},
    ),
    System(
        "warm_dict_mlm",
        "Warm DICT-MLM",
        "warm_dict_mlm",
        "You want a contextual model that starts from word vectors, and predicts translations too.",
        "Static vectors suffice: they are smaller and faster.",
    ),
    System(
        "xlm",
        "XLM (TLM)",
        "xlm",
        "You have parallel text and an accelerator.",
        "You have no parallel text.",
        {PARALLEL: options.SOURCE},
    ),
    System(
        "joint_elmo",
        "Joint-ELMo",
        "joint_elmo",
        "You study models that read characters: unseen spellings have vectors too.",
        "You want the best figures: its languages hardly share a space after a small budget.",
    ),
    System(
        "saelmo",
        "SaELMo",
        "saelmo",
        "You study the senses of the words of each language.",
        "You need one space of the languages: nothing joins them.",
    ),
    System(
        "bi_saelmo",
        "Bi-SaELMo",
        "bi_saelmo",
        "You study senses of words and their translations.",
        "You need only one vector of a word: senses cost time and memory.",
    ),
    System(
        "laser",
        "LASER",
        "laser",
        "You have parallel text and compare or translate whole sentences.",
        "You have no parallel text, or need vectors of words.",
        {PARALLEL: options.SOURCE},
    ),
    System(
        "clcr",
        "CLCR",
        "clcr",
        "You have two good monolingual models and parallel text, and study word order.",
        "You have more than two languages, or one multilingual model already.",
        {PARALLEL: options.SOURCE},
        languages=2,
    ),
)
SYSTEMS = {system.name: system for system in _SYSTEMS}
SETS = {
    "quick": (FLOOR, "joint_align", "joint_dictionary", "warm_dict_mlm"),
    "default": (
        FLOOR,
        "joint_align",
        "rcsls",
        "joint_dictionary",
        "mlm",
        "dict_mlm",
        "dict_mlm_all",
        "warm_mlm",
        "warm_dict_mlm",
        "joint_elmo",
    ),
}
_FOREIGN = (
    "It knows your languages: then download one, unless it must be small or trained on your text.",
    "Your languages are none of those that it was trained on, or it is too large or too slow.",
)
_BROUGHT = ("You have it already.", "A system is significantly better and costs no more.")


def choose_systems(settings: CompareOptions) -> list[System]:
    """The systems that `config.compare.systems` names, in its order.

    Raises:
      ValueError: no system, an unknown one, or one twice.
    """
    systems: list[System] = []
    for name in _names(settings.systems):
        for part in SETS.get(name, (name,)):
            systems.append(_system(part))
    for names in ([x.folder for x in systems], [x.key for x in systems]):
        for system, name in zip(systems, names):
            if names.count(name) > 1:
                raise ValueError(f"config.compare.systems names {name!r} twice: {system.name}")
    if not systems:
        raise ValueError("config.compare.systems is empty: --config.compare.systems=quick")
    return systems


def _names(listed: str) -> list[str]:
    """The names in a list; a part LANGUAGE=FILE belongs to the vec:LANGUAGE=FILE before it."""
    names: list[str] = []
    for part in filter(None, map(str.strip, listed.split(","))):
        if re.match(r"[a-z]{2,3}=", part) and names and names[-1].startswith("vec:"):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _system(name: str) -> System:
    if name in SYSTEMS:
        return SYSTEMS[name]
    kind, colon, address = name.partition(":")
    if colon and kind in ENCODERS and address:
        sentences = _FOREIGN if kind in ("hf", "laser") else _BROUGHT
        return System(name, short_name(name), "", *sentences, model=name)
    if name.endswith(".py"):
        title = os.path.splitext(os.path.basename(name))[0]
        return System(title, title, name, *_BROUGHT)
    names = [*SYSTEMS, *SETS]
    raise ValueError(
        f"config.compare.systems: there is no system {name!r}. {nearest(name, names)} A config is "
        "FILE.py; models are run:DIR, hf:DIR, laser:DIR, vec:en=FILE,de=FILE"
    )


def config_file(config: CompareRun, system: System) -> str:
    """The path of a system's config."""
    is_path = system.config.endswith(".py")
    return system.config if is_path else os.path.join(config.compare.configs, f"{system.config}.py")


def run_of(
    config: CompareRun, system: System, seed: int, folders: Mapping[str, str], steps: int = 0
) -> options.Run:
    """The options of a system's run.

    Args:
      config: of the comparison, resolved.
      system: one that is trained.
      folders: of `text.text_of_run.resolve_folders` of the comparison: text, dictionaries, tests.
      steps: of a language model; 0: its config's.

    Raises:
      ValueError, FileNotFoundError: the config file is absent, or its options do not fit the data.
    """
    path = config_file(config, system)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"The system {system.name} needs {path}: start in the project's folder, or set "
            "--config.compare.configs=DIR"
        )
    run = options.from_file(
        f"{path}:{config.scale}", _with_parallel(config.compare, system, folders)
    )
    data = config.data
    names = options.languages(config)
    if system.languages:
        hub = "en" if "en" in names else names[-1]
        names = [*[x for x in names if x != hub][: system.languages - 1], hub]
    tests = folders.get("evals.bli", "") if data.exclude_tests else ""
    # One system trains on the test pairs on purpose, to show what such a leak is worth.
    leaks = system.values.get("data.exclude_tests", True) is False
    values: dict[str, Any] = {
        "seed": seed,
        "data.source": f"text:{folders['text']}",
        "data.languages": ",".join(names),
        "data.dictionaries": folders["dictionaries"],
        "data.lower_case": data.lower_case,
        "data.simplify_chinese": data.simplify_chinese,
        "data.pocket_domains": data.pocket_domains,
        "data.exclude_tests": data.exclude_tests and not leaks,
        "data.exclude_dictionaries": "" if leaks else data.exclude_dictionaries or tests,
        "data.dictionary_clean": data.dictionary_clean,
        "data.sample_bytes": data.sample_bytes,
        "evals.mlm.batches": 1,  # the comparison does not show the loss
        "static.write_text": False,
        "static.induced_words": 0,
        "report.compare_with": "",
        **{f"evals.{key}.data": "" for key, spec in run.evals.items() if hasattr(spec, "data")},
        **{f"evals.{key}.every_steps": 0 for key in run.evals},
    }
    now = {path: value for path, value, _ in describe_options(run)}
    if steps:
        values |= {"train.steps": steps, **_warmups(now, steps)}
    # Static vectors, language models and CLCR have different options.
    run = options.with_values(run, {x: y for x, y in values.items() if x in now})
    run.resolve().check_all()
    return run


def _warmups(now: Mapping[str, Any], steps: int) -> dict[str, int]:
    """The steps of warm-ups, shorter by as much as the training is.

    Else the rate would still grow, and senses would not have begun, where a small budget ends.
    """
    share = min(1.0, steps / now["train.steps"])
    return {
        path: max(1, round(share * value))
        for path, value in now.items()
        if path.endswith("warmup_steps") and not path.startswith("finish.") and value
    }


def _with_parallel(
    settings: CompareOptions, system: System, folders: Mapping[str, str]
) -> dict[str, Any]:
    """The system's values, with the comparison's parallel text where they name it."""
    text = folders.get("parallel") or settings.parallel
    values = {x: text if y == options.SOURCE else y for x, y in system.values.items()}
    if options.SOURCE in system.values.values() and not text:
        raise ValueError(
            f"The system {system.name} learns from parallel text: --config.compare.parallel=DIR/train "
            "(or mined), or leave it out of config.compare.systems"
        )
    return values
