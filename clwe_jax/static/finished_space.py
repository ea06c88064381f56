"""Adds languages to a finished space, whose own languages keep their vectors.

A new language is computed with the hub alone, so that time and memory are those of two languages:
- Vectors of its dictionary words, and of words that are guessed from their spelling, are derived from the
  finished vectors of the hub's words as in any run, with the finished run's vectors of n-grams.
- Its trained vectors are learned from its text and the hub's, and rotated so that the hub's words meet
  their finished vectors.
The method is this project's own.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import numpy as np

from clwe_jax import options
from clwe_jax.align import procrustes
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.packed import Packed
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import FixedHub
from clwe_jax.encoders import spaces
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options import folder
from clwe_jax.options.section import to_dict
from clwe_jax.options.static import StaticRun
from clwe_jax.text.corpus import frequencies


@dataclasses.dataclass(frozen=True, eq=False)
class FinishedSpace:
    """A finished space.

    Attributes:
      model: its vectors.
      hub: the dictionary's part of the hub's vectors.
      trained_dim: width of the trained part, which stands last; 0: there is none.
    """

    model: StaticSpaces
    hub: FixedHub
    trained_dim: int

    def rotate(self, trained: Mapping[str, Vectors]) -> dict[str, Vectors]:
        """Trained vectors, rotated so that the hub's words meet those of the finished space.

        Args:
          trained: language -> vectors in one space, of the finished one's width; the hub among them.

        Raises:
          ValueError: another width.
        """
        new = trained[self.model.hub]
        old = self.model.raw[self.model.hub]
        if new.dim != self.trained_dim:
            raise ValueError(
                f"config.embeddings.dim={new.dim}: the trained part of config.static.add_to has "
                f"{self.trained_dim} dimensions; give the options of that run"
            )
        # The part in the finished space has its mean subtracted, as `concatenate.vectors` will do with the new one.
        old_part = old.vectors[:, -new.dim :].astype(np.float32)
        rows = old.rows(new.own_keys)
        # Words that only the dictionary knows have zeros there, which must not count as pairs.
        rows = np.where((rows >= 0) & (np.abs(old_part[rows]).max(1) > 0), rows, -1)
        shared_rows = np.flatnonzero(rows >= 0)
        ours = unit(new.vectors - new.vectors.mean(0))[shared_rows]
        theirs = unit(old_part[rows[shared_rows]])
        rotation = procrustes.orthogonal(ours, theirs).astype(np.float32)
        return {
            language: dataclasses.replace(vectors, vectors=vectors.vectors @ rotation)
            for language, vectors in trained.items()
        }

    def extend(self, new: StaticSpaces) -> StaticSpaces:
        """The finished space with the languages of `new`, and with the hub's words that it lacked."""
        old = self.model
        beside = {x: new.vectors(x).with_spellings(new.spellings.get(x, {})) for x in new.languages}
        hub, hub_rows = _append_new(old.raw[old.hub], beside.pop(old.hub))
        raw = {**old.raw, old.hub: hub, **beside}
        # The old ones come first, because priors are loaded in this order, and the hub's may have one.
        regressions = dict(old.spelling.regressions)
        for language in beside:
            fitted = new.spelling.regressions[language]
            # Its prior is a copy of the hub's regression, and a file holds priors by the languages' own.
            prior = regressions[old.hub] if fitted.prior else None
            regressions[language] = dataclasses.replace(fitted, prior=prior)
        spelling = dataclasses.replace(
            old.spelling, compared=new.spelling.compared, regressions=regressions
        )
        return dataclasses.replace(
            old,
            raw=raw,
            spelling=spelling,
            frequencies=frequencies.join_counts([new.frequencies, old.frequencies]),
            entries=old.entries.with_words(raw, {old.hub: hub_rows}),
        )


def load(config: StaticRun) -> FinishedSpace:
    """The finished space of `config.static.add_to`.

    Raises:
      FileNotFoundError: its folder holds no vectors.
      ValueError: it has one of the new languages or lacks the hub, it was made with other options, or
        it has no vectors that languages can be added to.
    """
    path = config.static.add_to
    model = spaces.load(path)
    fault = _find_fault(config, model, to_dict(folder.read_config(path)))
    if fault:
        raise ValueError(f"config.static.add_to={path}: {fault}")
    hub = model.hub
    spelling = model.spelling
    vectors = model.raw[hub]
    if isinstance(vectors.vectors, Packed):  # their columns cannot be taken, nor rows be added
        vectors = vectors.to_float16()
        model = dataclasses.replace(model, raw={**model.raw, hub: vectors})
    regression = spelling.regressions[hub]
    width = regression.factors.shape[1]
    part = dataclasses.replace(vectors, vectors=vectors.vectors[:, :width].astype(np.float32))
    fixed = FixedHub(hub, part, spelling.ngrams, regression)
    # The n-grams themselves have a part between that of the dictionary and the trained one.
    trained_dim = vectors.dim - width - spelling.dim if config.static.dictionary_dim else 0
    return FinishedSpace(model, fixed, trained_dim)


def _find_fault(config: StaticRun, model: StaticSpaces, before: Mapping[str, Any]) -> str:
    """Why a run cannot add languages to a model with the options `before`; '' where it can."""
    hub = model.hub
    if options.hub_of(config) != hub:
        return f"its hub is {hub}: give --config.static.hub={hub} --config.data.languages={hub},xx"
    repeated = set(options.languages(config)).intersection(model.languages) - {hub}
    if repeated:
        return f"it has {', '.join(sorted(repeated))}: leave them out of --config.data.languages"
    if model.spelling is None or model.alignments:
        return (
            "it has no vectors of a dictionary with n-grams; configs/joint_dictionary.py makes them"
        )
    if model.spelling.paired:
        return (
            "it learned from given pairs, which say nothing of other languages: make one run of all languages, "
            "or of the finished ones without config.data.pairs"
        )
    values = to_dict(config)
    for part, names in (
        ("static", ("training", "dictionary_dim", "trained_length", "words")),
        ("embeddings", ("dim",)),
        ("data", ("lower_case", "simplify_chinese")),
        ("", ("seed",)),
    ):
        ours = values[part] if part else values
        theirs = before[part] if part else before
        for name in names:
            if ours[name] != theirs[name]:
                key = f"{part}.{name}".lstrip(".")
                return f"config.{key} is {theirs[name]} there and {ours[name]} here: give the same"
    return ""


def _append_new(old: Vectors, new: Vectors) -> tuple[Vectors, np.ndarray]:
    """The old vectors and those of new words, most frequent first; and the row of each old word there."""
    rows = np.flatnonzero(old.rows(new.own_keys) < 0)
    words = [*old.words, *(new.words[row] for row in rows.tolist())]
    keys = [*old.own_keys, *(new.own_keys[row] for row in rows.tolist())]
    old_counts = [np.zeros(len(x), np.int64) if x.counts is None else x.counts for x in (old, new)]
    counts = np.concatenate([old_counts[0], old_counts[1][rows]])
    vectors = np.concatenate([old.vectors, new.vectors[rows].astype(old.vectors.dtype)])
    # Stable: among words of one count those of the finished space stay first.
    order = np.argsort(-counts, kind="stable")
    ordered = Vectors(words, vectors, counts, keys=keys).take(order)
    return ordered, np.argsort(order)[: len(old)]
