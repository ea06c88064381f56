"""The test words of a comparison that names none: those beside its dictionaries."""

from __future__ import annotations

import os

from clwe_jax import options
from clwe_jax.options.compare import CompareRun
from clwe_jax.text.dictionary import test_dictionaries


def adopt_options(config: CompareRun) -> CompareRun:
    """The options with the test dictionaries of the dictionaries' folder, where they name none.

    Test words that are nowhere given are taken from the dictionaries.
    """
    places = filter(os.path.isdir, config.data.dictionaries.split(","))
    bli = config.evals.get("bli")
    if not config.has_own_data or bli is None or bli.data not in ("", options.SOURCE):
        return config
    languages = options.languages(config)
    for place in places:
        if any(set(pair) <= set(languages) for pair in test_dictionaries.files(place, languages)):
            return options.with_values(config, {"evals.bli.data": place})
    return config
