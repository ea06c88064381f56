"""The command line: python -m clwe_jax.main --config=configs/dict_mlm_50.py [--workdir=DIR]."""

from __future__ import annotations

import os
import sys
import traceback

from absl import app, flags, logging
from ml_collections import ConfigDict, config_flags

from clwe_jax import compiled, options, time_parts, registry, terminal
from clwe_jax.options import extras, help as options_help, shipped
from clwe_jax.options.systems import describe_options

_CONFIG = config_flags.DEFINE_config_file(
    "config",
    None,
    "A file of configs/, with its scale after a colon: configs/mbert.py:small. "
    "--config=FILE --help lists its options.",
)
_WORKDIR = flags.DEFINE_string(
    "workdir", None, "The run's folder; starting again in it resumes. Default: runs/<config>."
)
_MULTIHOST = flags.DEFINE_bool(
    "multihost", False, "Join the other hosts (jax.distributed) before anything else."
)
_PLAN = flags.DEFINE_string(
    "plan", None, "Compile the training step for a slice (v3:8x16), print its cost, do not train."
)
_DRY_RUN = flags.DEFINE_bool(
    "dry_run", False, "Say what would be read, trained and measured, and how long; write nothing."
)
_DEBUG = flags.DEFINE_bool("debug", False, "Show the whole traceback of an error.")


def main(argv: list[str]) -> None:
    """Trains the system of the flags; ends with a line on an error of the user's."""
    if len(argv) > 1:
        sys.exit(f"error: unknown arguments {argv[1:]}; options start with --. See --help.")
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    time_parts.is_command()
    compiled.keep()
    workdir = os.path.abspath(_WORKDIR.value or os.path.join("runs", _run_name()))
    try:
        options.check_folder(workdir)
        config = options.parse(_CONFIG.value)
        if config.job in registry.TABLES["adopt_options"]:
            config = registry.lookup("adopt_options", config.job)(config)
        if config.job in registry.TABLES["inputs"]:  # others follow a run that was checked
            config.resolve().check_all()
        if _PLAN.value:
            if config.job not in registry.TABLES["plan"]:
                jobs = ", ".join(registry.TABLES["plan"])
                raise ValueError(f"--plan: only the jobs {jobs} have a plan, not {config.job!r}")
            registry.lookup("plan", config.job)(config, _PLAN.value)
            return
        if config.job in registry.TABLES["inputs"]:
            registry.lookup("inputs", config.job)(config.resolve(), workdir)
        if _MULTIHOST.value:
            import jax

            jax.distributed.initialize()
        finished = registry.lookup("job", config.job)(config, workdir, _DRY_RUN.value)
        if _DRY_RUN.value:
            _print_expected_time(config.resolve())
    except (ValueError, OSError, ImportError) as error:
        if _DEBUG.value:
            raise
        logging.debug("%s", traceback.format_exc())
        message = extras.explain_error(error) if isinstance(error, ImportError) else error
        sys.exit(f"error: {message}\n(--debug shows where.)")
    if not finished:
        sys.exit(terminal.UNFINISHED)


def _print_expected_time(config: options.Run) -> None:
    """Prints how long the run takes, by the measured time of the config's default run, at `:laptop`."""
    from clwe_jax.runs import forecast  # imports jax

    file = config_flags.get_config_filename(flags.FLAGS["config"])
    measured = {}
    if options.from_file(file).job == config.job:  # the minutes are of the file's own job
        measured = shipped.minutes().get(_run_name(), {})
    line = forecast.expected_time(config, measured)
    print(f"  {line}" if line else "  time: unknown; the log says the time that is left")


def _run_name() -> str:
    """runs/dict_mlm_50, or runs/dict_mlm_50-small at another scale."""
    path, _, scale = config_flags.get_config_filename(flags.FLAGS["config"]).partition(":")
    name = os.path.splitext(os.path.basename(path))[0]
    return f"{name}-{scale}" if scale and scale != "laptop" else name


def _flags_parser(argv: list[str]) -> list[str]:
    """Parses flags; a wrong config path or key ends in an error with the known ones."""
    config = None
    file = ""
    try:
        argv = shipped.with_config_file(argv)
    except ValueError as error:
        sys.exit(f"error: {error}")
    for position, argument in enumerate(argv):
        name, _, file = argument.partition("=")
        if name in ("--config", "-config"):
            file = file or "".join(argv[position + 1 : position + 2])
            config = _load(file)
            break
    if {"--help", "-help"} & set(argv):
        if config is None:
            app.usage(shorthelp=True, writeto_stdout=True)
        else:
            print(options_help.text(_parse_options(config), file))
        sys.exit()
    try:
        arguments = app.parse_flags_with_usage(argv)
    except (AttributeError, KeyError) as error:
        text = str(error.args[0] if error.args else error).replace("\n", ". ")
        run = _parse_options(config) if config else None
        paths = [path for path, _, _ in describe_options(run)] if run else []
        for argument in argv:
            path = argument.partition("=")[0].lstrip("-").removeprefix("config.")
            if argument.startswith(("--config.", "-config.")) and path not in paths:
                text = options_help.explain_unknown(run, path) if run else text
                break
        sys.exit(f"error: {text}")
    if flags.FLAGS.config is None:
        sys.exit(
            "error: which system? Give --config=NAME; `clwe-jax list` has a line on each: "
            f"{', '.join(shipped.configs())}."
        )
    return arguments


def _parse_options(config: ConfigDict) -> options.Run:
    """The options of a config; a wrong value of the file ends the program."""
    try:
        return options.parse(config)
    except ValueError as error:
        sys.exit(f"error: {error}")


def _load(argument: str) -> ConfigDict:
    """The config of `--config=argument`; a wrong scale ends the program."""
    try:
        return options.load(argument)
    except ValueError as error:
        sys.exit(f"error: {error}")


def entry() -> None:
    terminal.until_stopped(lambda: app.run(main, flags_parser=_flags_parser))


if __name__ == "__main__":
    entry()
