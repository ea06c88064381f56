"""All options of a run: what is checked across sections, and what follows the source of the text."""

import json
import re

import pytest

from clwe_jax import options, presets


def checked(config, values):
    options.with_values(options.parse(config), values).resolve().check_all()


@pytest.mark.parametrize(
    "path, value, expected",
    [
        (
            "model.heads",
            5,
            "heads=5 does not divide config.model.width=128; 4 does: --config.model.",
        ),
        ("model.width", 0, "config.model.width=0: must be at least 1"),
        ("model.dropout", 1.5, r"config.model.dropout=1.5: must be in \[0, 1\)"),
        ("model.norm", "both", "config.model.norm='both': must be one of post, pre"),
        ("optimizer.name", "adamx", "config.optimizer.name='adamx': must be one of adam, adamw"),
        ("optimizer.b1", 1.0, "config.optimizer.b1=1.0"),
        ("task.masking_rate", -0.1, "config.task.masking_rate=-0.1"),
        ("task.mask_share", 0.9, "config.task.mask_share, keep_share and random_share must add up"),
        ("evals.retrieval.max_sentences", -1, "config.evals.retrieval.max_sentences=-1"),
        ("evals.bli.name", "blu", "no evaluator named 'blu'"),
        ("train.steps", -5, "config.train.steps=-5: must be at least"),
        ("train.log_every_steps", 0, "config.train.log_every_steps=0"),
        ("vocab.kind", "words", "config.vocab.kind='words': must be one of"),
        ("data.temperature", 0.0, "config.data.temperature=0.0"),
        ("checkpoint.best_mode", "most", "config.checkpoint.best_mode='most'"),
        ("data.languages", "en,zh-yue", "'zh-yue' has a hyphen, .* its files a code without one"),
        ("model.depth", 3, "config.model has no option 'depth'"),
        ("seed", -1, "config.seed=-1: must be at least 0"),
        ("job", "static", "config.job='static': must be one of pretrain, project, evaluate$"),
    ],
)
def test_a_language_model(path, value, expected):
    with pytest.raises(ValueError, match=expected):
        checked(presets.start_from("mbert", "laptop"), {path: value})


@pytest.mark.parametrize("name", ["lamb", "muon"])
def test_an_optimizer_of_single_matrices_has_no_rotary_layers(name):
    """Their kernels hold several matrices, also where each language has its own, or attention is frozen."""
    config = presets.start_from("mbert", "laptop")
    values = {"model.name": "rotary", "optimizer.name": name}
    private = {"model.private_layers": config.model.layers}
    frozen = {"optimizer.groups": {"attention": {"pattern": ".*/attention/.*", "frozen": True}}}
    for more in ({}, private, frozen):
        with pytest.raises(ValueError, match=f"'{name}' .* rotary .*--config.optimizer.name=adamw"):
            checked(config, values | more)
        checked(config, values | more | {"optimizer.name": "adamw"})
        checked(config, values | more | {"model.name": "transformer"})


@pytest.mark.parametrize(
    "path, value, expected",
    [
        ("objective.senses.senses", 0, "config.objective.senses.senses=0: must be at least 1"),
        ("objective.senses.init", "x", "config.objective.senses.init='x'"),
        ("objective.senses.alpha", 1.0, "config.objective.senses.alpha=1.0: must be in"),
        ("model.cells", 0, "config.model.cells=0"),
    ],
)
def test_options_within_options(path, value, expected):
    with pytest.raises(ValueError, match=expected):
        checked(presets.start_from("elmo", "laptop", languages="en"), {path: value})


@pytest.mark.parametrize(
    "path, value, expected",
    [
        ("contrastive.start", "rcls", "no aligner named 'rcls'. Did you mean 'rcsls'?"),
        (
            "contrastive.start_options",
            {"l2": 1},
            "config.align.contrastive.start_options has no option 'l2'",
        ),
        (
            "procrustes.method",
            "nn",
            "config.align.procrustes.method='nn': must be one of cosine, csls",
        ),
    ],
)
def test_an_aligner_is_checked_before_vectors_are_trained(path, value, expected):
    with pytest.raises(ValueError, match=expected):
        checked(presets.static("laptop"), {f"align.{path}": value})


@pytest.mark.parametrize("option", ["layers", "decoder_layers"])
def test_shared_layers_are_among_the_layers(option):
    config = presets.start_from("unsupervised_mt", "laptop")
    layers = config.model[option]
    checked(config, {"model.shared_layers": layers})
    with pytest.raises(
        ValueError, match=f"shared_layers=2 is more than config.model.{option}=1: --"
    ):
        checked(config, {"model.shared_layers": layers, f"model.{option}": layers - 1})


@pytest.mark.parametrize(
    "path, value", [("embeddings.dim", 0), ("embeddings.batch", 0), ("static.gamma", 0.2)]
)
def test_static_vectors(path, value):
    with pytest.raises(ValueError, match=f"config.{path}="):
        checked(presets.static("laptop"), {path: value})


def test_an_evaluation_can_be_left_out_and_another_added():
    config = presets.start_from("mbert", "laptop")
    del config.evals.word_alignment
    run = options.parse(config)
    assert set(run.evals) == {"mlm", "retrieval", "bli"}
    found = options.with_values(run, {"evals.tatoeba": {"name": "retrieval", "data": "DIR"}})
    assert set(found.evals) == {"mlm", "retrieval", "bli", "tatoeba"}
    assert (found.evals["tatoeba"].data, found.evals["tatoeba"].max_sentences) == ("DIR", 1_000)


@pytest.mark.parametrize(
    "name, content",
    [("config.json", "{}"), ("x.py", "x = 1\n"), ("y.py", "def get_config(): pass\n")],
)
def test_a_file_that_is_no_config_is_named(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=f"{name} .* .py"):
        options.load(str(path))


def removed(evals):
    del evals.mlm


def renamed(evals):
    evals.heldout = evals.mlm
    del evals.mlm


def replaced(evals):
    evals.mlm = options.section_of("evaluator", "retrieval")


@pytest.mark.parametrize(
    "change, mend",
    [
        (removed, "options.section_of('evaluator', 'mlm', batches=8)"),
        (renamed, "config.evals.heldout has another key: call it config.evals.mlm"),
        (replaced, "options.section_of('evaluator', 'mlm', batches=8)"),
    ],
)
def test_held_out_batches_are_those_of_the_evaluation_mlm(change, mend):
    config = presets.start_from("mbert", "laptop")
    change(config.evals)
    with pytest.raises(ValueError, match=f"config.evals.mlm: .*{re.escape(mend)}$"):
        checked(config, {})
    checked(config, {"job": "evaluate"})  # makes no batches
    translating = presets.start_from("laser", "laptop")
    assert "mlm" not in translating.evals
    checked(translating, {})
    prepared = {"data.source": "batches:DIR", "task.parallel": "DIR", "init.embeddings": ""}
    with pytest.raises(ValueError, match="config.evals.mlm: "):
        checked(translating, prepared)


def test_a_clcr_run_is_not_evaluated_again():
    with pytest.raises(ValueError, match="config.job='evaluate': must be one of clcr$"):
        checked(presets.start_from("clcr", "laptop"), {"job": "evaluate"})


def test_pairs_that_static_vectors_do_not_read_are_refused():
    given = {"data.pairs": "verses", "data.held_out": "JHN"}
    for name in ("joint_align", "align_procrustes", "joint_replace"):
        made = presets.start_from(name, "small")
        with pytest.raises(ValueError, match="config.data.pairs=verses: nothing in this run reads"):
            checked(made, given)
        checked(made, given | {"evals.retrieval.data": "pairs"})
    checked(presets.start_from("joint_dictionary", "small"), given)


def test_verses_are_held_out_in_one_place():
    made = presets.start_from("dictionary_vectors", "small")
    values = {"data.pairs": "verses@-JHN", "data.held_out": "ACT"}
    with pytest.raises(ValueError, match="config.data.pairs=verses@-JHN selects verses beside"):
        checked(made, values)
    checked(made, {**values, "data.held_out": ""})
    checked(made, {**values, "data.pairs": "verses"})
    with pytest.raises(ValueError, match="or test none, --config.evals.retrieval.data=''$"):
        checked(made, {"data.pairs": "verses", "evals.retrieval.data": "pairs"})


def test_a_config_is_complete_and_comes_back_from_json():
    for made in (
        presets.start_from("mbert", "small"),
        presets.static("small"),
        presets.start_from("clcr", "paper"),
    ):
        run = options.parse(made)
        assert (
            options.config_dict(run) == made
        )  # groups of the optimizer name their own values alone
        assert options.parse(json.loads(json.dumps(options.to_dict(run)))) == run
