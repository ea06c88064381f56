"""The names and layouts of ModernBERT's, Gemma 3's and Qwen 3's parameters, and of our rotary encoder's."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator, Mapping

import numpy as np

from clwe_jax.options.models import RotaryOptions

_QUERY = ("query_norm/scale", "key_norm/scale")
# transformers' names of activations -> ours
_ACTIVATIONS = {"gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh", "silu": "silu"}


@dataclasses.dataclass(frozen=True)
class RotaryLayout:
    """The names of an architecture.

    Attributes:
      layer: our parameter of a layer -> theirs, with {} for its number; of several the outputs stand
        one after another in ours.
      final_norm, norm: the normalisations after the last layer and of the embeddings; '': none.
      addend: what is added to the scales of all normalisations.
      dense, head_norm, bias, scores: the MLM head, as of `names.Layout`; '' where there is none.
    """

    prefixes: tuple[str, ...]
    tokens: str
    layer: Mapping[str, tuple[str, ...]]
    final_norm: str
    norm: str = ""
    addend: float = 0.0
    dense: str = ""
    head_norm: str = ""
    bias: str = ""
    scores: str = ""


_QWEN = {
    "attention/qkv_kernel": tuple(f"layers.{{}}.self_attn.{x}_proj" for x in "qkv"),
    "attention/out_kernel": ("layers.{}.self_attn.o_proj",),
    "attention/query_norm/scale": ("layers.{}.self_attn.q_norm",),
    "attention/key_norm/scale": ("layers.{}.self_attn.k_norm",),
    "mlp/in_kernel": ("layers.{}.mlp.gate_proj", "layers.{}.mlp.up_proj"),
    "mlp/out_kernel": ("layers.{}.mlp.down_proj",),
    "attention_norm/scale": ("layers.{}.input_layernorm",),
    "mlp_norm/scale": ("layers.{}.post_attention_layernorm",),
}
_GEMMA = _QWEN | {
    "attention_output_norm/scale": ("layers.{}.post_attention_layernorm",),
    "mlp_norm/scale": ("layers.{}.pre_feedforward_layernorm",),
    "mlp_output_norm/scale": ("layers.{}.post_feedforward_layernorm",),
}
LAYOUTS = {
    "modernbert": RotaryLayout(
        prefixes=("model.", ""),
        tokens="embeddings.tok_embeddings.weight",
        layer={
            "attention/qkv_kernel": ("layers.{}.attn.Wqkv",),
            "attention/out_kernel": ("layers.{}.attn.Wo",),
            "mlp/in_kernel": ("layers.{}.mlp.Wi",),
            "mlp/out_kernel": ("layers.{}.mlp.Wo",),
            "attention_norm/scale": ("layers.{}.attn_norm",),
            "mlp_norm/scale": ("layers.{}.mlp_norm",),
        },
        norm="embeddings.norm",
        final_norm="final_norm",
        dense="head.dense",
        head_norm="head.norm",
        bias="decoder.bias",
        scores="decoder.weight",
    ),
    "gemma3_text": RotaryLayout(("model.", ""), "embed_tokens.weight", _GEMMA, "norm", addend=1.0),
    "qwen3": RotaryLayout(("model.", ""), "embed_tokens.weight", _QWEN, "norm"),
}


def options_of(kind: str, config: Mapping[str, Any]) -> RotaryOptions:
    """The options of the encoder that a config.json describes.

    Raises:
      KeyError: a size is missing.
      ValueError: rotations of another kind, or an activation or attention that ours lacks.
    """
    layers = config["num_hidden_layers"]
    modern = kind == "modernbert"
    gemma = kind == "gemma3_text"
    types = config.get("layer_types")
    if types:
        local = [n for n, name in enumerate(types) if name != "full_attention"]
    elif modern:
        interval = config.get("global_attn_every_n_layers", 3)
        local = [n for n in range(layers) if n % interval]
    else:
        interval = config.get("sliding_window_pattern", 6) if gemma else 1
        local = [n for n in range(layers) if (n + 1) % interval]
    keys = {
        "modernbert": (160_000.0, 10_000.0, "global_rope_theta", "local_rope_theta"),
        "gemma3_text": (1_000_000.0, 10_000.0, "rope_theta", "rope_local_base_freq"),
        "qwen3": (10_000.0, 10_000.0, "rope_theta", "rope_theta"),
    }[kind]
    bases = []
    for default, old, new in zip(keys, keys[2:], ("full_attention", "sliding_attention")):
        turns = config.get("rope_parameters") or {}
        turns = turns.get(new) or (turns if "rope_theta" in turns else {})
        scaled = turns.get("rope_type", "default") != "default" or config.get("rope_scaling")
        if scaled:
            raise ValueError("scaled rotary positions (rope_scaling) are not supported")
        bases.append(float(turns.get("rope_theta") or config.get(old) or default))
    causal = not modern and not config.get("use_bidirectional_attention")
    near = config.get("local_attention", 128) // 2
    if not modern:
        window = config.get("sliding_window") or 4_096
        near = window - 1 if causal else window // 2
    head_dim = config.get("head_dim") or ({"gemma3_text": 256, "qwen3": 128}.get(kind, 0))
    name = config.get("hidden_activation") or config.get("hidden_act")
    name = name or {"modernbert": "gelu", "gemma3_text": "gelu_pytorch_tanh"}.get(kind, "silu")
    if name not in _ACTIVATIONS:
        raise ValueError(f"the activation {name!r} is unknown; one of {', '.join(_ACTIVATIONS)}")
    return RotaryOptions(
        layers=layers,
        width=config["hidden_size"],
        heads=config["num_attention_heads"],
        kv_heads=config.get("num_key_value_heads") or 0,
        head_dim=head_dim,
        mlp_dim=config["intermediate_size"],
        epsilon=config.get("norm_eps" if modern else "rms_norm_eps", 1e-5 if modern else 1e-6),
        norm="pre",
        language_embeddings=False,
        condition_on_language=False,
        activation=_ACTIVATIONS[name],
        rms=not modern,
        input_norm=modern,
        output_norms=gemma,
        query_norm=not modern,
        causal=causal,
        local_layers=tuple(local),
        window=near,
        theta=bases[0],
        local_theta=bases[1],
    )


def _shapes(layout: RotaryLayout, options: RotaryOptions) -> dict[str, list[tuple[int, int]]]:
    """Our kernel of a layer -> the shapes of theirs, in PyTorch's layout."""
    width = options.width
    size = options.head_size
    heads = options.heads
    groups = options.kv_heads or heads
    fused = len(layout.layer["attention/qkv_kernel"]) == 1
    queries = (
        [(heads + 2 * groups) * size] if fused else [x * size for x in (heads, groups, groups)]
    )
    gates = [2 * options.mlp_dim] if fused else [options.mlp_dim] * 2
    return {
        "attention/qkv_kernel": [(x, width) for x in queries],
        "attention/out_kernel": [(width, heads * size)],
        "mlp/in_kernel": [(x, width) for x in gates],
        "mlp/out_kernel": [(width, options.mlp_dim)],
    }


def parameters(
    layout: RotaryLayout,
    options: RotaryOptions,
    prefix: str,
    take: Callable[[str, tuple[int, ...]], np.ndarray],
) -> Iterator[tuple[str, np.ndarray]]:
    """The path and the array of each of our parameters, without the table of tokens and the MLM head.

    Args:
      prefix: the beginning of their names.
      take: function of a name and a shape, that of an array in PyTorch's layout.
    """
    width = options.width
    size = options.head_size
    heads = options.heads
    shapes = _shapes(layout, options)
    ours = {
        "attention/qkv_kernel": (width, -1, size),
        "attention/out_kernel": (heads, size, width),
        "mlp/in_kernel": (width, 2, -1),
        "mlp/out_kernel": (-1, width),
    }

    def norm(name: str, dimensions: int = width) -> np.ndarray:
        return take(f"{prefix}{name}.weight", (dimensions,)) + np.float32(layout.addend)

    if layout.norm:
        yield "backbone/embedding_norm/scale", norm(layout.norm)
    yield "backbone/final_norm/scale", norm(layout.final_norm)
    for k in range(options.layers):
        for path, templates in layout.layer.items():
            if path == "attention_norm/scale" and options.input_norm and not k:
                continue
            their_names = [name.format(k) for name in templates]
            if path.endswith("scale"):
                array = norm(their_names[0], size if path.endswith(_QUERY) else width)
            else:
                parts = [take(f"{prefix}{x}.weight", y) for x, y in zip(their_names, shapes[path])]
                array = np.concatenate(parts).T.reshape(ours[path])
            yield f"backbone/layer_{k}/{path}", array


def to_theirs(
    kind: str, options: RotaryOptions, params: Mapping[str, np.ndarray], pieces: int
) -> dict[str, np.ndarray]:
    """The arrays of the architecture's encoder by their names, of ours by path: the way back of `parameters`."""
    layout = LAYOUTS[kind]
    shapes = _shapes(layout, options)
    scale = options.width**0.5 if kind == "gemma3_text" else 1.0
    arrays = {layout.tokens: params["backbone/token_embedding"][:pieces] / np.float32(scale)}
    norms = {layout.final_norm: "final_norm/scale"}
    if layout.norm:
        norms[layout.norm] = "embedding_norm/scale"
    for name, path in norms.items():
        arrays[f"{name}.weight"] = params[f"backbone/{path}"] - np.float32(layout.addend)
    for k in range(options.layers):
        for path, templates in layout.layer.items():
            array = params.get(f"backbone/layer_{k}/{path}")
            if array is None:  # the first attention's normalisation, beside that of the embeddings
                continue
            if path.endswith("scale"):
                parts = [array - np.float32(layout.addend)]
            else:
                rows = np.cumsum([shape[0] for shape in shapes[path]])[:-1]
                parts = np.split(array.reshape(shapes[path][0][1], -1).T, rows)
            arrays |= {f"{x.format(k)}.weight": part for x, part in zip(templates, parts)}
    return arrays


def to_config(options: RotaryOptions) -> tuple[str, dict[str, Any]]:
    """The architecture and the entries of config.json from which `options_of` reads the options.

    Raises:
      ValueError: none of the architectures has them.
    """
    types = ["full_attention", "sliding_attention"]
    activation_names = {new: old for old, new in _ACTIVATIONS.items()}
    turns = dict(zip(types, (options.theta, options.local_theta)))
    turns = {name: {"rope_type": "default", "rope_theta": x} for name, x in turns.items()}
    base_config = dict(
        hidden_size=options.width,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        num_key_value_heads=options.kv_heads or options.heads,
        intermediate_size=options.mlp_dim,
        layer_types=[types[k in options.local_layers] for k in range(options.layers)],
        rope_parameters=turns,
    )
    rms_config = {**base_config, "head_dim": options.head_size, "rms_norm_eps": options.epsilon}
    near = options.window + 1 if options.causal else 2 * options.window
    name = activation_names[options.activation]
    configs = {
        "modernbert": {
            **base_config,
            "norm_eps": options.epsilon,
            "hidden_activation": name,
            "local_attention": 2 * options.window,
        },
        "gemma3_text": {
            **rms_config,
            "hidden_activation": name,
            "sliding_window": near,
            "query_pre_attn_scalar": options.head_size,
            "use_bidirectional_attention": not options.causal,
        },
        "qwen3": {**rms_config, "hidden_act": name, "rope_parameters": turns["full_attention"]},
    }
    for kind, config in configs.items():
        if _architecture(options_of(kind, config)) == _architecture(options):
            return kind, config
    raise ValueError(
        "these options of config.model are none of ModernBERT, Gemma 3 and Qwen 3 (docs/huggingface.md): "
        "--format=vec writes the vectors of frequent words"
    )


def _architecture(options: RotaryOptions) -> list[Any]:
    """What decides on the hidden states of given parameters."""
    names = "layers width heads head_size mlp_dim epsilon norm activation rms input_norm output_norms query_norm"
    names += " causal theta language_embeddings types"
    values = [getattr(options, name) for name in names.split()]
    local = (*options.local_layers, options.window, options.local_theta)
    return [*values, options.kv_heads or options.heads, local if options.local_layers else ()]


def list_demands(kind: str) -> dict[str, Any]:
    """Entries of config.json -> the only values that ours can hold."""
    if kind == "modernbert":
        biases = ("norm_bias", "attention_bias", "mlp_bias")
        return {**dict.fromkeys(biases, False), "classifier_activation": "gelu"}
    return {"attention_bias": False, "attn_logit_softcapping": None}
