"""Measures a finished run again, on other test sets or with other options of its evaluators."""

from __future__ import annotations

from clwe_jax import options, registry


def run(config: options.Run, workdir: str, dry: bool = False) -> bool:
    """Runs config.evals on the finished run in `workdir`, as the job of that run does.

    Raises:
      ValueError, FileNotFoundError: `workdir` holds no finished run of this config.
    """
    trained = options.read_config(workdir)
    names = config.data.languages or trained.data.languages
    config = options.with_values(config, {"job": trained.job, "data.languages": names})
    if config.job in registry.TABLES["adopt_options"]:  # as the training did
        config = registry.lookup("adopt_options", config.job)(config)
    return registry.lookup("evaluation", config.job)(config, workdir, dry)
