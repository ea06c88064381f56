"""What the page and the terminal say of a language model or a translator."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from clwe_jax.pretrain import pictures
from clwe_jax.report import page, verdict
from clwe_jax.report.data import Block, Section, SentenceBlock, Text, Word
from clwe_jax.report.run_folder import RunFolder

_MAX_EXAMPLES = 14
_MAX_WORDS = 60  # words of an example


def examples(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Code-switched inputs, as in Fig. 1 of the DICT-MLM paper."""
    rows = run.extras.get("examples")
    if not rows:
        return None
    columns = ("original", "transformed", "masked", "languages")
    complete = [row for row in rows if len({len(row[key]) for key in columns}) == 1]
    text = (
        "The model is trained to predict the words in bold; its input masks or shows them. "
        "A coloured tag names the language of a switched word; the original word is below it where "
        "the two differ."
    )
    if run.option("task.labels") == "expected":
        text += " A word's tagged label is one drawn from all those that the model learns to predict at once."
    blocks: list[Block] = [_example(row) for row in complete[:_MAX_EXAMPLES]]
    damaged = len(rows) - len(complete)
    if damaged:
        blocks.append(Text(f"{damaged} examples with lists of unequal length are left out."))
    return Section("Masked and code-switched examples", text, blocks)


def _example(row: Mapping[str, Any]) -> SentenceBlock:
    language_of_row = row["language"]
    columns = zip(row["original"], row["transformed"], row["masked"], row["languages"])
    words = [
        Word(
            after,
            language,
            style="strong" if masked else "",
            tagged=language != language_of_row,
            below=before if before != after else "",
        )
        for before, after, masked, language in columns
    ]
    left_out = len(words) - _MAX_WORDS
    if left_out > 0:
        words = [*words[:_MAX_WORDS], Word(f"… {left_out} more words", style="soft")]
    return SentenceBlock(language_of_row, words)


class PretrainPage(page.Page):
    """The page of a pretraining run."""

    own_sections = (pictures.senses, examples)

    def next_step(self, run):
        if "translation" in (run.option("objective.name") or ""):
            return (
                "More steps help, as long as the curve in the report rises; the guide says what else:",
                "clwe-jax guide translation",
            )
        if run.option("init.embeddings") or run.option("init.parameters"):
            return (
                "Static vectors of the same text and dictionary are a safe choice:",
                verdict.command(run, "joint_dictionary"),
            )
        command = verdict.command(run, "warm_dict_mlm")
        if "--config.data.pairs=" in command:
            command += " --config.finish.pairs=given"  # nothing else in it reads them
        return (
            "A figure below the floor is expected here: from random parameters a language model learns every word from its "
            "sentences, and words without an entry in the dictionary need the most steps. Started from "
            "word vectors, it is above the floor in the same minutes with the same text:",
            command,
        )


class ProjectedPage(PretrainPage):
    """The page of models that a projection joins, which follows their own runs."""

    def name_missing_tests(self, run):
        return None
