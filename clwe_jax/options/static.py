"""Options of static vectors."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Annotated, Mapping

from clwe_jax import registry
from clwe_jax.options import derived as shared, evaluators
from clwe_jax.options.aligners import AlignerOptions
from clwe_jax.options.embeddings import EmbeddingsOptions, MiningOptions, WordsOptions
from clwe_jax.options.section import (
    Amount,
    Count,
    OneOf,
    Positive,
    Range,
    Options,
    Share,
    Size,
    entries,
    option,
    section,
)
from clwe_jax.options.systems import Run
from clwe_jax.options.tasks import check_source
from clwe_jax.options.text import PAIRS, SOURCE, CorpusOptions
from clwe_jax.options.training import ErrorsOptions


@dataclasses.dataclass(frozen=True)
class StaticOptions(Options):
    """How vectors of several languages come into one space."""

    temperature: Amount = option(
        0.0,
        "amounts of text that are read; 0: of each language as much as of the smallest one; 1: all "
        "text; between, the larger languages lose a part; above 1, the smaller ones are repeated too",
    )
    training: Annotated[str, OneOf("joint", "separate", "replace", "duong", "dictionary")] = option(
        "joint",
        "joint, on the text of all languages at once | separate, a language at a time | replace, jointly with "
        "dictionary words replaced at random | duong, jointly with translations as further targets | "
        "dictionary, no training",
    )
    reallocation: bool = option(
        False, "whether words that nearly one language alone uses get vectors of their own"
    )
    rule: Annotated[str, OneOf("ratio", "neighbours")] = option(
        "ratio",
        "rule of reallocation: ratio (Eqs 5-6) | neighbours (learned, over all pairs of languages)",
    )
    gamma: Annotated[float, Range(0.5, 1, below=True)] = option(
        0.9, "threshold of the rule ratio, in [0.5, 1); a higher one shares more words"
    )
    refinement: bool = option(False, "whether a dictionary aligns the words that are not shared")
    hub: str = option("en", "the language that the others are mapped to, if the run has it")
    pairs: str = option(
        "",
        "pairs of languages whose words and sentences are evaluated, en-de,de-fr; '': the hub "
        "with every other language; all: every pair, whose number grows with the square of the "
        "languages",
    )
    stored: Annotated[str, OneOf("float", "packed")] = option(
        "float",
        "numbers in WORKDIR/spaces: float, of 32 bits (16 with a dictionary's vectors) | "
        "packed, of 3.2 bits",
    )
    write_text: bool = option(
        False, "whether WORKDIR/vectors/{lang}.vec is written for other tools"
    )
    export: Annotated[str, OneOf("", "sentence-transformers", "model2vec")] = option(
        "", "library for which WORKDIR/export is written, in float16; '': none is written"
    )
    induced_words: Count = option(
        20_000, "frequent words of a side from which dictionaries are induced; 0: none"
    )
    keep_subwords: bool = option(
        False, "whether joint vectors' n-grams are kept, for config.init.method='subword'"
    )
    replace_share: Share = option(0.5, "share of replaced dictionary words, in training='replace'")
    dictionary_dim: Count = option(
        0, "width of dictionary vectors that are concatenated with the trained ones; 0: none"
    )
    trained_length: Positive = option(
        0.6, "length of trained vectors that are concatenated with dictionary vectors of length 1"
    )
    compared_share: Share = option(
        0.25,
        "factor of a vector that is guessed from spelling (words.unknown=ngrams) and stands beside a "
        "trained one, where single words are compared; 1: it keeps its length",
    )
    trained: str = option(
        "", "a folder of trained vectors that several runs share; '': WORKDIR/trained"
    )
    add_to: str = option(
        "",
        "folder of a finished run, to whose space this run adds its languages; the vectors of "
        "the old ones stay as they are; '': a new space",
    )
    mine: bool = option(False, "whether translations in the text add to the dictionary")
    judge: str = option(
        "", "an encoder that says which mined pairs are translations: hf:DIR, run:DIR; '': none"
    )
    mining: MiningOptions = section(MiningOptions)
    words: WordsOptions = section(WordsOptions)


@dataclasses.dataclass(frozen=True)
class AlignOptions(Options):
    """The aligner, and vectors that are given."""

    name: str = option("procrustes", "")
    supervised: bool = option(True, "False: the dictionary is not given to the aligner")
    source_vectors: str = option(
        "",
        "with target_vectors, two files of your own vectors, which are aligned; none are trained",
    )
    target_vectors: str = option("", "the second of the two files of vectors that are aligned")
    max_vocab: Size = option(200_000, "words to read from each of these files")
    lower_case_dictionary: bool = option(
        False,
        "whether the dictionary of these files is in lower case; text follows data.lower_case",
    )
    split: str = option("", "'0-5000': train on xx-yy.0-5000.txt instead of xx-yy.txt")


def align_options() -> AlignOptions:
    """The options with a section for each aligner that the registry has, beside the name of the chosen one."""
    return _with_aligners(tuple(registry.TABLES["aligner"].items()))()


@functools.cache
def _with_aligners(table: tuple[tuple[str, tuple[str, str]], ...]) -> type[AlignOptions]:
    names = [name for name, _ in table]
    name_field = ("name", str, option("procrustes", f"one of {', '.join(names)}"))
    sections = [(x, AlignerOptions, section(registry.options_class("aligner", x))) for x in names]
    return dataclasses.make_dataclass(
        "AlignOptions",
        [name_field, *sections],
        bases=(AlignOptions,),
        frozen=True,
        namespace={"__doc__": AlignOptions.__doc__, "__module__": __name__},
    )


@dataclasses.dataclass(frozen=True)
class StaticRun(Run):
    """All options of a run that trains static vectors, or aligns given ones."""

    job: Annotated[str, OneOf("static", "evaluate")] = option("static", "static | evaluate")
    data: CorpusOptions = section(CorpusOptions)
    static: StaticOptions = section(StaticOptions)
    embeddings: EmbeddingsOptions = section(EmbeddingsOptions)
    align: AlignOptions = section(align_options)
    evals: Mapping[str, Options] = entries(
        "evaluator",
        "name -> options of an evaluator",
        bli=evaluators.BliEvaluation(data=SOURCE, methods="nn,csls,inverted_softmax"),
        similarity=evaluators.SimilarityEvaluation(),
        retrieval=evaluators.RetrievalEvaluation(data=SOURCE),
        bleu=evaluators.BleuEvaluation(max_sentences=1_000),  # word by word
    )
    report: ErrorsOptions = section(ErrorsOptions)

    @property
    def given_vectors(self) -> dict[str, str]:
        paths = {x: getattr(self.align, x) for x in ("source_vectors", "target_vectors")}
        return {f"align.{name}": path for name, path in paths.items() if path}

    @property
    def has_own_data(self) -> bool:
        return super().has_own_data or bool(self.given_vectors)

    @property
    def learns_from_pairs(self) -> bool:
        """Whether parallel text adds to the vectors of a dictionary, or takes its place."""
        return self.has_dictionary_vectors and bool(self.data.pairs) and not self.given_vectors

    @property
    def has_dictionary_vectors(self) -> bool:
        """Whether vectors are made of a dictionary, or of the links of pairs, without training."""
        return self.static.training == "dictionary" or bool(self.static.dictionary_dim)

    def check(self, run: Run, path: str) -> None:
        del run, path
        _check_languages(self)
        _check_source(self)
        registry.check_name("aligner", self.align.name)
        if self.static.dictionary_dim:
            _check_concatenation(self)
        if self.static.add_to:
            _check_addition(self)
        if self.static.mine:
            _check_mining(self)
        _check_dictionary(self)
        pairs(self)


def _check_languages(run: StaticRun) -> None:
    """Checks the number of languages, and that given vectors are of two."""
    names = shared.languages(run)
    has_files = bool(run.align.source_vectors), bool(run.align.target_vectors)
    if any(has_files) != all(has_files):
        raise ValueError(
            "config.align.source_vectors and config.align.target_vectors go together: give both "
            "files"
        )
    if all(has_files) and len(names) != 2:
        raise ValueError(
            f"config.data.languages={run.data.languages}: two vector files need two languages, "
            "the source's first: --config.data.languages=de,en"
        )
    if len(names) < 2:
        raise ValueError(
            f"config.data.languages={run.data.languages}: an alignment needs two languages, "
            "e.g. --config.data.languages=de,en"
        )


def _check_source(run: StaticRun) -> None:
    """Checks that the text is of a kind that the training reads."""
    check_source(run.data.source, "text:DIR", PAIRS)
    if run.data.source == PAIRS and not run.learns_from_pairs:
        raise ValueError(
            "config.data.source=pairs reads the sentences of config.data.pairs, for the vectors of a "
            "dictionary and of pairs: --config.data.pairs=DIR --config=configs/dictionary_vectors.py"
        )
    given = run.data.pairs
    tested = [getattr(evaluation, "data", "") for evaluation in run.evals.values()]
    if given and not run.learns_from_pairs and f"{given}@{run.data.held_out}" not in tested:
        raise ValueError(
            f"config.data.pairs={given}: nothing in this run reads it. Vectors of a dictionary learn from "
            "pairs: --config=configs/joint_dictionary.py, or --config=configs/dictionary_vectors.py"
        )
    if run.static.training in ("separate", "dictionary") and run.static.reallocation:
        raise ValueError(
            "config.static.reallocation=True needs joint vectors; with "
            f"config.static.training={run.static.training!r} no word is shared: set it to False"
        )


def _check_concatenation(run: StaticRun) -> None:
    """Checks that there are trained or given vectors beside those of the dictionary."""
    if run.static.training == "dictionary" and not run.given_vectors:
        raise ValueError(
            "config.static.dictionary_dim: config.static.training='dictionary' trains no vectors "
            "to join: set its own width with --config.embeddings.dim"
        )


def _check_addition(run: StaticRun) -> None:
    """Checks a run that adds languages to the space of a finished one."""
    if run.learns_from_pairs:
        raise ValueError(
            "config.static.add_to keeps the vectors of a finished run, and config.data.pairs would change "
            "them: make one run of all languages, or leave config.data.pairs out"
        )
    if run.given_vectors or not run.has_dictionary_vectors:
        raise ValueError(
            "config.static.add_to adds to the vectors of a dictionary, and this run makes none: take "
            "the config of that run, such as configs/joint_dictionary.py"
        )


def _check_mining(run: StaticRun) -> None:
    """Checks that the run has text to mine, and vectors that learn from what is mined."""
    if run.given_vectors:
        raise ValueError(
            "config.static.mine=True looks for translations in text, and vectors that are given "
            "have none: leave config.align.source_vectors out, or set it to False"
        )
    if not run.has_dictionary_vectors:
        raise ValueError(
            "config.static.mine=True adds to the vectors of a dictionary, and this run has none: "
            "--config.static.dictionary_dim=300 sets them beside the trained ones"
        )


def _check_dictionary(run: StaticRun) -> None:
    """Checks that the run has a dictionary if it needs one. Links of given pairs may take its place."""
    static = run.static
    if static.training == "dictionary" and static.refinement:
        raise ValueError(
            "config.static.refinement=True maps vectors that were trained apart, and those of a dictionary "
            "share one space: --config.static.refinement=False"
        )
    aligner = run.align.name
    linked = run.learns_from_pairs
    needs = {
        f"config.static.training={static.training!r}": static.training in ("replace", "duong")
        or (static.training == "dictionary" and not linked),
        f"config.static.dictionary_dim={static.dictionary_dim}": static.dictionary_dim
        and not linked,
        "config.static.mine=True": static.mine and not linked,
        f"config.align.name={aligner!r}": (static.refinement or run.given_vectors)
        and getattr(run.align, aligner).needs_pairs,
    }
    reasons = [option for option, needed in needs.items() if needed]
    if reasons and not run.data.dictionaries:
        raise ValueError(
            f"{reasons[0]} needs a dictionary: set --config.data.dictionaries=DIR, a folder of "
            "xx-yy.txt, or go without one: --config=configs/align_self_learning.py, or "
            "--config=configs/dictionary_vectors.py with --config.data.pairs=DIR, parallel text"
        )


def hub_of(config: StaticRun) -> str:
    """The language whose space the others are mapped to: `config.static.hub`, or the first one.

    The source of two vector files is mapped to the target, so their hub is the second language.
    """
    names = shared.languages(config)
    if config.align.source_vectors:
        return names[1]
    return config.static.hub if config.static.hub in names else names[0]


def pairs(config: StaticRun) -> list[tuple[str, str]]:
    """The directions in which static vectors are evaluated: both directions of every pair.

    Raises:
      ValueError: a pair that does not consist of two of the run's languages.
    """
    names = shared.languages(config)
    if config.align.source_vectors:
        return [(names[0], names[1]), (names[1], names[0])]
    hub = hub_of(config)
    language_pairs = [(hub, name) for name in names if name != hub]
    if config.static.pairs.strip() == "all":
        language_pairs = list(itertools.combinations(names, 2))
    elif config.static.pairs.strip():
        language_pairs = [tuple(pair.strip().split("-")) for pair in config.static.pairs.split(",")]
    for pair in language_pairs:
        if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(names):
            raise ValueError(
                f"config.static.pairs: {'-'.join(pair)!r} is not a pair of two of the languages "
                f"{config.data.languages}; write en-de,en-fr"
            )
    directions = itertools.chain.from_iterable(((a, b), (b, a)) for a, b in language_pairs)
    return list(dict.fromkeys(directions))
