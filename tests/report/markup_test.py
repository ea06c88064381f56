"""Strings stay text whatever they hold."""

import html.parser
import random

import pytest

from clwe_jax.report.markup import Html, clip, tag, text


class Reader(html.parser.HTMLParser):
    """Collects what a browser would see: elements, attributes, text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.data = [], [], ""

    def handle_starttag(self, element, attributes):
        self.elements.append(element)
        self.attributes += attributes

    def handle_data(self, data):
        self.data += data


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


HOSTILE = [
    "<script>alert(1)</script>",
    "</p><img src=x onerror=alert(1)>",
    '" onclick="alert(1)',
    "' onclick='alert(1)",
    "&lt;b&gt; &amp; &#60;",
    "<!-- ",
    "a < b && c > d",
]


@pytest.mark.parametrize("string", HOSTILE)
def test_strings_come_back_as_text_and_as_attributes(string):
    found = read(tag("p", string, title=string))
    assert found.elements == ["p"]
    assert found.data == string
    assert found.attributes == [("title", string)]


def test_random_strings_come_back():
    draw = random.Random(0)
    for _ in range(300):
        string = "".join(draw.choice("<>&\"'/=!-;#x1 aß漢") for _ in range(draw.randrange(30)))
        found = read(tag("p", tag("b", string), title=string))
        assert (found.elements, found.data) == (["p", "b"], string)
        assert found.attributes == [("title", string)]


def test_markup_is_not_escaped_twice_but_its_text_is_once():
    inner = tag("b", "1 < 2")
    assert tag("p", inner, [" and ", inner, None]) == ("<p><b>1 &lt; 2</b> and <b>1 &lt; 2</b></p>")
    # An attribute is never markup.
    assert tag("p", title=inner) == '<p title="&lt;b&gt;1 &amp;lt; 2&lt;/b&gt;"></p>'


def test_attribute_names_and_absence():
    found = tag("td", "x", class_="n", data_v=0.0, hidden=True, lang=None, dir=False)
    assert found == '<td class="n" data-v="0.0" hidden>x</td>'
    assert tag("br") == "<br>"


def test_characters_that_html_forbids_are_replaced():
    assert text("a\x00b\ud800c\x1b[0m\tok\n") == "a\ufffdb\ufffdc\ufffd[0m\tok\n"


def test_adding_markup_to_text_does_not_make_it_markup():
    # Html + str is a plain string: it would be escaped as a whole, never trusted.
    assert not isinstance(Html("<b>") + "<script>", Html)


def test_clip():
    assert clip("abc", 3) == "abc"
    assert clip("abcd", 3) == "ab…"
    assert len(clip("x" * 10_000_000, 60)) == 60
