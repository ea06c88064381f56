"""The page's last sections: intended use, data and licences, and code that uses the model."""

from __future__ import annotations

from clwe_jax.report.data import Section, Table, Text, Word
from clwe_jax.report.run_folder import RunFolder

_TEXTS = {
    "pocket": "The embedded world, `pocket` in options: this project's grammar made it; it holds no text of others.",
    "tfds": "A TFDS data set: its page names the licence.",
    "batches": "Prepared batches of unknown text: note their origin beside them.",
    "pairs": "The sentences of the pairs.",
    "text": "Text of unknown licence: note its origin and licence in a file beside it.",
}
_PAIRS = (
    "Translations of unknown licence: note each one's beside it, as `clwe-jax data ebible` does."
)
_DICTIONARY = {
    True: "The embedded world's: this project wrote it; it holds no data of others.",
    False: (
        "Dictionaries of unknown licence: note it beside them. MUSE's are CC BY-NC 4.0 "
        "(non-commercial), which also concerns the use of this model."
    ),
}
_NEEDS = "Needs this package and the run's folder, without the training text."


def intended_use(run: RunFolder, purpose: str, vectors: str = "") -> Section:
    """The model's purpose and limits, and the origin of its data; `vectors` as of `data`."""
    points = [
        f"Intended for {purpose}, in {', '.join(run.languages) or 'its languages'} only.",
        "Not intended for decisions about people, and no replacement for a translator: its figures on "
        "test data say how often it errs.",
        "It repeats the biases of its text and dictionaries; the text may be reconstructible in "
        "parts, so share the model only if you may share the text.",
    ]
    if run.option("data.source") == "pocket" and not vectors:
        points.append("The embedded world has a few thousand words: this model is a demonstration.")
    return Section("Intended use and data", "", [Text(points=points), *data(run, vectors)])


def data(run: RunFolder, vectors: str = "") -> list[Table]:
    """The origin of the run's data.

    Args:
      vectors: names of vectors that the run was given in the place of text; '' for none.
    """
    rows = []
    source = str(run.option("data.source") or "")
    if vectors:
        note = "Note the licence of vectors that you bring."
        rows.append(["Vectors", Word(vectors, style="code"), note])
    elif source:
        rows.append(["Text", Word(source, style="code"), _TEXTS.get(source.partition(":")[0], "")])
    pairs = str(run.option("data.pairs") or "")
    if pairs not in ("", "source", "pocket"):
        rows.append(["Pairs", Word(pairs, style="code"), _PAIRS])
    dictionaries = str(run.option("data.dictionaries") or "")
    if dictionaries:
        note = _DICTIONARY[dictionaries == "pocket"]
        rows.append(["Dictionaries", Word(dictionaries, style="code"), note])
    return [Table(["Data", "Name", "Origin and licence"], rows)] if rows else []


def usage(code: str) -> Section | None:
    """Code that loads and uses the model, to be copied; None without code."""
    return Section("Use this model", _NEEDS, [Text(code=code)]) if code else None


def loading_code(run: RunFolder) -> str:
    """Code that loads an encoder and asks it for neighbours, translations and vectors."""
    first = next(iter(run.extras.get("neighbours") or ()), {})
    word = first.get("word") or "house"
    source = first.get("language") or run.languages[0]
    to = next((language for language in run.languages if language != source), "")
    lines = [
        "import clwe_jax",
        "",
        f"model = clwe_jax.load({str(run.workdir)!r})",
        f"model.neighbours({word!r}, lang={source!r}, k=5)",
    ]
    if to:
        lines.append(f"model.translate({word!r}, lang={source!r}, to={to!r})")
    lines.append(f"vectors = model.encode([{word!r}], lang={source!r}, normalize=True)  # [N, D]")
    if (run.extras.get("senses") or {}).get("words"):
        lines.append(f"model.senses({word!r}, lang={source!r})")
    return "\n".join(lines)
