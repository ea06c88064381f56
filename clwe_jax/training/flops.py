"""Floating-point operations of a program, counted on its jaxpr."""

from __future__ import annotations

import math
from typing import Any

from jax.extend import core


def matrix_flops(jaxpr: Any) -> float:
    """FLOPs of a jaxpr's matrix products and convolutions, over all its devices.

    The body of a loop counts once for every round. (Compilers count it once, as if a recurrent
    network read one word of its window.) Of several branches the cheapest counts: expensive ones
    run rarely (the sense state's components, in one step of fifty) and would flatter the rate.
    Elementwise operations do not count, as in the utilisation that papers report.
    """
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)  # of a closed one
    total = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            depth = math.prod(shape[axis] for axis in contracted)
            total += 2.0 * math.prod(equation.outvars[0].aval.shape) * depth
        elif equation.primitive.name == "conv_general_dilated":
            # Each output is a product over the kernel without its axis of outputs.
            kernel = equation.invars[1].aval.shape
            out = equation.params["dimension_numbers"].rhs_spec[0]
            total += (
                2.0 * math.prod(equation.outvars[0].aval.shape) * math.prod(kernel) / kernel[out]
            )
        inner = [matrix_flops(part) for part in core.jaxprs_in_params(equation.params)]
        if equation.primitive.name == "cond":
            total += min(inner)
        else:
            total += sum(inner) * equation.params.get("length", 1)
    return total
