"""A Transformer with rotary positions and gated layers: ModernBERT, Gemma 3 and Qwen 3 are its options.

Positions turn queries and keys (RoPE; Su et al. 2021, section 3.4), the inner layer is gated (GLU; Shazeer
2020), nothing has a bias, and some layers attend to near positions alone.

Suffixes of names are shapes: B rows, L positions, N = B * L, D width, H heads of size K for queries, G those for
keys (and for values), J = H + 2 G, M units of the inner layer, R = K / 2.
"""

from __future__ import annotations

from typing import Callable

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import attention, dropout
from clwe_jax.models.transformer import ACTIVATION, Transformer, gelu, parameter
from clwe_jax.options.models import RotaryOptions
from clwe_jax.types import Array, Batch, Hidden

_ACTIVATIONS = {"gelu": gelu, "gelu_tanh": jax.nn.gelu, "silu": jax.nn.silu}


class ScaleNorm(nn.Module):
    """Normalisation over the last axis with a scale and no bias, in float32.

    Attributes:
      rms: whether the mean stays, so that only the root of the mean square is divided by.
    """

    epsilon: float
    rms: bool

    @nn.compact
    def __call__(self, x: Array) -> Array:
        # x: [..., D].
        scale = parameter(self, "scale", ("norm",), nn.initializers.ones, (x.shape[-1],))
        y = x.astype(jnp.float32)
        if not self.rms:
            y = y - y.mean(-1, keepdims=True)
        square = jnp.square(y).mean(-1, keepdims=True)
        return (y * (jax.lax.rsqrt(square + self.epsilon) * scale)).astype(x.dtype)


def rotate(x: Array, positions: Array, theta: float) -> Array:
    """Turns each pair (k, k + K / 2) of dimensions by the angle position * theta^(-2 k / K).

    Args:
      x: [B, L, H, K].
      positions: int [B, L], below L.
    """
    half = x.shape[-1] // 2
    # float32: bfloat16 does not tell the angles of far positions apart.
    turns_R = np.float32(theta) ** (-np.arange(half, dtype=np.float32) / half)
    angles_LR = np.arange(x.shape[1], dtype=np.float32)[:, None] * turns_R
    # A table: XLA's loops on a CPU would compute the cosines for each head and use again.
    cosines_BL1R = jnp.asarray(np.cos(angles_LR))[positions][:, :, None]
    sines_BL1R = jnp.asarray(np.sin(angles_LR))[positions][:, :, None]
    first_BLHR, second_BLHR = jnp.split(x.astype(jnp.float32), 2, -1)
    turned = [
        first_BLHR * cosines_BL1R - second_BLHR * sines_BL1R,
        second_BLHR * cosines_BL1R + first_BLHR * sines_BL1R,
    ]
    return jnp.concatenate(turned, -1).astype(x.dtype)


class RotaryAttention(nn.Module):
    """Attention within a mask; a head of keys and values may serve several heads of queries."""

    options: RotaryOptions
    implementation: str
    theta: float

    @nn.compact
    def __call__(self, x: Array, mask: Array, positions: Array) -> Array:
        # x: [B, L, D]; mask: bool [B, 1, L, L]; positions: int [B, L].
        options = self.options
        width = x.shape[-1]
        heads = options.heads
        size = options.head_size
        kv_heads = options.kv_heads or heads
        init = nn.initializers.truncated_normal(options.init_std)
        axes = ("embed", "heads", "kv")
        w_qkv = parameter(self, "qkv_kernel", axes, init, (width, heads + 2 * kv_heads, size))
        w_out = parameter(self, "out_kernel", ("heads", "kv", "embed"), init, (heads, size, width))
        x_ND = x.reshape(-1, width)  # as in `GatedFeedForward`
        qkv_NJK = jnp.einsum("nd,djk->njk", x_ND, w_qkv.astype(x.dtype))
        qkv_BLJK = qkv_NJK.reshape(*x.shape[:2], -1, size)
        q_BLHK, k_BLGK, v_BLGK = jnp.split(qkv_BLJK, (heads, heads + kv_heads), axis=2)
        if options.query_norm:
            q_BLHK = ScaleNorm(options.epsilon, options.rms, name="query_norm")(q_BLHK)
            k_BLGK = ScaleNorm(options.epsilon, options.rms, name="key_norm")(k_BLGK)
        q_BLHK = rotate(q_BLHK, positions, self.theta)
        k_BLGK = rotate(k_BLGK, positions, self.theta)
        y_BLHK = attention.attend(q_BLHK, k_BLGK, v_BLGK, mask, self.implementation)
        y_NHK = y_BLHK.reshape(-1, heads, size)
        y_ND = jnp.einsum("nhk,hkd->nd", y_NHK, w_out.astype(x.dtype))
        return y_ND.reshape(x.shape)


class GatedFeedForward(nn.Module):
    """(activation(x A) * x B) C."""

    options: RotaryOptions

    @nn.compact
    def __call__(self, x: Array) -> Array:
        # x: [B, L, D].
        width = x.shape[-1]
        units = self.options.mlp_dim
        init = nn.initializers.truncated_normal(self.options.init_std)
        w_in = parameter(self, "in_kernel", ("embed", None, "mlp"), init, (width, 2, units))
        w_out = parameter(self, "out_kernel", ("mlp", "embed"), init, (units, width))
        # A product of [B * L, D] needs no transposed array, on CPU.
        x_ND = x.reshape(-1, width)
        gate_NM = _ACTIVATIONS[self.options.activation](x_ND @ w_in[:, 0].astype(x.dtype))
        inner_NM = x_ND @ w_in[:, 1].astype(x.dtype)
        y_ND = (gate_NM * inner_NM) @ w_out.astype(x.dtype)
        return y_ND.reshape(x.shape)


class RotaryLayer(nn.Module):
    """Attention and gated feed-forward with residual connections; norm='post' or 'pre'.

    Attributes:
      number: of the layer, from 0.
    """

    options: RotaryOptions
    implementation: str
    number: int

    @nn.compact
    def __call__(self, x: Array, mask: Array, seed: Array | None, positions: Array) -> Array:
        # x: [B, L, D]; mask: bool [B, 1, L, L]; seed: uint32 [2]; positions: int [B, L].
        options = self.options

        def norm(name: str, y: Array) -> Array:
            return ScaleNorm(options.epsilon, options.rms, name=name)(y)

        def add(x: Array, name: str, sublayer: Callable[[Array], Array], place: int) -> Array:
            # With normalised embeddings the first attention needs no norm of its own.
            bare = name == "attention" and options.input_norm and not self.number
            before = options.norm == "pre" and not bare
            y = sublayer(norm(f"{name}_norm", x) if before else x)
            y = norm(f"{name}_output_norm", y) if options.output_norms else y
            x = x + dropout.dropout(y, options.dropout, seed, 2 * self.number + 1 + place)
            return norm(f"{name}_norm", x) if options.norm == "post" else x

        near = self.number in options.local_layers
        if near:
            distance_B1LL = jnp.abs(positions[:, None, :, None] - positions[:, None, None, :])
            mask = mask & (distance_B1LL <= options.window)
        theta = options.local_theta if near else options.theta
        attend = RotaryAttention(options, self.implementation, theta, name="attention")
        x = add(x, "attention", lambda y: attend(y, mask, positions), 0)
        x = add(x, "mlp", GatedFeedForward(options, name="mlp"), 1)
        return nn.with_logical_constraint(x, ACTIVATION)


class RotaryTransformer(Transformer):
    """`Transformer` with rotary layers."""

    options: RotaryOptions
    layer_class = RotaryLayer

    def layer_fields(self, number: int, implementation: str) -> dict[str, object]:
        return dict(options=self.options, implementation=implementation, number=number)

    def norm(self) -> nn.Module:
        return ScaleNorm(self.options.epsilon, self.options.rms)

    def make_mask(self, batch: Batch) -> Array:
        mask = super().make_mask(batch)
        if self.options.causal:
            place = jnp.arange(mask.shape[-1])
            mask = mask & (place[:, None] >= place[None, :])
        return mask

    def __call__(self, batch: Batch, train: bool = False) -> Hidden:
        # As transformers, whose ModernBERT, Gemma and Qwen are these models.
        hidden = super().__call__(batch, train)
        return Hidden(hidden.states)
