"""The forecast of a static run's later stages."""

import pytest

from clwe_jax import options, presets
from clwe_jax.static import times


def config(tmp_path, **values):
    (tmp_path / "text").mkdir(exist_ok=True)
    return options.with_values(
        options.parse(presets.static("laptop")),
        {
            "data.source": f"text:{tmp_path / 'text'}",
            "data.languages": "de,en",
            "embeddings.dim": 8,
            "embeddings.min_count": 1,
            **values,
        },
    )


def test_the_vocabulary_grows_with_the_text(tmp_path):
    for number, language in enumerate(("de", "en")):
        # Every word is new, so that the vocabulary grows with the text.
        words = " ".join(f"word{i}" for i in range(100_000 * (number + 1)))
        (tmp_path / "text").mkdir(exist_ok=True)
        (tmp_path / "text" / f"{language}.txt").write_text(words)
    assert times.vocabulary(config(tmp_path)) == pytest.approx(200_000, rel=0.15)
    (tmp_path / "text" / "en.txt").write_text("the same words " * 200_000)
    (tmp_path / "text" / "de.txt").write_text("the same words " * 100_000)
    assert times.vocabulary(config(tmp_path)) == 3


def test_every_stage_has_a_line(monkeypatch):
    monkeypatch.setattr(times, "_TIMED", 60)
    run = options.with_values(
        options.parse(presets.static("laptop")),
        {"embeddings.dim": 8, "data.languages": "de,en", "static.refinement": True},
    ).resolved()
    lines = list(times.stages(run))
    assert [line.partition(":")[0] for line in lines] == [
        "alignment",
        "evaluations",
        "induced dictionaries",
        "report",
    ]
    assert all("about" in line for line in lines)
    muse = options.with_values(run, {"align.name": "adversarial"})
    assert "not timed" in next(times.stages(muse))
