"""The toy model of tests/encoders/conftest.py."""

import pathlib
import runpy

_TOY = runpy.run_path(str(pathlib.Path(__file__).parents[1] / "encoders" / "conftest.py"))
toy_objective, make_tokenizer, make_variables, warnings = (
    _TOY[name] for name in ("toy_objective", "make_tokenizer", "make_variables", "warnings")
)
