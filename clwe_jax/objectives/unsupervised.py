"""Translation learned from text without translations (Lample et al. 2018; Wang et al. 2020, 3.3; E10).

Two losses share one model. A denoising autoencoder writes a text from its noised copy, in the text's
own language. Back-translation lets the model of this very step translate the text into another
language, without a gradient, and then writes the text from its translation. The decoder starts from
word vectors of one space (`config.init`), without which the first translations are arbitrary.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models.translator import Translator
from clwe_jax.objectives import noise
from clwe_jax.objectives.translation import TranslationObjective, padding_share
from clwe_jax.options.objectives import UnsupervisedTranslationOptions
from clwe_jax.text.vocab.base_vocab import MASK
from clwe_jax.types import Array, Batch, Sums, Variables


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class UnsupervisedTranslation(TranslationObjective, UnsupervisedTranslationOptions):
    """Denoising and back-translation (`types.Objective`, `types.Encodes`, `types.Generates`).

    Attributes:
      model: encoder and decoder, of two languages or more.
    """

    model: Translator

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch.

        Returns:
          inputs: int32 [rows, length], pieces of a text with its end, then padding.
          words: int32 [rows, length], the number of each piece's word in its text.
          language_ids: int32 [rows], the text's language.
        """
        pieces = jax.ShapeDtypeStruct((rows, length), np.int32)
        languages = jax.ShapeDtypeStruct((rows,), np.int32)
        return dict(inputs=pieces, words=pieces, language_ids=languages)

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], dict[str, Any]]:
        """The weighted sum of both losses, per piece of the texts; nothing is observed.

        Returns:
          'loss', 'denoising_loss', 'denoising_weight', 'padding' and, of weight 0 before `translate_after`,
          'accuracy' (of back-translation), 'translation_loss' and 'written' (pieces of a translation over
          pieces of its text). Without `train` the noise and the languages of translations are always the same.
        """
        key = rngs["dropout"] if rngs else jax.random.key(0)
        texts = batch["inputs"]
        languages = batch["language_ids"]
        noise_key, language_key, *keys = jax.random.split(key, 4)
        weight = self.denoising_weight(step)
        pair = dict(targets=texts, language_ids=languages)
        inputs = self.add_noise(batch, noise_key)
        noised = {**pair, "inputs": inputs, "source_language_ids": languages}
        first = self._sums(variables, noised, keys[0], train)
        translations, other_languages = self.translate_back(variables, batch, step, language_key)
        translated = {**pair, "inputs": translations, "source_language_ids": other_languages}
        # Too early, back-translation ends with one sentence for all texts (docs/lessons.md).
        on = (jnp.asarray(step) >= self.translate_after).astype(jnp.float32)
        second = self._sums(variables, translated, keys[1], train)
        second = jax.tree.map(lambda x: on * x, second)  # before that step it measures copying
        real = texts != self.marks.pad
        one = jnp.float32(1)
        total = first["loss"].weight
        return {
            # Both losses have the same targets, and so the same weight.
            "loss": Sums(weight * first["loss"].value + second["loss"].value, total),
            "accuracy": second["accuracy"],
            "denoising_loss": first["loss"],
            "translation_loss": second["loss"],
            "denoising_weight": Sums(weight, one),
            "written": Sums(on * (translations != self.marks.pad).sum(), second["loss"].weight),
            "padding": padding_share(real),
        }, {}

    def denoising_weight(self, step: Array | int) -> Array:
        """The weight of the autoencoder's loss at a step, float32 []."""
        steps, weights = zip(*self.denoising)
        return jnp.interp(jnp.asarray(step, jnp.float32), jnp.float32(steps), jnp.float32(weights))

    def add_noise(self, batch: Batch, key: Array) -> Array:
        """The texts with words dropped, moved and blanked, int32 [B, L]."""
        texts = batch["inputs"]
        marks = self.marks
        return noise.add_noise(
            texts,
            batch["words"],
            noise.draws(key, texts.shape),
            shuffle=self.shuffle,
            drop=self.drop,
            blank=self.blank,
            blank_id=self.specials[MASK],
            end=marks.end,
            pad=marks.pad,
        )

    def translate_back(
        self, variables: Variables, batch: Batch, step: Array | int, key: Array
    ) -> tuple[Array, Array]:
        """The texts in another language each, by greedy search without a gradient.

        Returns:
          Pieces, int32 [B, L], and the languages, int32 [B]. Before `translate_after` the pieces are
          those of the texts themselves.
        """
        texts = batch["inputs"]
        languages = batch["language_ids"]
        count = self.model.languages
        # Any language but the text's own.
        into = (languages + jax.random.randint(key, languages.shape, 1, count)) % count
        params = jax.lax.stop_gradient(variables["params"])

        def write() -> Array:
            source_batch = {"inputs": texts, "source_language_ids": languages, "language_ids": into}
            return self.decode({"params": params}, source_batch, length=texts.shape[1])

        if not self.translate_after:
            return write(), into
        on = jnp.asarray(step) >= self.translate_after
        # Not `where`, which would search the translations also before that step.
        return jax.lax.cond(on, write, lambda: texts), into

    def _sums(self, variables: Variables, batch: Batch, key: Array, train: bool) -> dict[str, Sums]:
        return self.cross_entropy(variables, batch, {"dropout": key}, train)
