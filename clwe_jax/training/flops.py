"""Floating-point operations of a program, counted on its jaxpr."""

from __future__ import annotations

import math
from typing import Any


def matrix_flops(jaxpr: Any) -> float:
    """FLOPs of a jaxpr's matrix products and convolutions, over all devices it is cut up for.

    A loop's body counts as often as it runs (what compilers tell counts it once: a recurrent
    network would seem to need its window's length less); of branches the most expensive one counts.
    Elementwise work does not, as in the shares of a chip's peak that papers give.
    """
    total = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            depth = math.prod(shape[axis] for axis in contracted)
            total += 2.0 * math.prod(equation.outvars[0].aval.shape) * depth
        elif equation.primitive.name == "conv_general_dilated":
            kernel = equation.invars[1].aval.shape
            out = equation.params["dimension_numbers"].rhs_spec[0]
            total += (
                2.0 * math.prod(equation.outvars[0].aval.shape) * math.prod(kernel) / kernel[out]
            )
        inner = [matrix_flops(part) for part in _parts(equation.params)]
        if equation.primitive.name == "cond":
            total += max(inner)
        else:
            total += sum(inner) * equation.params.get("length", 1)
    return total


def _parts(params: dict[str, Any]) -> list[Any]:
    found = []
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else [value]:
            item = getattr(item, "jaxpr", item)
            if hasattr(item, "eqns"):
                found.append(item)
    return found
