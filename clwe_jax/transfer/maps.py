"""Orthogonal maps of a language model's layers, from word-aligned parallel sentences (E9).

Of every pair of linked words the vectors in context are a pair of anchors: W of a layer is the
orthogonal matrix that minimises the distances (Schuster et al. 2019; Wang et al. 2019,
Cross-lingual BERT Transformation for Zero-shot Dependency Parsing).
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from typing import Any, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import pocket
from clwe_jax.align import procrustes
from clwe_jax.cached import CachedResult
from clwe_jax.encoders import features
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate import word_alignment
from clwe_jax.evaluate.word_alignment import WordAligner
from clwe_jax.objectives import projected
from clwe_jax.options.section import to_dict
from clwe_jax.options.transfer import TransferRun
from clwe_jax.text import stamps
from clwe_jax.text.corpus import alignment_files, parallel, parallel_files
from clwe_jax.text.corpus.alignment_files import AlignmentFiles, Linked
from clwe_jax.text.corpus.parallel_files import LINES, Bitext

POCKET = "pocket"
_SEED = "maps"
_PART = 512  # sentences whose vectors are in memory at once
_MIN_PAIRS = 100  # pairs of words, below which a map is refused

Maps = Mapping[str, Mapping[str, np.ndarray]]  # 'orthogonal' -> language -> [layers, D, D]


def map_model(
    config: TransferRun, workdir: str, model: LoadedEncoder, languages: Sequence[str], state: Any
) -> tuple[LoadedEncoder, dict[str, Any]]:
    """The model with maps of all languages but the first, which `config.data.pairs` asks for.

    The maps are kept in WORKDIR/projection.npz, which `api.load` reads.

    Args:
      languages: the languages of the labelled rows, that of the training rows first.
      state: facts by which a changed encoder is recognised, of which the maps are made again.

    Returns:
      The model, and facts for the records of what is kept: {} without maps.

    Raises:
      ValueError: a model whose layers cannot be mapped, or files that do not fit each other.
      FileNotFoundError: a language has no parallel sentences.
    """
    settings = config.transfer.align
    if not config.data.pairs:
        return model, {}
    if not isinstance(model, LanguageModel) or model.projection is not None:
        raise ValueError(
            f"config.encoder={config.encoder} is not one language model with its own layers: "
            "--config.data.pairs=''"
        )
    target, *sources = languages
    record = {
        **to_dict(settings),
        "pairs": config.training_pairs,
        "encoder": [config.encoder, state],
        "words": config.transfer.words,
        "languages": list(languages),
        "seed": config.seed,
    }

    def make() -> Maps:
        encoder = model.encoder()
        return {"orthogonal": {x: _fit_maps(config, encoder, x, target) for x in sources}}

    maps = CachedResult(
        os.path.join(workdir, projected.FILE),
        record,
        make,
        lambda fitted, path: projected.save(path, fitted, "orthogonal"),
        lambda path: projected.read(path)[0],
        stamps=_stamps(config, languages),
    ).result()["orthogonal"]
    objective = projected.Projected(
        model.objective, {model.tokenizer.language_id(x): matrices for x, matrices in maps.items()}
    )
    return dataclasses.replace(model, projection=objective), {"align": record}


def _stamps(config: TransferRun, languages: Sequence[str]) -> dict[str, str]:
    """Name -> stamp of the files of sentences and links; the embedded world has none."""
    if config.data.pairs == POCKET:
        return {}
    target, *sources = languages
    bitexts = itertools.chain(*(_bitexts(config, source, target) for source in sources))
    links = (_links(config, source, target) for source in sources)
    paths = itertools.chain(*(files.paths for files in bitexts), links)
    return stamps.stamps(filter(os.path.isfile, paths))  # the reader names links that are missing


def _bitexts(config: TransferRun, source: str, target: str) -> list[Bitext]:
    """The files of a pair of languages in config.data.pairs.

    Raises:
      FileNotFoundError: there are none.
    """
    bitexts, _ = parallel_files.find(config.training_pairs, (source, target), "data.pairs")
    if not bitexts:
        raise FileNotFoundError(
            f"config.data.pairs={config.data.pairs} has no sentences of {source}-{target}, languages of the "
            "labelled rows: test fewer languages, or give them"
        )
    return bitexts


def _links(config: TransferRun, source: str, target: str) -> str:
    """The path of a pair's links; '' for none."""
    links = config.transfer.align.links
    return f"{links}.{source}-{target}" if links else ""


def _fit_maps(config: TransferRun, encoder: Encoder, source: str, target: str) -> np.ndarray:
    """The maps of a language's layers into those of `target`, float32 [layers, D, D]."""
    align = config.transfer.align
    names = [field.name for field in dataclasses.fields(WordAligner)]
    aligner = WordAligner(**{name: getattr(align, name) for name in names})
    rows = sentences(config, encoder, source, target)
    products, pairs = cross_products(
        encoder, rows, (source, target), aligner, bool(align.links), config.transfer.words
    )
    logging.info(
        "%s-%s: %s pairs of words from %s sentences", source, target, f"{pairs:,}", f"{len(rows):,}"
    )
    if pairs < _MIN_PAIRS:
        raise ValueError(
            f"config.transfer.align: {len(rows)} sentences of {source}-{target} have {pairs} links; "
            f"a map needs {_MIN_PAIRS}: give more sentences, or another method"
        )
    # The solution of orthogonal Procrustes needs the products alone, not the vectors of all pairs.
    return np.stack([procrustes.polar(product) for product in products]).astype(np.float32)


def cross_products(
    encoder: Encoder,
    rows: Sequence[Linked],
    languages: tuple[str, str],
    aligner: WordAligner,
    uses_gold_links: bool,
    pool: str,
) -> tuple[np.ndarray, int]:
    """The sums of x y' over the vectors x and y of linked words, by layer.

    Args:
      aligner: links the words, unless `uses_gold_links`: then the sure links of the rows are taken.
      pool: a word's vector, of its pieces: 'first', 'mean' or 'max'.

    Returns:
      float64 [layers, D, D]; the number of pairs of words.
    """
    total: np.ndarray | None = None
    count = 0
    layers = word_alignment.layers_of(aligner.layers, encoder.layers)
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        texts = [row.source for row in part], [row.target for row in part]
        sides = word_alignment.sides(encoder, *texts, languages, aligner.level, pool)
        xs = []
        ys = []
        for row, (left, right) in zip(part, sides):
            if uses_gold_links:
                links = np.array(sorted(row.sure), np.int64).reshape(-1, 2)
            else:
                links = np.argwhere(aligner.link_words(left, right, layers))
            if len(links):
                xs.append(features.pool_words(*left, pool)[links[:, 0]])
                ys.append(features.pool_words(*right, pool)[links[:, 1]])
        if xs:
            x, y = (np.concatenate(side).swapaxes(0, 1) for side in (xs, ys))  # [layers, pairs, D]
            # The sum over all parts is in float64; a part's own one is short enough for float32.
            product = np.matmul(x.swapaxes(1, 2), y, dtype=np.float32).astype(np.float64)
            total = product if total is None else total + product
            count += x.shape[1]
    return (np.zeros((encoder.layers, 1, 1)) if total is None else total), count


def sentences(config: TransferRun, encoder: Encoder, source: str, target: str) -> list[Linked]:
    """Sentences of config.data.pairs, cut into words; links where given.

    Raises:
      FileNotFoundError, ValueError: absent files, or files that do not fit each other.
    """
    align = config.transfer.align
    if config.data.pairs == POCKET:
        rows = pocket.link_sentences(source, target, align.sentences, _SEED, "train")
        return [Linked(*row) for row in rows]
    files, *others = bitexts = _bitexts(config, source, target)
    if not align.links:
        return list(_cut(encoder, bitexts, (source, target), align.sentences))
    if files.kind != LINES or others:
        paths = ", ".join(itertools.chain(*(x.paths for x in bitexts)))
        raise ValueError(
            f"config.transfer.align.links={align.links} are links of the lines of two files, such as "
            f"train.{source} and train.{target}: config.data.pairs={config.data.pairs} has {paths}"
        )
    sides = dict(zip((files.source, files.target), files.paths))
    gold_files = AlignmentFiles(
        source, target, _links(config, source, target), (sides[source], sides[target])
    )
    return alignment_files.read(gold_files, align.sentences)


def _cut(
    encoder: Encoder, bitexts: Sequence[Bitext], languages: tuple[str, str], limit: int
) -> Iterator[Linked]:
    """The pairs as words; pairs with a side without words are left out."""
    no_links: frozenset[tuple[int, int]] = frozenset()
    pairs = parallel.read_pair(bitexts, languages, limit)
    for texts in zip(pairs.source, pairs.target):
        words = [encoder.words(text, x) for text, x in zip(texts, languages)]
        if all(words):
            yield Linked(*words, no_links, no_links)
