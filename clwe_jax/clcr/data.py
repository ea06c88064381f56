"""The two encoders of a CLCR run, its parallel sentences, and the vectors of their words."""

from __future__ import annotations

import dataclasses
import os
from typing import Iterator, Mapping, NamedTuple, Sequence

from absl import logging

from clwe_jax import options, pocket, presets
from clwe_jax.align import whitening
from clwe_jax.align.sentences import WordPieces
from clwe_jax.clcr import vectors
from clwe_jax.encoders import clcr_models
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.clcr_models import Space
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.evaluate import word_alignment
from clwe_jax.options import tasks
from clwe_jax.options.clcr import ClcrOptions, ClcrRun
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.pretrain.job import Pretraining
from clwe_jax.text import pocket_files
from clwe_jax.text import stamps as file_stamps
from clwe_jax.text.corpus import alignment_files, parallel
from clwe_jax.text.corpus.alignment_files import Linked
from clwe_jax.text.corpus.parallel import SentencePairs
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Encodes

POCKET = "pocket"
SIDES = ("source", "target")
_SEED = "clcr"  # of the training sentences of the embedded world
_PAPERS_DEPTH = 3 / 4  # layer 9 of 12
_ENCODERS = "encoders"  # folder of the encoders that a run trained
_DEV = "links-dev"  # seed of the development sentences
# Options of the text that the encoders read like the run.
_SHARED = (
    "source",
    "lower_case",
    "simplify_chinese",
    "pocket_sentences",
    "pocket_domains",
    "pocket_shared",
    "pocket_apart",
    "pocket_shared_order",
)
_NONE: frozenset[tuple[int, int]] = frozenset()


class ParallelRows(NamedTuple):
    """The parallel sentences of a run, cut into words; `gold`: the test sentences have gold links."""

    train: Sequence[Linked]
    test: Sequence[Linked]
    gold: bool


def encoder_config(config: ClcrRun, language: str) -> PretrainRun:
    """The config of a monolingual masked language model that the run trains first."""
    base = options.parse(presets.start_from("mbert", config.scale))
    settings = config.clcr.encoder
    run = options.with_values(
        base,
        {
            "system": f"MLM ({language})",
            "seed": config.seed,
            "data": {
                "languages": language,
                "dictionaries": "",
                "max_predictions": 0,
                **{name: getattr(config.data, name) for name in _SHARED},
            },
            # Post-norm stays on the unigram plateau for 6,000 steps, pre-norm for less than 1,000.
            "model": {"norm": "pre", "condition_on_language": False, "language_embeddings": False},
            "vocab": {"kind": settings.vocab_kind, "size": settings.vocab_size},
            "train.steps": settings.steps,
            "checkpoint.every_steps": settings.steps,
            "optimizer.warmup_steps": min(base.optimizer.warmup_steps, settings.steps // 5),
        },
    )
    mlm = dataclasses.replace(base.evals["mlm"], every_steps=0)
    # The masks of mBERT's paper.
    return dataclasses.replace(run, task=tasks.Mlm(), evals={"mlm": mlm})


def hub_folders(settings: ClcrOptions) -> list[str]:
    """The folders of `config.clcr.hub`."""
    return [x.strip() for x in settings.hub.split(",") if x.strip()]


def _given_encoders(config: ClcrRun) -> dict[str, str]:
    """Language -> the encoder that the config names, or ''; the target's may come from a hub's run."""
    source, target = options.languages(config)
    addresses = {source: config.clcr.source, target: config.clcr.target}
    for folder in hub_folders(config.clcr)[:1]:
        addresses[target] = clcr_models.encoders_of(folder).get(target, "")
    return addresses


def encoder_addresses(config: ClcrRun, workdir: str) -> dict[str, str]:
    """Language -> its encoder, 'run:DIR' or 'hf:DIR', the source's first."""
    return {
        name: place or f"run:{os.path.join(workdir, _ENCODERS, name)}"
        for name, place in _given_encoders(config).items()
    }


def open_given_encoders(config: ClcrRun) -> dict[str, LanguageModel]:
    """Language -> the language model that the config names, opened before any other is trained.

    Raises:
      ValueError: an encoder that is no language model, that has not learned its language, or that has
        not the layers of the config.
    """
    models: dict[str, LanguageModel] = {}
    for side, (language, place) in zip(SIDES, _given_encoders(config).items()):
        if place:
            models[language] = _open_encoder(config.clcr, side, language, place)
            layers_of(config, language, models[language].encoder().layers)
        else:
            layers = encoder_config(config, language).model.layers
            layers_of(config, language, layers + 1)
    return models


def train_missing_encoders(config: ClcrRun, workdir: str) -> bool:
    """Trains the encoders that the config does not name; False where a signal stopped it."""
    for name, place in _given_encoders(config).items():
        if not place:
            folder = os.path.join(workdir, _ENCODERS, name)
            if not Pretraining(encoder_config(config, name), folder).run():
                return False
    return True


def open_encoders(
    config: ClcrRun, workdir: str, models: Mapping[str, LanguageModel] | None = None
) -> dict[str, LanguageModel]:
    """Language -> its language model, the source's first.

    Args:
      models: those that are open, by language.
    """
    return {
        language: (models or {}).get(language) or _open_encoder(config.clcr, side, language, place)
        for side, (language, place) in zip(SIDES, encoder_addresses(config, workdir).items())
    }


def _open_encoder(settings: ClcrOptions, side: str, language: str, place: str) -> LanguageModel:
    if side == "target" and hub_folders(settings):
        # The hub's model, which its run may have fine-tuned, and not the encoder that it began with.
        model = dataclasses.replace(
            encoders.of_folder(hub_folders(settings)[0]).models[language], projection=None
        )
    else:
        model = encoders.load(place, [language])
    if not isinstance(model, LanguageModel) or not isinstance(model.objective, Encodes):
        raise ValueError(
            f"config.clcr.{side}={place} is no language model, whose layers CLCR maps: train one "
            f"with --config=configs/mbert.py --config.data.languages={language} "
            "--config.data.dictionaries="
        )
    if language not in model.languages:
        raise ValueError(
            f"config.clcr.{side}={place} is a model of {', '.join(model.languages)}, and the "
            f"{side} is {language!r}: change it, or --config.data.languages (source,target)"
        )
    return model


def layers_of(config: ClcrRun, language: str, count: int) -> tuple[int, ...]:
    """The layers of a language's model that are mapped.

    Args:
      count: the model's layers, with that of the embeddings.

    Raises:
      ValueError: there are no such layers.
    """
    settings = config.clcr
    layer = settings.layer
    option = "config.clcr.layer"
    if layer == "" and settings.faithful:
        layer = round(_PAPERS_DEPTH * (count - 1))
    elif layer == "" and not _given_encoders(config)[language]:
        layer = settings.encoder.layer
        option = "config.clcr.encoder.layer"
    try:
        return tuple(word_alignment.layers_of(layer, count))
    except ValueError as error:
        raise ValueError(f"{option}, the model of {language}: {error}") from error


def stamps(config: ClcrRun, more: Sequence[str] = ()) -> dict[str, str]:
    """Name -> stamp of the files of parallel sentences and gold links, and of `more`."""
    settings = config.clcr
    pair = options.languages(config)
    paths = list(more)
    if settings.parallel != POCKET:
        for files in parallel.find(settings.parallel, pair, "clcr.parallel"):
            paths += files.paths
    if settings.gold not in ("", POCKET):
        for files in alignment_files.find(settings.gold, pair, "config.clcr.gold"):
            paths += [files.links, *files.sides]
    return file_stamps.stamps(paths)


def training_rows(config: ClcrRun, tokenizers: Mapping[str, Tokenizer]) -> list[Linked]:
    """The parallel sentences of the training, cut into words.

    Raises:
      ValueError, FileNotFoundError: no files, or files that do not fit each other.
    """
    settings = config.clcr
    source, target = options.languages(config)
    if settings.parallel == POCKET:
        domains = pocket_files.domains(config.data)
        rows = pocket.link_sentences(source, target, settings.sentences, _SEED, "train", domains)
        return [Linked(*row) for row in rows]
    bitexts = parallel.find(settings.parallel, (source, target), "clcr.parallel")
    pairs = parallel.read_pair(bitexts, (source, target), settings.sentences)
    return list(_cut(tokenizers, pairs, (source, target), settings.length))


def _cut(
    tokenizers: Mapping[str, Tokenizer],
    pairs: SentencePairs,
    languages: tuple[str, str],
    length: int,
) -> Iterator[Linked]:
    """Sentences as words; pairs with a longer or an empty side are left out."""
    left_out = 0
    for pair in zip(pairs.source, pairs.target):
        words = [tokenizers[x].words(text, x) for text, x in zip(pair, languages)]
        if all(0 < len(side) <= length for side in words):
            yield Linked(words[0], words[1], _NONE, _NONE)
        else:
            left_out += 1
    if left_out:
        logging.warning(
            "%d sentence pairs are left out: a side has no word, or more than %d words "
            "(config.clcr.length)",
            left_out,
            length,
        )


def test_rows(config: ClcrRun) -> list[Linked]:
    """Sentences with gold links of `config.clcr.gold`; [] where it is ''.

    Raises:
      ValueError, FileNotFoundError: as of `alignment_files`, or no links of the two languages.
    """
    pair = options.languages(config)
    rows = gold_rows(config, pair)
    if config.clcr.gold and not rows:
        raise ValueError(
            f"config.clcr.gold={config.clcr.gold} has no gold links of {' and '.join(pair)} "
            f"(config.clcr.gold_part={config.clcr.gold_part})"
        )
    return rows


def gold_rows(config: ClcrRun, pair: Sequence[str]) -> list[Linked]:
    """Sentences of two languages with gold links of `config.clcr.gold`; [] where it has none.

    The development sentences are others than the test sentences: of the embedded world from another
    draw, of a file those that follow.
    """
    settings = config.clcr
    source, target = pair
    if not settings.gold:
        return []
    count = settings.test_sentences
    dev = settings.gold_part == "dev"
    if settings.gold == POCKET:
        domains = pocket_files.domains(config.data)
        rows = pocket.link_sentences(source, target, count, "links", "heldout", domains)
        if dev:
            tests = {*(row[0] for row in rows), *(row[1] for row in rows)}
            # Twice as many as asked for, because sentences of the test set are left out.
            rows = pocket.link_sentences(source, target, 2 * count, _DEV, "heldout", domains)
            rows = [row for row in rows if tests.isdisjoint(row[:2])][:count]
        return [Linked(*row) for row in rows]
    for files in alignment_files.find(settings.gold, (source, target), "config.clcr.gold"):
        rows = alignment_files.read(files, 2 * count if dev else count)[count if dev else 0 :]
        if (files.source, files.target) == (source, target):
            return rows
        if (files.source, files.target) == (target, source):
            return [
                Linked(x.target, x.source, *(frozenset((j, i) for i, j in y) for y in x[2:]))
                for x in rows
            ]
    return []


def read_sentences(config: ClcrRun, tokenizers: Mapping[str, Tokenizer]) -> ParallelRows:
    """The training and the test sentences.

    Without gold links a tenth of the training sentences are the test sentences. No pair is in both.
    """
    train = training_rows(config, tokenizers)
    test = test_rows(config)
    gold = bool(test)
    if not gold:
        count = max(1, min(len(train) // 10, config.clcr.test_sentences))
        test = train[:count]
        train = train[count:]
    # Subtitles and the like repeat lines.
    tested = {("".join(row.source), "".join(row.target)) for row in test}
    if gold:  # its words are as in their file, and not as the tokenizers cut and normalise them
        cut = lambda words, x: "".join(tokenizers[x].words(" ".join(words), x))
        source, target = options.languages(config)
        tested = {(cut(row.source, source), cut(row.target, target)) for row in test}
    most = len(train)
    train = [row for row in train if ("".join(row.source), "".join(row.target)) not in tested]
    if len(train) < most:
        logging.info("%d training pairs are left out: they are test pairs", most - len(train))
    logging.info("%s training and %s test sentences", f"{len(train):,}", f"{len(test):,}")
    if not train:
        raise ValueError("config.clcr.parallel: no sentence pair is left to learn from")
    return ParallelRows(train, test, gold)


def fit_spaces(
    config: ClcrRun,
    models: Mapping[str, LanguageModel],
    rows: Sequence[Linked],
    given_spaces: Mapping[str, Space],
    folder: str | None = None,
) -> tuple[dict[str, Space], list[WordPieces]]:
    """Each language's layers and whitening, learned on the training sentences, and the pieces of both
    sides in these spaces. The sentences are encoded once.

    Args:
      given_spaces: the spaces of languages whose whitening is not learned again.
      folder: of the files of vectors.
    """
    settings = config.clcr
    spaces = {}
    sides = []
    for side, (language, model) in zip(SIDES, models.items()):
        space = given_spaces.get(language)
        layers = space.layers if space else layers_of(config, language, model.encoder().layers)
        words = [getattr(row, side) for row in rows]
        pieces = vectors.encode_pieces(model, language, words, layers, folder)
        spaces[language] = space or Space(
            layers, whitening.fit(pieces.table.words, settings.whiten, settings.unit_length)
        )
        sides.append(vectors.into_space(pieces, spaces[language]))
    return spaces, sides


def both_sides(
    models: Mapping[str, LanguageModel],
    spaces: Mapping[str, Space],
    rows: Sequence[Linked],
    folder: str | None = None,
) -> list[WordPieces]:
    """The pieces of the words of the source and of the target, each in its space."""
    return [one_side(models, spaces, rows, side, folder) for side in (0, 1)]


def one_side(
    models: Mapping[str, LanguageModel],
    spaces: Mapping[str, Space],
    rows: Sequence[Linked],
    side: int,
    folder: str | None = None,
) -> WordPieces:
    """The pieces of the words of the source (0) or of the target (1), in their space."""
    language, model = list(models.items())[side]
    words = [row[side] for row in rows]
    pieces = vectors.encode_pieces(model, language, words, spaces[language].layers, folder)
    return vectors.into_space(pieces, spaces[language])
