"""The page's sections on text: languages, dictionary, nearest neighbours."""

from __future__ import annotations

import functools
from typing import Any, Mapping, Sequence

from clwe_jax.report import figures
from clwe_jax.report.data import Block, Cell, Column, Facts, Language, Number, Section, Table, Word
from clwe_jax.report.run_folder import RunFolder


def languages(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Each language's text, sampling share and dictionary coverage; the vocabulary."""
    blocks = [*_by_language(run), *_vocabulary(run)]
    return Section("Languages", "", blocks) if blocks else None


def _by_language(run: RunFolder) -> list[Block]:
    by_language = run.extras.get("languages")
    if not by_language:
        return []
    pairs = (run.extras.get("dictionary") or {}).get("pairs_by_language") or {}
    full = {
        key: max(row.get(key) or 0.0 for row in by_language.values())
        for key in ("target_share", "sampled_share")
    }
    # Rows of pairs and sentences have no shares of languages among their pieces.
    measured = any(row.get("sampled_share") is not None for row in by_language.values())
    has_target = measured and full["target_share"] > 0
    top_share = measured and max(full.values())
    columns = [Column("Language"), Column("Lines", "count"), Column("Words", "count")]
    columns += [Column("Share asked", "percent")] * has_target
    columns += [Column("Sampled", "percent")] * bool(top_share)
    columns += [Column("In dictionary", "percent")]
    columns += [Column("Pairs", "count")] * bool(pairs)
    rows = []
    for name, row in by_language.items():
        cells: list[Cell] = [Language(name), Number(row.get("lines")), Number(row.get("words"))]
        if has_target:
            cells.append(Number(row.get("target_share")))
        if top_share:
            share = row.get("sampled_share")
            target = row.get("target_share")
            bar = ((share or 0.0) / top_share, None if target is None else target / top_share)
            cells.append(Number(share, bar=bar))
        cells.append(Number(row.get("coverage")))
        if pairs:
            cells.append(Number(pairs.get(name)))
        rows.append([*cells, Number(row.get("repaired"))])
    note = "In dictionary: the share of the running words that have an entry."
    if pairs:
        note += " Pairs: the dictionary's pairs with a word of the language on either side."
    temperature = run.option("data.temperature")
    if top_share and temperature is not None:
        note = (
            f"Sampled: the share of the training pieces; a stroke marks the share asked for, which is more "
            f"equal than the languages' amounts of text (config.data.temperature={temperature:g}; 1: as they are). {note}"
        )
    return [Table([*columns, Column("Repaired lines", "count")], rows, note=note)]


def _vocabulary(run: RunFolder) -> list[Block]:
    """Sizes of the merged dictionary and of the vocabulary."""
    entries, vocabulary = (run.extras.get(key) or {} for key in ("dictionary", "vocabulary"))
    share = run.figures.get(
        "data/cross_lingual_share", run.figures.get("train/cross_lingual_share")
    )
    labels = None
    target_share = run.option("task.cross_lingual_share")
    if share is not None:
        labels = figures.percent(share)
        labels += f" (asked {figures.percent(target_share, 0)})" if target_share is not None else ""
    size = vocabulary.get("size")
    format_count = functools.partial(figures.format_number, figures.count)
    tested = "; ".join(
        f"{name} {format_count(count)} of {format_count(total)}"
        for name, (count, total) in (entries.get("tested") or {}).items()
        if count
    )
    facts = {
        "Dictionary pairs": format_count(entries.get("pairs")),
        "Dictionary words": format_count(entries.get("words")),
        "Pairs left out for their test words": format_count(entries.get("left_out")),
        "Test pairs trained on": tested or None,
        "Cross-lingual labels": labels,
        "Vocabulary": f"{format_count(size)} {vocabulary.get('kind', '')}" if size else None,
    }
    blocks: list[Block] = [Facts(facts)] if any(facts.values()) else []
    samples = vocabulary.get("sample_pieces")
    if samples:
        rows = [
            [Language(x), Word(" ".join(map(str, y)), style="code")] for x, y in samples.items()
        ]
        blocks.append(Table(["Language", "Pieces"], rows, closed="Sample pieces"))
    return blocks


def neighbours(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """The nearest words of a few words in all languages."""
    rows = []
    for row in run.extras.get("neighbours") or ():
        word = Word(row["word"], row["language"], "strong", tagged=True)
        rows.append([[word], [near(item) for item in row["neighbours"]]])
    if not rows:
        return None
    table = Table(["Word", "Nearest words, with their similarity"], rows)
    text = "Words of other languages nearest to a few words: in a good space their translations."
    return Section("Nearest neighbours", text, [table])


def near(item: Mapping[str, Any]) -> Word:
    """A word with its language and its similarity."""
    score = item.get("score")
    after = "" if score is None else f"{score:.2f}"
    return Word(item["word"], item["language"], tagged=True, after=after)
