"""The page's last sections: intended use, data and licences, and code that uses the model."""

from __future__ import annotations

from typing import Sequence

from clwe_jax import registry
from clwe_jax.report.data import Section, Table, Text, Word
from clwe_jax.report.run_folder import Run

_TEXTS = {
    "pocket": "The embedded world: this project's grammar made it; it holds no text of others.",
    "tfds": "A TFDS data set: its page names the licence.",
    "batches": "Prepared batches of unknown text: note their origin beside them.",
    "text": "Text of unknown licence: note its origin and licence in a file beside it.",
}
_DICTIONARY = {
    True: "The embedded world's: this project wrote it; it holds no data of others.",
    False: (
        "Dictionaries of unknown licence: note it beside them. MUSE's are CC BY-NC 4.0 "
        "(non-commercial), which also concerns the use of this model."
    ),
}

_NEEDS = "Needs this package and the run's folder, without the training text."
# Purposes of runs, by their job.
_PURPOSES = {
    "static": "looking up translations and related words, and as input features of other programs",
    "transfer": "labelling text of the kind that its test rows show",
}


def intended_use(run: Run, others: Sequence[Run]) -> Section:
    """The model's purpose and limits, and the origin of its data; of a comparison the data alone."""
    if run.option("job") == "compare":
        return Section("Data", "", _data(run))
    good_for = _PURPOSES.get(
        run.option("job"),
        "comparing words and sentences across its languages, and as a start for fine-tuning",
    )
    points = [
        f"Intended for {good_for}, in {', '.join(run.languages) or 'its languages'} only.",
        "Not intended for decisions about people, and no replacement for a translator: the figures "
        "above say how often it errs.",
        "It repeats the biases of its text and dictionaries; the text may be reconstructible in "
        "parts, so share the model only if you may share the text.",
    ]
    if run.option("data.source") == "pocket" and not run.option("align.source_vectors"):
        points.append("The embedded world has a few thousand words: this model is a demonstration.")
    return Section("Intended use and data", "", [Text(points=points), *_data(run)])


def _data(run: Run) -> list[Table]:
    rows = []
    vectors = run.option("align.source_vectors")
    source = str(run.option("data.source") or "")
    if vectors:
        given = f"{vectors}, {run.option('align.target_vectors') or ''}".rstrip(", ")
        rows.append(
            ["Vectors", Word(given, style="code"), "Note the licence of vectors that you bring."]
        )
    elif source:
        rows.append(["Text", Word(source, style="code"), _TEXTS.get(source.partition(":")[0], "")])
    dictionaries = str(run.option("data.dictionaries") or "")
    if dictionaries:
        known = _DICTIONARY[dictionaries == "pocket"]
        rows.append(["Dictionaries", Word(dictionaries, style="code"), known])
    return [Table(["Data", "Name", "Origin and licence"], rows)] if rows else []


def usage(run: Run, others: Sequence[Run]) -> Section | None:
    """Code that loads and uses the model, to be copied."""
    if not run.languages or run.option("job") == "compare":  # each system's page has its own
        return None
    if run.option("job") == "transfer":
        return Section("Use this model", _NEEDS, [Text(code=_labelling(run))])
    first = next(iter(run.extras.get("neighbours") or ()), {})
    word, asked = first.get("word") or "house", first.get("language") or run.languages[0]
    to = next((language for language in run.languages if language != asked), "")
    lines = [
        "from clwe_jax import api",
        "",
        f"model = api.load({str(run.workdir)!r})",
        f"model.neighbours({word!r}, lang={asked!r}, k=5)",
    ]
    if to:
        lines.append(f"model.translate_word({word!r}, lang={asked!r}, to={to!r})")
    lines.append(f"vectors = model.encode([{word!r}], lang={asked!r})  # sentences: float32 [N, D]")
    if (run.extras.get("senses") or {}).get("words"):
        lines.append(f"model.senses({word!r}, lang={asked!r})")
    return Section("Use this model", _NEEDS, [Text(code="\n".join(lines))])


def _labelling(run: Run) -> str:
    """Code that labels words, texts or spans."""
    task, lang = registry.lookup("transfer_task", run.option("transfer.task")), run.languages[0]
    call = f"classify(['A text of yours.'], lang={lang!r})"
    if task.kind == "tags":
        call = f"tag(['A text of yours.'], lang={lang!r})  # for each text its words with their labels"
    elif task.kind == "spans":
        spans = ["(0, 1)", "(2, 3)"][: task.texts]
        words = ["A", "text", "of", "yours"]
        call = f"label_spans([({words}, [{', '.join(spans)}])], lang={lang!r})  # labels of words 0 to 1, ..."
    elif task.texts == 2:
        call = f"classify([('A text of yours.', 'Another.')], lang={lang!r})"
    return f"from clwe_jax import api\n\nmodel = api.load({str(run.workdir)!r})\nmodel.{call}"
