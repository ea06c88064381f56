"""Projection of a trained bilingual model: one language's space onto another's (A10, Eq. 8).

Anchors are the average contextual embeddings of the dictionary's words, collected in one pass over
the run's text; tokens of both languages' text are added as pairs, test words excepted. Every layer has its map.
With `config.projection.anchors='senses'` the map of the last layer is fitted to the centers of the
senses.
"""

from __future__ import annotations

from itertools import islice
from typing import Iterator, Mapping, Sequence

from absl import logging
import jax
from ml_collections import ConfigDict
import numpy as np
from scipy import linalg

from clwe_jax import api
from clwe_jax import registry
from clwe_jax.align import procrustes
from clwe_jax.evaluate import anchors
from clwe_jax.evaluate.character_encoder import encoder_of
from clwe_jax.evaluate.model_encoder import ModelEncoder
from clwe_jax.jobs import evaluators, inputs
from clwe_jax.jobs.job import FIGURES, Job, Results
from clwe_jax.objectives import projected
from clwe_jax.objectives.projected import Projected
from clwe_jax.report import tables
from clwe_jax.text import dictionary as dictionaries, training_dictionary

ANCHORS = ("words", "senses")
METHODS = {
    "orthogonal": procrustes.Procrustes(preprocess=()),
    "least_squares": procrustes.LeastSquares(preprocess=()),
}
Pairs = Sequence[tuple[str, str]]
Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # vectors of both languages, and pairs of rows


def run(config: ConfigDict, workdir: str) -> bool:
    """Projects the language model in `workdir`; see `Projection`."""
    return Projection(config, workdir).run()


class Projection(Job):
    """Maps the second and further languages onto the first, measures that and saves the maps.

    Figures after it are named 'projected/{method}/...' in results.json; `api.load` applies the maps
    of `config.projection.apply`.
    """

    writes_config = False

    def check(self) -> None:
        """Raises ValueError for an unknown method or kind of anchors, and on several hosts."""
        if jax.process_count() > 1:
            raise ValueError("The projection runs on one host: start it there alone")
        if "projection" not in self.config:
            raise ValueError(
                "This config has no projection: it is not of a language model of several languages"
            )
        settings = self.config.projection
        self.methods = settings.methods.split(",")
        for option, names, known in (
            ("methods", self.methods, METHODS),
            ("apply", [settings.apply], METHODS),
            ("anchors", [settings.anchors], ANCHORS),
        ):
            for name in names:
                if name not in known:
                    raise ValueError(
                        f"config.projection.{option}={name!r}: {registry.nearest(name, known)}"
                    )

    def stages(self):
        """The maps, then their figures."""
        return [("model and text", self._open), ("maps", self._fit), ("evaluation", self._evaluate)]

    def _open(self) -> None:
        self.model = api.load(self.workdir)
        self.objective = self.model.objective
        if len(self.model.languages) < 2:
            raise ValueError(
                f"{self.workdir} holds a model of {', '.join(self.model.languages)} alone: there "
                "is no second language to project"
            )
        if self.config.projection.anchors == "senses" and not self.model.variables.get("senses"):
            raise ValueError(
                f"{self.workdir} holds a model without senses: --config.projection.anchors=words"
            )
        self.world = inputs.open_world(self.config, self.workdir)
        if self.world.dictionary is None or self.world.corpus is None:
            raise ValueError(
                "The projection needs the run's text files and a dictionary: set "
                "--config.data.source=text:DIR and --config.data.dictionaries=DIR"
            )

    def _fit(self) -> None:
        target, *sources = self.model.languages
        self.maps: dict[str, dict[str, np.ndarray]] = {name: {} for name in self.methods}
        self.figures: dict[str, float] = {}
        for source in sources:
            pairs = self._pairs(source, target)
            layers = [[block] for block in self._words(pairs, source, target)]
            if self.config.projection.anchors == "senses":
                layers[-1] = list(self._senses(pairs))
            for name, found in self.maps.items():
                fit = METHODS[name].fit
                found[source] = np.stack([
                    linalg.block_diag(*(fit(*block).source_map for block in blocks))
                    for blocks in layers
                ])  # fmt: skip

    def _pairs(self, source: str, target: str) -> Pairs:
        """The dictionary's pairs, and the tokens of both languages' text that are not tested.

        The paper adds every such token (footnote 6); `identical_min_count` leaves out tokens whose
        mean would be of a few occurrences.
        """
        pairs = dict.fromkeys((a, b) for a, b in self.world.dictionary.pairs(source, target))
        if self.config.projection.identical:
            both = self._tokens(source) & self._tokens(target)
            both -= dictionaries.test_words(
                training_dictionary.tests(self.config, self.world.folders),
                source, target, self.model.tokenizer.normalizer,
            )  # fmt: skip
            logging.info("%s tokens of both %s and %s", f"{len(both):,}", source, target)
            pairs.update(dict.fromkeys((word, word) for word in sorted(both)))
        return list(pairs)

    def _tokens(self, language: str) -> set[str]:
        """The tokens of a language's text that occur often enough."""
        counts, _ = self.world.corpus.count_words(
            language, lambda text: self.model.tokenizer.words(text, language)
        )
        least = self.config.projection.identical_min_count
        return {word for word, count in counts.items() if count >= least}

    def _words(self, pairs: Pairs, source: str, target: str) -> list[Block]:
        """Mean representations of the pairs' words, layer by layer."""
        encoder = encoder_of(self.objective, self.model.tokenizer)
        collected = []
        for side, language in enumerate((source, target)):
            index = {word: row for row, word in enumerate(dict.fromkeys(p[side] for p in pairs))}
            lines = islice(self.world.corpus.lines(language), self.config.projection.lines)
            logging.info("Anchors of %s words (%s)", f"{len(index):,}", language)
            found = anchors.collect(encoder, self.model.variables, lines, language, index)
            collected.append((index, *found))
        (left, x, seen_x), (right, y, seen_y) = collected
        rows = np.array([(left[a], right[b]) for a, b in pairs], np.int32).reshape(-1, 2)
        rows = rows[(seen_x[rows[:, 0]] > 0) & (seen_y[rows[:, 1]] > 0)]
        logging.info("%s pairs of anchors for %s-%s", f"{len(rows):,}", source, target)
        self.figures[f"projected/{source}-{target}/pairs"] = float(len(rows))
        return [(x[:, layer], y[:, layer], rows) for layer in range(x.shape[1])]

    def _senses(self, pairs: Pairs) -> Iterator[Block]:
        """Centers of the senses of the pairs' words, of each direction that has senses."""
        words = self.model.vocabulary.words
        ids = np.array([[words.get(a, -1), words.get(b, -1)] for a, b in pairs]).reshape(-1, 2)
        # A word of both languages has the same senses in both: it carries no information.
        ids = ids[(ids >= 0).all(1) & (ids[:, 0] != ids[:, 1])]
        for direction in self.objective.directions:
            x, y = anchors.centers(self.model.variables["senses"][direction], ids)
            logging.info("%s pairs of senses (%s)", f"{len(x):,}", direction)
            yield x, y, np.repeat(np.arange(len(x), dtype=np.int32)[:, None], 2, axis=1)

    def _evaluate(self) -> None:
        tokenizer = self.model.tokenizer
        context = inputs.context(self.config, self.world)
        names = ("retrieval", "bli")
        made = evaluators.build(self.config, context, self.world.folders, names=names)
        for name, found in self.maps.items():
            numbers = {tokenizer.language_id(x): matrix for x, matrix in found.items()}
            mapped = ModelEncoder(
                Projected(self.objective, numbers), tokenizer, self.model.variables
            )
            measured, _ = evaluators.measure(made, mapped)
            self.figures |= {f"projected/{name}/{x}": value for x, value in measured.items()}

    def results(self) -> Results:
        """The figures before and after the projection."""
        applied = self.config.projection.apply
        projected.save(self.path(projected.FILE), self.maps, applied)
        self.before = self.read(FIGURES)
        return Results({**self.before, **self.figures}, measured=self.figures)

    def show(self, figures: Mapping[str, float]) -> None:
        """Prints the figures before and after the projection."""
        tables.print_projection(self.before, figures)
