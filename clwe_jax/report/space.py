"""The page's first section: a picture of the space that the languages share."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from clwe_jax.report.data import Dots, Picture, Section
from clwe_jax.report.run_folder import RunFolder

_TITLES = {
    "before": "Before alignment",
    "after": "After alignment",
    "start": "At the start, from word vectors",
    "trained": "After training",
}


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Words of several languages, joined to their translations, stage by stage."""
    entry = run.extras.get("space") or {}
    hub = entry.get("hub")
    stages = entry.get("stages") or {}
    pictures = []
    for stage, title in _TITLES.items():
        points = stages.get(stage)
        if points:
            label = title if len(stages) > 1 else ""  # vectors that nothing aligned have one stage
            pictures.append(picture(label, points, hub, run.languages))
    if not pictures:
        return None
    text = (
        "Each dot is a word, drawn where its vector lies; a line joins a word to its translation. "
        "Good: the lines are short, and one meaning in all languages is one group of dots. Bad: "
        "each language, which has a colour of its own, keeps to itself. (First two principal "
        "components of the vectors; distances in the plane only approximate those in the space.)"
    )
    return Section("The shared space", text, pictures)


def picture(
    title: str, points: Sequence[Mapping[str, Any]], hub: str, languages: Sequence[str]
) -> Picture:
    """The words of one stage.

    Args:
      points: objects with 'word', 'language', 'concept', 'x' and 'y'.
      hub: the language whose words are joined to their translations.
      languages: the languages, whose order decides the colours.
    """
    hub_places = {p["concept"]: (p["x"], p["y"]) for p in points if p["language"] == hub}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for point in points:
        groups.setdefault(point["language"], []).append(point)
    dots = []
    for language, group_points in groups.items():
        places = [(point["x"], point["y"]) for point in group_points]
        words = [point["word"] for point in group_points]
        colour = languages.index(language) if language in languages else len(languages)
        dots.append(Dots(language, places, words, colour))
    joins = [
        (hub_places[point["concept"]], (point["x"], point["y"]))
        for point in points
        if point["language"] != hub and point["concept"] in hub_places
    ]
    return Picture(title, dots, joins)
