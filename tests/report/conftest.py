"""A run's folder as the pretraining job leaves it, with figures that look like a run's."""

import dataclasses
import json
import math
import random
from html.parser import HTMLParser

import pytest

from clwe_jax.report import html

LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")
SUFFIXES = {"": 0.0, "_centered": 0.14, "_csls": 0.19}

EXAMPLES = [
    {
        "language": "en",
        "original": "Food in this little restaurant is better than at home .".split(),
        "transformed": "comida in this little restaurant ist better than at home .".split(),
        "masked": [True, False, False, False, False, True, False, False, False, True, False],
        "languages": ["es", "en", "en", "en", "en", "de", "en", "en", "en", "en", "en"],
    },
    {
        "language": "de",
        "original": "die Bank am Ufer des Flusses war am Morgen noch nass .".split(),
        "transformed": "die bench am rive des Flusses war am 朝 noch nass .".split(),
        "masked": [i in (1, 3, 8, 10) for i in range(12)],
        "languages": "de en de fr de de de de ja de de de".split(),
    },
    {
        "language": "zh",
        "original": ["我", "妹妹", "在", "学校", "吃", "苹果", "。"],
        "transformed": ["我", "sœur", "在", "学校", "吃", "manzana", "。"],
        "masked": [False, True, False, True, False, True, False],
        "languages": ["zh", "fr", "zh", "zh", "zh", "es", "zh"],
    },
]
NEIGHBOURS = {
    "bank": "Bank/de banco/es banque/fr 銀行/ja 银行/zh Ufer/de money/en",
    "spring": "Frühling/de primavera/es printemps/fr 春/ja source/fr summer/en",
    "water": "Wasser/de agua/es eau/fr 水/ja 水/zh river/en",
}


def config(system, task, steps=3000, languages=LANGUAGES):
    return {
        "job": "pretrain",
        "system": system,
        "scale": "laptop",
        "seed": 0,
        "data": {
            "source": "pocket",
            "languages": ",".join(languages),
            "temperature": 5.0,
            "sequence_length": 64,
        },
        "task": task,
        "model": {"name": "transformer", "layers": 4, "width": 128, "heads": 4, "mlp_dim": 512},
        "train": {"steps": steps, "batch_size": 64},
        "report": {"compare_with": "", "title": ""},
    }


def rows_of(steps, reach, languages, seed):
    """metrics.jsonl as (step, name, value): loss falls, retrieval rises to about `reach`."""
    draw = random.Random(seed)
    for step in range(50, steps + 1, 50):
        done = step / steps
        loss = 2.3 + 5.2 * math.exp(-4 * done) + draw.gauss(0, 0.06)
        yield step, "train/loss", loss
        yield step, "train/monolingual_loss", loss - 0.5
        yield step, "train/cross_lingual_loss", loss + 0.5
        yield step, "train/cross_lingual_share", 0.5 + draw.gauss(0, 0.01)
        if step % 500:
            continue
        for i, language in enumerate(languages):
            heldout = loss + 0.15 * math.sin(i * 2.4)
            yield step, f"eval/mlm/{language}/loss", heldout
            yield step, f"eval/mlm/{language}/perplexity", math.exp(heldout)
            yield step, f"eval/mlm/{language}/accuracy", 0.62 - 0.06 * heldout
        for suffix, gain in SUFFIXES.items():
            yield step, f"retrieval/mean_last4{suffix}", (reach + gain) * done**1.5
            yield step, f"retrieval/sif/mean_last4{suffix}", (reach + gain) * done
        yield step, "bli/p@1_csls_distinct_covered", 0.3 * done


def results_of(reach, languages, seed):
    draw = random.Random(seed)
    results = {}
    for suffix, gain in SUFFIXES.items():
        by_layer = {layer: [] for layer in range(5)}
        for language in languages[1:]:
            for layer in range(5):
                value = (reach + gain) * (0.72, 0.9, 1.0, 1.04, 0.93)[layer] + draw.gauss(0, 0.02)
                results[f"retrieval/{language}-en/layer{layer}/acc@1{suffix}"] = value
                by_layer[layer].append(value)
        for layer, values in by_layer.items():
            results[f"retrieval/layer{layer}/acc@1{suffix}"] = sum(values) / len(values)
        for language in languages[1:]:
            layers = [
                results[f"retrieval/{language}-en/layer{k}/acc@1{suffix}"] for k in range(1, 5)
            ]
            mean, name = sum(layers) / 4, f"retrieval/{language}-en/mean_last4{suffix}"
            results |= {name: mean, f"{name}_low": mean - 0.03, f"{name}_high": mean + 0.03}
        last = [results[f"retrieval/layer{layer}/acc@1{suffix}"] for layer in range(1, 5)]
        results[f"retrieval/mean_last4{suffix}"] = sum(last) / 4
    metrics = {"p@1": 0.61, "p@1_csls": 0.7, "p@5": 0.9, "p@5_csls": 0.95}
    for language in languages[1:]:
        name = f"bli/en-{language}"
        for metric, share in metrics.items():
            results[f"{name}/{metric}"] = share * reach + draw.gauss(0, 0.02)
            for layer in range(5):
                shape = (0.8, 0.95, 1.0, 0.97, 0.8)[layer]
                results[f"{name}/layer{layer}/{metric}"] = shape * share * reach
        results |= {f"{name}/coverage": 0.71, f"{name}/isolated": 0.1, f"{name}/words": 1500}
        results[f"{name}/p@1_covered"] = results[f"{name}/p@1"] / 0.71
    results["bli/p@1"] = sum(results[f"bli/en-{x}/p@1"] for x in languages[1:]) / len(languages[1:])
    for i, language in enumerate(languages):
        results[f"eval/mlm/{language}/loss"] = 2.4 + 0.1 * i
        results[f"eval/mlm/{language}/perplexity"] = math.exp(2.4 + 0.1 * i)
        results[f"eval/mlm/{language}/accuracy"] = 0.47 - 0.01 * i
        results[f"eval/mlm/{language}/monolingual_loss"] = 2.1 + 0.1 * i
        results[f"eval/mlm/{language}/cross_lingual_loss"] = 2.7 + 0.1 * i
        results[f"eval/mlm/{language}/cross_lingual_share"] = 0.5
    results["eval/mlm/loss"] = 2.65
    results["eval/mlm/perplexity"] = math.exp(2.65)
    results["retrieval/cut"] = 0.012
    results["dictionary/coverage"] = 0.3415
    return results


def extras_of(languages):
    share = 1 / len(languages)
    return {
        "command": "python -m clwe_jax.main --config=configs/dict_mlm_50.py --workdir=runs/50",
        "device": "cpu",
        "cores": 2,
        "versions": {"jax": "0.10.2", "flax": "0.12.8", "python": "3.11.9"},
        "parameters": 2_412_032,
        "vocabulary": {
            "kind": "wordpiece",
            "size": 8_192,
            "sample_pieces": {"en": ["the", "##ing", "bank"], "zh": ["银", "##行"]},
        },
        "languages": {
            language: {
                "lines": 60_000 - 3_000 * i,
                "words": 512_000 - 21_000 * i,
                "coverage": 0.61 - 0.05 * i,
                "repaired": 3 if language == "fr" else 0,
                "target_share": share + 0.01 * (2.5 - i),
                "sampled_share": share + 0.011 * (2.5 - i),
            }
            for i, language in enumerate(languages)
        },
        "dictionary": {
            "pairs": 30_412,
            "words": 6_204,
            "pairs_by_language": {
                language: 10_000 - 700 * i for i, language in enumerate(languages)
            },
        },
        "examples": EXAMPLES,
        "neighbours": [
            {
                "word": word,
                "language": "en",
                "neighbours": [
                    dict(zip(("word", "language"), item.split("/")), score=0.83 - 0.04 * i)
                    for i, item in enumerate(near.split())
                ],
            }
            for word, near in NEIGHBOURS.items()
        ],
        "speed": {
            "tokens_per_second": 21_480.0,
            "steps_per_second": 5.24,
            "compile_seconds": 8.6,
            "seconds": 581.0,
        },
        "memory": {"peak_host_bytes": 2_310_000_000},
        "notes": ["retrieval: pairs of languages that the run does not have were skipped: ru-en."],
        "skipped": {"dictionary lines": 4, "empty lines": 1_204, "words out of the vocabulary": 0},
    }


@dataclasses.dataclass
class Node:
    """An element of a page as a browser reads it."""

    name: str
    attributes: dict
    children: list = dataclasses.field(default_factory=list)

    @property
    def text(self):
        """The text inside, without scripts and style sheets."""
        if self.name in ("script", "style"):
            return ""
        return "".join(x if isinstance(x, str) else x.text for x in self.children)

    def all(self, name=None, **attributes):
        """The elements inside of a name, with these attributes."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                same = all(child.attributes.get(k) == v for k, v in attributes.items())
                found += [child] * (same and name in (None, child.name)) + child.all(
                    name, **attributes
                )
        return found

    def section(self, title):
        """The section under a heading; None where the page has none."""
        found = [x for x in self.all("section") if x.all("h2")[0].text == title]
        return found[0] if found else None

    def rows(self):
        """The text of each cell of each row of the tables inside, heads included."""
        return [
            [" ".join(cell.text.split()) for cell in row.all() if cell.name in ("th", "td")]
            for row in self.all("tr")
        ]


class Reader(HTMLParser):
    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.open = [Node("", {})]
        self.feed(markup)
        self.close()
        (self.page,) = self.open

    def handle_starttag(self, name, attributes):
        node = Node(name, dict(attributes))
        self.open[-1].children.append(node)
        if name not in ("meta", "input"):
            self.open.append(node)

    def handle_startendtag(self, name, attributes):
        self.open[-1].children.append(Node(name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop().name == name, f"</{name}> closes another element"

    def handle_data(self, data):
        self.open[-1].children.append(data)


@pytest.fixture
def page_of():
    """Builds the report of a folder and reads it as a browser does."""

    def read(folder, **options):
        path = html.build(folder, **options)
        assert path == folder / "report.html"
        return Reader(path.read_text(encoding="utf-8")).page

    return read


@pytest.fixture
def write_run(tmp_path):
    """Makes a run's folder and returns its path; `without` leaves files out."""

    def write(name="dict_mlm_50", system="DICT-MLM-50", reach=0.66, steps=3000, without=(), **more):
        folder = tmp_path / name
        folder.mkdir()
        languages = more.get("languages", LANGUAGES)
        task = {"name": "dict_mlm", "cross_lingual_share": 0.5} if reach > 0.5 else {"name": "mlm"}
        files = {
            "config.json": json.dumps(config(system, task, steps, languages)),
            "results.json": json.dumps(results_of(reach, languages, seed=1)),
            "report.json": json.dumps({**extras_of(languages), **more.get("extras", {})}),
            "metrics.jsonl": "".join(
                json.dumps({"step": step, "name": name, "value": value}) + "\n"
                for step, name, value in rows_of(steps, reach, languages, seed=2)
            ),
        }
        for file, content in files.items():
            if file not in without:
                (folder / file).write_text(content, encoding="utf-8")
        return folder

    return write
