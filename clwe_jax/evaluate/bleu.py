"""BLEU and chrF of translations, by sacrebleu (Papineni et al. 2002; Popovic 2015; Post 2018).

A model that generates translates sentences. Static vectors translate word by word, which is the floor
of every system without parallel text (Lample et al. 2018, section 4.3).
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
from typing import Any, Iterator, Sequence

from clwe_jax.encoders.protocols import Encoder
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.encoders.translate import generates, join_words, translate
from clwe_jax.evaluate import bleu_page
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.word_by_word import word_by_word
from clwe_jax.options.evaluators import BleuEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.corpus import parallel
from clwe_jax.text.words.words import is_unspaced

_EXAMPLES = 3  # translations of a direction that the report shows


def tokenizer_of(language: str, expected: Sequence[str]) -> str:
    """The name of sacrebleu's tokenizer for a language.

    'zh'; 'ja-mecab' where MeCab and its dictionary are installed (pip install sacrebleu[ja]); else
    'char' for text in scripts without spaces, and '13a'.
    """
    if language == "zh":
        return "zh"
    if language == "ja" and all(importlib.util.find_spec(name) for name in ("MeCab", "ipadic")):
        return "ja-mecab"
    letters = "".join(expected)
    return "char" if sum(map(is_unspaced, letters)) > len(letters) / 2 else "13a"


def scores(
    translations: Sequence[str], expected: Sequence[str], language: str
) -> tuple[float, float, str]:
    """BLEU and chrF, 0 to 100, and the signature of both, which names the tokenizer.

    Args:
      expected: the translations' references, spelled alike.
      language: their language, which chooses sacrebleu's tokenizer.
    """
    from sacrebleu.metrics import BLEU, CHRF  # of the extra 'train'

    tokenize = tokenizer_of(language, expected)
    bleu = BLEU(tokenize=tokenize, force=True)  # no warning of split full stops
    chrf = CHRF()
    values = [metric.corpus_score(translations, [expected]).score for metric in (bleu, chrf)]
    return *values, f"{bleu.get_signature()}, {chrf.get_signature()}"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Bleu(ByIdentity, BleuEvaluation):
    """BLEU and chrF of a model's translations in both directions of each language pair.

    Both sides are compared as the run spells words (normalised), so that the figures do not depend
    on how spaces are put back, and are no scores of a shared task.

    Attributes:
      examples: for each direction a few translations and sacrebleu's signature.
    """

    headlines = bleu_page.HEADLINES
    section = staticmethod(bleu_page.section)

    context: Context
    examples: list[dict[str, Any]] = dataclasses.field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_data:
            importlib.import_module("sacrebleu")  # where it is missing, the run ends at its start
            _ = self._pairs

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields bleu/{src}-{trg} and chrf/{src}-{trg}, 0 to 100, and their means bleu/mean, chrf/mean.

        Raises:
          ValueError: a model that neither writes text nor is static vectors.
        """
        if not generates(model) and not isinstance(model, StaticEncoder):
            raise ValueError(
                "The evaluator 'bleu' measures translations, and this model writes no text: take it "
                "out of config.evals"
            )
        self.examples.clear()
        totals: list[tuple[float, float]] = []
        for pair, pairs in self._pairs:
            sides = {pair.source: pairs.source, pair.target: pairs.target}
            for source, target in ((pair.source, pair.target), (pair.target, pair.source)):
                translations = self._translate(model, sides[source], source, target)
                references = [join_words(model.words(text, target)) for text in sides[target]]
                bleu, chrf, signature = scores(translations, references, target)
                yield f"bleu/{source}-{target}", bleu
                yield f"chrf/{source}-{target}", chrf
                totals.append((bleu, chrf))
                examples = zip(sides[source], translations, references)
                self.examples.extend(
                    {
                        "direction": f"{source}-{target}",
                        "source": text,
                        "translation": written,
                        "reference": right,
                        "signature": signature,
                    }
                    for text, written, right in list(examples)[:_EXAMPLES]
                )
        if totals:
            yield "bleu/mean", sum(x for x, _ in totals) / len(totals)
            yield "chrf/mean", sum(x for _, x in totals) / len(totals)

    def _translate(
        self, model: Encoder, texts: Sequence[str], source: str, target: str
    ) -> list[str]:
        if generates(model):
            return translate(model, texts, source, target, self.width, self.penalty)
        return word_by_word(model, texts, source, target)

    @functools.cached_property
    def _pairs(self) -> list[tuple[parallel.Bitext, parallel.SentencePairs]]:
        return self.context.read_pairs(self.data, self.name, self.max_sentences)
