"""Text of the languages that a test module writes as its TEXT."""

import pytest

from clwe_jax.text.corpus import corpora


@pytest.fixture(scope="module")
def corpus(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    for language, text in request.module.TEXT.items():
        (folder / f"{language}.txt").write_text(text, encoding="utf-8")
    return corpora.TextCorpus(str(folder), list(request.module.TEXT))
