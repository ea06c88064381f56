"""The search for a head's regularisation: trials, their record, and the chosen values."""

import dataclasses
import types

import pytest

from clwe_jax import options, presets
from clwe_jax.options.transfer import TransferRun
from clwe_jax.transfer import search
from clwe_jax.transfer.results import Trial


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A stand-in for features: its figure is highest at l2 = 1e-4 and dropout .3."""

    config: TransferRun
    workdir: str
    trained: list[TransferRun]
    most: int = 99

    def made_with(self):
        return {x: options.to_dict(getattr(self.config, x)) for x in ("transfer", "recipe")}

    def development(self):
        if len(self.trained) == self.most:
            raise KeyboardInterrupt
        assert self.config.transfer.seeds == 1
        self.trained.append(self.config)
        l2, rate = self.config.recipe.l2, self.config.transfer.head.dropout
        return 1 - abs(rate - 0.3) - abs(l2 - 1e-4)


@pytest.fixture
def config():
    found = presets.transfer("laptop", "ner", "linear")
    found.transfer.search.trials = 8
    return options.parse(found)


def test_an_interrupted_search_goes_on_where_it_was(config, tmp_path):
    whole = search.search(Frozen(config, str(tmp_path / "a"), []))
    assert len(whole) == 8 and len({str(trial.values) for trial in whole}) == 8
    own = {"recipe.l2": config.recipe.l2, "transfer.head.dropout": config.transfer.head.dropout}
    assert whole[0].values == own
    assert search.best(whole).figure > whole[0].figure
    trained = []
    with pytest.raises(KeyboardInterrupt):
        search.search(Frozen(config, str(tmp_path / "b"), trained, most=3))
    assert len(trained) == 3
    assert search.search(Frozen(config, str(tmp_path / "b"), trained)) == whole
    assert len(trained) == 8
    assert search.search(Frozen(config, str(tmp_path / "b"), trained)) == whole
    assert len(trained) == 8
    # Trials with other options are made again.
    config = options.with_values(config, {"recipe.learning_rate": config.recipe.learning_rate / 2})
    search.search(Frozen(config, str(tmp_path / "b"), trained))
    assert len(trained) == 16


def test_the_first_trial_has_the_config_s_values_also_outside_the_ranges(config, tmp_path):
    config = options.with_values(config, {"recipe.l2": 0.0, "transfer.head.dropout": 0.9})
    trained = []
    first, second, *_ = search.search(Frozen(config, str(tmp_path / "a"), trained))
    assert first.values == {"recipe.l2": 0.0, "transfer.head.dropout": 0.9}
    assert trained[0].recipe.l2 == 0.0 and second.values["recipe.l2"] >= 1e-6
    # A search that goes on reads it again.
    assert search.search(Frozen(config, str(tmp_path / "a"), trained))[0] == first


def test_every_rate_of_dropout_is_chosen():
    config = options.parse(presets.laser_tagger("laptop", "ner"))
    assert set(search.ranges(config.transfer.head)) == {
        "recipe.l2",
        "transfer.head.dropout",
        "transfer.head.input_dropout",
    }


def test_the_report_has_the_trials_in_the_order_of_their_figures():
    trials = [Trial({"recipe.l2": 1e-4}, 0.5), Trial({"recipe.l2": 1e-3}, 0.7)]
    task = types.SimpleNamespace(title="Names", metric="f1")
    [table] = search.section(task, trials).blocks
    assert [(row[0], row[1].value, row[2].value) for row in table.rows] == [
        ("2", 1e-3, 0.7),
        ("1", 1e-4, 0.5),
    ]
    assert search.section(task, []) is None


def test_a_search_is_of_one_head(config):
    config.check_all()
    with pytest.raises(ValueError, match="config.transfer.search.trials=-1"):
        options.with_values(config, {"transfer.search.trials": -1})
    with pytest.raises(ValueError, match="config.transfer.search.trials=8"):
        options.with_values(config, {"transfer.layers": "each"}).check_all()
