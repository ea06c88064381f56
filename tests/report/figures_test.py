"""Metric paths taken apart, and numbers as people read them."""

import math

import pytest

from clwe_jax.report import figures


def test_values_over_the_star_of_a_pattern():
    results = {
        "retrieval/layer10/acc@1": 0.5,
        "retrieval/layer2/acc@1": 0.1,
        "retrieval/layer3/acc@1": math.nan,
        "retrieval/layer2/acc@1_csls": 0.4,
        "retrieval/de-en/layer2/acc@1": 0.3,
        "retrieval/layer2/acc@10": 1.0,
    }
    found = figures.over_star(results, "retrieval/layer*/acc@1")
    assert list(found.items()) == [(2, 0.1), (10, 0.5)]


def test_by_subject():
    results = {"bli/en-de/p@1": 0.1, "bli/en-de/layer3/p@1": 0.2, "bli/p@1": 0.3, "blimp/x/y": 1.0}
    assert figures.by_subject(results, "bli") == {
        "": {"p@1": 0.3},
        "en-de": {"p@1": 0.1, "layer3/p@1": 0.2},
    }


@pytest.mark.parametrize(
    "form, value, shown",
    [
        (figures.percent, 0.4134, "41.3%"),
        (figures.percent, None, "–"),
        (figures.percent, math.nan, "–"),
        (figures.points, 0.0414, "+4.1"),
        (figures.points, -0.0414, "−4.1"),
        (figures.points, -0.0001, "±0.0"),
        (figures.points, None, "–"),
        (figures.difference, -1.204, "−1.20"),
        (figures.difference, 12_345.6, "+12,346"),
        (figures.difference, 0.0, "±0"),
        (figures.count, 7013211, "7,013,211"),
        (figures.decimal, 8.2041, "8.20"),
        (figures.decimal, 0.01234, "0.0123"),
        (figures.decimal, 119.13, "119.1"),
        (figures.decimal, 12_345.6, "12,346"),
        (figures.decimal, math.inf, "–"),
        (figures.seconds, 8.63, "8.6 s"),
        (figures.seconds, 59.7, "1 min 0 s"),
        (figures.seconds, 581, "9 min 41 s"),
        (figures.seconds, 216_000, "60 h 0 min"),
        (figures.size, 999, "999 B"),
        (figures.size, 999_999_999, "1 GB"),
        (figures.size, 2_310_000_000, "2.31 GB"),
        (figures.size, 5e12, "5.00 TB"),
    ],
)
def test_numbers(form, value, shown):
    assert form(value) == shown
