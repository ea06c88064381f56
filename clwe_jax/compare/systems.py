"""The systems of a comparison: what they are, their configs, and when to use which."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Mapping

from clwe_jax import options
from clwe_jax.options.compare import CompareOptions
from clwe_jax.options.section import nearest
from clwe_jax.options.transfer import ENCODERS, short_name

FLOOR = "floor"
PARALLEL = "data.pairs"


@dataclasses.dataclass(frozen=True)
class System:
    """A system of a comparison.

    Attributes:
      name: its name in `config.compare.systems`.
      title: its name in the report.
      what: what it is and what it needs.
      when, when_not: a sentence each.
      file: its config file, without '.py'; '' for that of its name.
      values: option -> value, where the system differs from its config.
      languages: number of languages that it joins; 0: any.
      model: of a system that is not trained, run:DIR, hf:DIR, laser:DIR or vec:FILES.
    """

    name: str
    title: str
    what: str
    when: str
    when_not: str
    file: str = ""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    languages: int = 0
    model: str = ""

    @property
    def config(self) -> str:
        """Its config file, without '.py'; '' for one that is not trained."""
        return "" if self.model or self.name == FLOOR else self.file or self.name

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return re.sub(r"[^\w.-]+", "-", self.name).strip("-.")[-60:]

    @property
    def key(self) -> str:
        """Its name in metrics, without the path of a model."""
        return self.title if self.model else self.name

    @property
    def sees_tests(self) -> bool:
        """Whether it trains on the test pairs on purpose, to show what such a leak adds."""
        return self.values.get("data.exclude_tests") is False


_ALIGNER_WHEN_NOT = (
    "You have text and a dictionary: Joint-Align beside dictionary vectors finds more sentences."
)
_SYSTEMS = (
    System(
        FLOOR,
        "Dictionary floor",
        "Random vectors that translations share; needs a dictionary and no training.",
        "You have a dictionary and no text, or want to know what a trained model has to beat.",
        "Your dictionary lacks many words of your text: it knows no others.",
    ),
    System(
        "dictionary_vectors",
        "Dictionary vectors",
        "Vectors of a dictionary's words, and guesses from spelling; needs text and a dictionary.",
        "You need one space of all languages in a minute or two, and the dictionary covers your words.",
        "Your dictionary lacks many words of your text: of these it knows the spelling alone.",
    ),
    System(
        "joint_align",
        "Joint-Align",
        "Word vectors of all languages at once, then aligned; needs text and a dictionary.",
        "You need small, fast word vectors for words that the dictionary lacks too.",
        "You compare whole sentences: dictionary vectors beside them find more.",
    ),
    System(
        "joint_dictionary",
        "Joint-Align + dictionary",
        "Joint-Align's vectors beside dictionary vectors; needs text and a dictionary.",
        "You need sentence retrieval or word translation on a laptop: minutes, no accelerator.",
        "Words mean different things in different sentences: it has one vector a word.",
        values={"static.mine": False},
    ),
    System(
        "joint_dictionary_mined",
        "Joint-Align + mined pairs",
        "Joint-Align + dictionary and translations mined in the text; needs text and a dictionary.",
        "Your texts are comparable (news, encyclopedias): they hold translations that add to the dictionary.",
        "Your texts share nothing, as novels do: mining then finds nothing, and costs time.",
        file="joint_dictionary",
    ),
    System(
        "procrustes",
        "Procrustes",
        "Vectors of each language, then rotated; needs text and a dictionary.",
        "You have vectors of each language and a dictionary, and want the simplest map.",
        _ALIGNER_WHEN_NOT,
        file="align_procrustes",
    ),
    System(
        "rcsls",
        "RCSLS",
        "Vectors of each language, mapped so that CSLS is high; needs text and a dictionary.",
        "You have vectors of each language and a dictionary, and repeat the experiments of its paper.",
        _ALIGNER_WHEN_NOT,
        file="align_rcsls",
    ),
    System(
        "geomm",
        "GeoMM",
        "Vectors of each language, rotated into one metric; needs text and a dictionary.",
        "You align several languages at once, and the dictionary is small.",
        _ALIGNER_WHEN_NOT,
        file="align_geomm",
    ),
    System(
        "vecmap",
        "VecMap's map",
        "Vectors of each language, whitened and rotated; needs text and a dictionary.",
        "You have vectors of each language and a dictionary, and compare sentences in pairs of languages.",
        _ALIGNER_WHEN_NOT,
        file="align_vecmap",
    ),
    System(
        "contrastive",
        "Contrastive maps",
        "RCSLS's maps, finished by a contrastive loss; needs text and a dictionary.",
        "You align given vectors and can spend minutes on better maps.",
        _ALIGNER_WHEN_NOT,
        file="align_contrastive",
    ),
    System(
        "self_learning",
        "Self-learning",
        "Vectors of each language and a dictionary that it induces; needs text alone.",
        "You have no dictionary at all, and text of similar kinds.",
        "You have even a small dictionary: supervised alignment is better and surer.",
        file="align_self_learning",
    ),
    System(
        "duong",
        "Duong et al.",
        "Word vectors whose contexts also predict translations; needs text and a dictionary.",
        "You repeat the experiments on joint training with a dictionary.",
        "You look for the best vectors: Joint-Align with dictionary vectors costs less.",
        file="duong_joint",
    ),
    System(
        "mlm",
        "Plain MLM",
        "mBERT's objective on your text, from random parameters; needs text alone.",
        "You have very much text and an accelerator for days, and no dictionary.",
        "You have minutes or little text: from random parameters it has learned almost nothing by then.",
        file="mbert",
    ),
    System(
        "dict_mlm",
        "DICT-MLM",
        "An MLM, half of whose labels are translations; needs text and a dictionary.",
        "You repeat DICT-MLM's paper, whose labels weigh the original word more.",
        "You want the best contextual model: with the labels of all languages alike it is better in most tests.",
        file="dict_mlm_50",
    ),
    System(
        "dict_mlm_all",
        "DICT-MLM (all languages)",
        "An MLM that predicts a word in all languages alike; needs text and a dictionary.",
        "You have dictionaries, and want a contextual model for sentences or for labels in other languages.",
        "You repeat the paper, or have minutes alone and need no words in context: static vectors find more.",
    ),
    System(
        "dict_mlm_tests",
        "DICT-MLM (sees tests)",
        "DICT-MLM whose dictionary keeps the test pairs; needs text and a dictionary.",
        "You measure a leak: its induction less DICT-MLM's is what test pairs in the dictionary add.",
        "You want any other figure: it has learned the words that induction tests.",
        file="dict_mlm_50",
        values={"data.exclude_tests": False},
    ),
    System(
        "warm_mlm",
        "Warm MLM",
        "An MLM that starts from Joint-Align + dictionary; needs text and a dictionary.",
        "You want a contextual model that starts from word vectors; their text and dictionary do the work.",
        "Static vectors suffice: they are smaller and faster.",
        file="warm_dict_mlm",
        values={"task": {"name": "mlm"}},
    ),
    System(
        "warm_dict_mlm",
        "Warm DICT-MLM",
        "DICT-MLM that starts from Joint-Align + dictionary; needs text and a dictionary.",
        "You want a contextual model that starts from word vectors, and predicts translations too.",
        "Static vectors suffice: they are smaller and faster.",
    ),
    System(
        "xlm",
        "XLM (TLM)",
        "An MLM that also reads pairs of translated sentences; needs text and parallel text.",
        "You have parallel text and an accelerator.",
        "You have no parallel text.",
        values={PARALLEL: options.SOURCE},
    ),
    System(
        "joint_elmo",
        "Joint-ELMo",
        "LSTMs over characters that read all languages; needs text alone.",
        "You study models that read characters: unseen spellings have vectors too.",
        "You want the best figures: its languages hardly share a space after a small budget.",
    ),
    System(
        "saelmo",
        "SaELMo",
        "ELMo that learns several senses of each word; needs text alone.",
        "You study the senses of the words of each language.",
        "You need one space of the languages: nothing joins them.",
    ),
    System(
        "bi_saelmo",
        "Bi-SaELMo",
        "SaELMo whose senses also predict translations; needs text and a dictionary.",
        "You study senses of words and their translations.",
        "You need only one vector of a word: senses cost time and memory.",
    ),
    System(
        "laser",
        "LASER",
        "An encoder that learns by translating, not the published one; needs parallel text.",
        "You have parallel text and compare or translate whole sentences.",
        "You have no parallel text, or need vectors of words.",
        values={PARALLEL: options.SOURCE},
    ),
    System(
        "clcr",
        "CLCR",
        "Two language models of one language each, joined by a map; needs parallel text.",
        "You have two good monolingual models and parallel text, and study word order.",
        "You have more than two languages, or one multilingual model already.",
        values={PARALLEL: options.SOURCE},
        languages=2,
    ),
)
SYSTEMS = {system.name: system for system in _SYSTEMS}
_QUICK = (FLOOR, "joint_align", "joint_dictionary", "warm_dict_mlm")
_OTHERS = ("rcsls", "mlm", "dict_mlm", "dict_mlm_all", "warm_mlm", "joint_elmo")
SETS = {"quick": _QUICK, "default": (*_QUICK, *_OTHERS)}
_FOREIGN = (
    "An encoder that you downloaded; needs no training.",
    "It knows your languages: then download one, unless it must be small or trained on your text.",
    "Your languages are none of those that it was trained on, or it is too large or too slow.",
)
_BROUGHT = (
    "Your own; needs what you gave.",
    "You have it already.",
    "A system is significantly better and costs no more.",
)


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
        return System(name, short_name(name), *sentences, model=name)
    if name.endswith(".py"):
        title = os.path.splitext(os.path.basename(name))[0]
        return System(title, title, *_BROUGHT, file=name)
    names = [*SYSTEMS, *SETS]
    raise ValueError(
        f"config.compare.systems: there is no system {name!r}. {nearest(name, names)} A config is "
        "FILE.py; models are run:DIR, hf:DIR, laser:DIR, vec:en=FILE,de=FILE"
    )
