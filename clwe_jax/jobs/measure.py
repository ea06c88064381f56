"""The evaluation of static vectors."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import registry
from clwe_jax.api.static import StaticModel
from clwe_jax.evaluate import lexicon, tags as tagged
from clwe_jax.jobs import lexica

Words = Callable[[str, str], Sequence[str]]


def evaluators(config: ConfigDict) -> dict[str, Any]:
    """The evaluators of config.evals; what is wrong with one is said before anything is trained.

    Raises:
      ValueError: an unknown name, option or retrieval method.
    """
    given = {"bli": {"seed": config.seed}}
    return {
        key: registry.build("evaluator", spec.to_dict(), **given.get(key, {}))
        for key, spec in config.evals.items()
    }


def evaluate(
    config: ConfigDict,
    model: StaticModel,
    folders: Mapping[str, str],
    words: Words,
    parts_of_speech: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Figures of lexicon induction, word similarity and sentence retrieval, and rows of words.

    Args:
      config: `evals` and which pairs.
      model: the vectors.
      folders: what 'pocket' stands for.
      words: (text, language) -> its words as the vectors spell them.
      parts_of_speech: language -> word -> tag, where known.

    Returns:
      Figures as results.json has them; the rows of `LexiconInduction.measure`, with their 'pair'.
    """
    figures: dict[str, float] = {}
    rows: list[dict[str, Any]] = []
    made = evaluators(config)
    spellings = model.normalizer
    if folders["bli"]:
        found, _ = lexica.tests(folders["bli"], options.pairs(config), spellings)
        for test in found:
            known = dict(parts_of_speech.get(test.source, {}))
            if made["bli"].tags:
                known |= tagged.read(made["bli"].tags, test.source, spellings)
            source, target = model.space(test.source, test.target)
            came = made["bli"].measure(test, source, target, known)
            figures |= {f"bli/{test.name}/{name}": v for name, v in came.figures.items()}
            rows += [{"pair": test.name, **row} for row in came.rows]
            _say_coverage(test, came.figures)
        figures |= lexicon.means(figures)
    if made["similarity"].data:
        figures |= dict(made["similarity"].run(model.languages, model.space, spellings))
    if folders["retrieval"]:
        sentences = registry.build(
            "evaluator", {**config.evals.retrieval.to_dict(), "data": folders["retrieval"]}
        )
        figures |= dict(sentences.run(model.languages, model.space, words))
    return figures, rows


def _say_coverage(test: Any, figures: Mapping[str, float]) -> None:
    if not figures["coverage"]:
        logging.warning(
            "%s: none of the %d test words is covered by the vectors (%.0f%% of the source words "
            "have none)",
            test.name, figures["words"], 100 * figures["oov"],
        )  # fmt: skip
