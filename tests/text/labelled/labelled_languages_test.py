"""The languages of a transfer run without `config.data.languages`."""

import pytest

from clwe_jax import options, presets
from clwe_jax.text.labelled import labelled_languages


def a_run(folder, languages, **more):
    folder.mkdir()
    options.write_config(
        options.parse(dict(data=dict(languages=languages), **more)), str(folder), "."
    )
    return f"run:{folder}"


@pytest.fixture
def followed(tmp_path):
    """Languages after `follow`, of an encoder and the languages of test files ('': none)."""

    def languages(encoder, files="", **changes):
        config = presets.transfer("laptop", "ner", "linear")
        assert config.data.languages == ""
        config.encoder = encoder
        config.transfer.update(changes)
        if files:
            (tmp_path / "tests").mkdir(exist_ok=True)
            for language in files.split(","):
                (tmp_path / "tests" / f"{language}.test.tsv").write_text("")
            config.transfer.update(train="en:x", tests=str(tmp_path / "tests"))
        found = labelled_languages.adopt_options(options.parse(config))
        found.check_all()
        return found.data.languages

    return languages


def test_the_embedded_worlds_languages_that_the_encoder_knows(followed, tmp_path):
    assert followed("joint") == followed("bow") == followed("hf:x") == "en,de,es,fr,ja,zh"
    assert followed(a_run(tmp_path / "en_zh", "zh,en,ko")) == "en,zh"
    assert followed("vec:fr=a.vec,en=b.vec") == "en,fr"
    hub = a_run(tmp_path / "hub", "fr,en")
    assert followed(a_run(tmp_path / "clcr", "ja,en", clcr=dict(hub=hub[4:]))) == "en,fr,ja"
    assert followed(a_run(tmp_path / "english", "en"), translate="test") == "en,de,es,fr,ja,zh"


def test_the_languages_of_the_test_files_that_the_encoder_knows(followed, tmp_path, caplog):
    assert followed("hf:x", "ko,fi") == "fi,ko"
    assert followed("joint", "ko,fi") == "en,fi,ko"
    assert followed(a_run(tmp_path / "run", "fi,sv"), "ko,fi") == "fi"
    # As the encoder calls them, whatever the files do.
    assert followed(a_run(tmp_path / "codes", "fin,swe"), "ko,fi") == "fin"
    # Of two encoders both, where each names its languages.
    assert followed(f"hf:x+run:{tmp_path / 'run'}", "ko,fi") == "fi"
    assert followed(f"run:{tmp_path / 'run'}+.2*vec:sv=a.vec", "sv,fi") == "sv"
    assert followed("hf:x+hf:y", "sv,fi") == "fi,ko,sv"


def test_no_language_of_both_is_named_with_the_mend(followed, tmp_path):
    encoder = a_run(tmp_path / "run", "sv")
    with pytest.raises(ValueError, match=" sv, .* fi: .*config.transfer.tests"):
        followed(encoder, "fi")


def test_languages_that_are_given_stay(tmp_path):
    config = presets.transfer("laptop", "ner", "linear")
    config.data.languages = "en,xx"
    config = options.parse(config)
    assert labelled_languages.adopt_options(config) == config
    values = {"data.languages": "", "transfer": dict(train="en:x", tests="tfds:panx")}
    with pytest.raises(ValueError, match="tfds:panx"):
        labelled_languages.adopt_options(options.with_values(config, values))
