"""A model as one of mteb 2 (Enevoldsen et al. 2025): `clwe_jax.mteb(model)` goes into `mteb.evaluate`.

The protocol is `mteb.models.EncoderProtocol`: batches of texts with the metadata of their task in, vectors out,
a similarity, and a description. mteb itself is imported for the description alone.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from clwe_jax import __version__
from clwe_jax.align import search
from clwe_jax.api.model import Model
from clwe_jax.encoders.concatenated import ConcatenatedModels
from clwe_jax.text.words import languages as language_codes

_JUDGED = 200  # texts by whose words a side's language is told
# Fields that mteb asks for, and of which a model of ours knows nothing.
_UNKNOWN = """loader release_date n_parameters memory_usage_mb max_tokens license open_weights
    public_training_code public_training_data reference training_datasets"""


class MtebModel:
    """A `Model` with the methods that mteb's tasks call."""

    def __init__(self, model: Model, name: str = "clwe_jax/model"):
        """Args:
        model: the model, which has vectors of sentences.
        name: its name in mteb's results, 'OWNER/MODEL'.
        """
        self.model = model
        self.name = name

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str = "",
        hf_subset: str = "default",
        prompt_type: Any = None,
        **options: Any,
    ) -> np.ndarray:
        """The vectors of the texts, float32 [N, D].

        mteb names the languages of a subset, and not which of two a text is in: it is the one whose words the model knows.

        Args:
          inputs: batches with a list of strings under 'text'.
          task_metadata: of the task, whose `hf_subsets_to_langscripts` has the subset's languages.
          hf_split, prompt_type, options: have no effect.
        """
        del hf_split, prompt_type, options
        texts = list(itertools.chain.from_iterable(batch["text"] for batch in inputs))
        tags = task_metadata.hf_subsets_to_langscripts.get(hf_subset) or task_metadata.languages
        return self.model.encode(texts, self._language(texts, tags))

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Cosines of all pairs, a tensor [N, M]."""
        first, second = (search.unit(np.asarray(x, np.float32)) for x in (embeddings1, embeddings2))
        return _tensor(np.asarray(first @ second.T))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Cosines of pairs, a tensor [N]."""
        first, second = (search.unit(np.asarray(x, np.float32)) for x in (embeddings1, embeddings2))
        return _tensor(np.asarray((first * second).sum(-1)))

    @functools.cached_property
    def mteb_model_meta(self) -> Any:
        """mteb's description of the model; RuntimeError without mteb."""
        try:
            from mteb.models import ModelMeta
        except ImportError as error:
            raise RuntimeError("mteb is missing: pip install 'mteb>=2'") from error
        return ModelMeta(
            name=self.name,
            revision=__version__,
            languages=[iso_script(x) for x in self.model.languages],
            embed_dim=self.model.dim,
            framework=[],
            similarity_fn_name="cosine",
            use_instructions=False,
            **dict.fromkeys(_UNKNOWN.split()),
        )

    def _language(self, texts: Sequence[str], named: Sequence[str]) -> str:
        """The model's language of texts in one of mteb's languages, such as 'kab-Latn'.

        Raises:
          ValueError: the model lacks one of them.
        """
        codes = {language_codes.parse_tag(x).code: x for x in named}
        known = [language_codes.parse_tag(x).code for x in self.model.languages]
        if lacking := [name for code, name in codes.items() if code not in known]:
            raise ValueError(
                f"this model has no {', '.join(lacking)}, only {', '.join(self.model.languages)}"
            )
        candidates = [x for x, code in zip(self.model.languages, known) if code in codes]
        if len(candidates) == 1:
            return candidates[0]
        return max(candidates, key=functools.partial(self._count_known, texts[:_JUDGED]))

    def _count_known(self, texts: Sequence[str], language: str) -> int:
        """How many of the texts' words the model knows in a language; of two encoders, what each knows."""
        loaded = self.model.loaded
        models = [self.model]
        if isinstance(loaded, ConcatenatedModels):
            models = [Model(loaded.first), Model(loaded.second)]
        words = itertools.chain.from_iterable(map(str.split, texts))
        asked = itertools.product(models, words)
        return sum(model.knows(word, language) for model, word in asked)


def iso_script(language: str) -> str:
    """A language as mteb names it, by ISO 639-3 and its script: 'kab-Latn' of 'kab', 'zho-Hant' of 'zh_Hant'."""
    tag = language_codes.parse_tag(language)
    script = tag.script or language_codes.default_script(tag.code)
    return f"{language_codes.three_letters(tag.code)}-{script or 'Latn'}"


def _tensor(scores: np.ndarray) -> Any:
    """mteb's tasks go on with torch, which comes with it."""
    try:
        import torch
    except ImportError:
        return scores
    return torch.from_numpy(scores)
