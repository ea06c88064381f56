"""The words that a report shows."""

from clwe_jax.runs import report_words


def test_a_word_is_shown_with_words_of_few_languages():
    asked = []

    class Model:
        def neighbours(self, word, lang, k, to):
            asked.append(to)
            return []

    languages = ["en", *(f"q{number}" for number in range(40))]
    [row] = report_words.neighbours(Model(), ["dog"], "en", languages)
    assert row["word"] == "dog" and asked == languages[1:9]


def test_short_words_of_scripts_without_spaces_are_content_words():
    frequent = [*"的了是在有我他这中大来上国个到说们为子和", "银行", "的", "ab"]
    assert report_words.content_words(frequent) == ["银行", "的"]
