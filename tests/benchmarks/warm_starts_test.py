"""The rows of the table of warm starts: options that the config has, with values that it accepts."""

import pathlib

import pytest

from clwe_jax.training import optim, phases


@pytest.fixture(scope="module")
def table(load_script):
    return load_script("warm_starts")


def test_every_row_is_a_config_that_works(table, run_config):
    for rows in table.VARIANTS.values():
        for changed in rows.values():
            # An option that is absent raises.
            config = run_config.load("warm_dict_mlm", changes=changed)
            config.resolve().check_all()
            found = optim.from_config(config.optimizer, config.data.sequence_length)
            phases.from_config(config.train, found)


def test_runs_are_made_once_and_share_the_first_ones_vectors(table, tmp_path, monkeypatch, capsys):
    commands = []

    def run(command, cwd):
        options = dict(part.split("=", 1) for part in command if part.startswith("--"))
        commands.append(options)
        folder = pathlib.Path(options["--workdir"])
        folder.mkdir(parents=True)
        (folder / "results.json").write_text('{"retrieval/mean_last4": 0.25}')
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(table.tables.subprocess, "run", run)
    arguments = [f"--out={tmp_path}", "--groups=start", "--variants=the default;cold;FOCUS"]
    table.main([*arguments, "--print-only"])
    assert not commands
    table.main([*arguments, "--", "--config.train.batch_size=8"])
    table.main(arguments)
    first, cold, focus = commands
    assert "--config.init.embeddings" not in first
    assert focus["--config.init.embeddings"] == f"{first['--workdir']}/start"
    assert cold["--config.init.embeddings"] == "" and focus["--config.init.method"] == "focus"
    assert all(each["--config.train.batch_size"] == "8" for each in commands)
    assert "| FOCUS | 25.0 |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        table.main(["--groups=starts"])
