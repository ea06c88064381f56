"""Options of backbones and of heads."""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar, Sequence

from clwe_jax.options.section import (
    AT,
    Amount,
    AtMost,
    Count,
    Divides,
    OneOf,
    OptionError,
    Rate,
    Options,
    Size,
    option,
)

DTYPES = ("auto", "float32", "bfloat16", "float16")
ENDINGS = ("crf", "softmax")
FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1_024))


@dataclasses.dataclass(frozen=True)
class ModelOptions(Options):
    """Options of a backbone."""

    reads_characters: ClassVar[bool] = False  # not pieces, so that it has no table at its input
    types: ClassVar[int] = 0  # rows of a table of token types


@dataclasses.dataclass(frozen=True)
class TransformerOptions(ModelOptions):
    """The encoder; `(batch, train) -> Hidden`."""

    name = "transformer"
    position_table: ClassVar[bool] = True  # else positions turn queries and keys
    input_norm: ClassVar[bool] = True
    layers: Size = option(12, "number of layers")
    width: Size = option(768, "dimensions of a layer's output")
    heads: Annotated[Size, Divides("width")] = option(
        12, "attention heads of a layer; they divide width"
    )
    mlp_dim: Size = option(3_072, "units of a layer's inner dense layer")
    dropout: Rate = option(0.1, "dropout rate of the embeddings and of each sublayer's output")
    norm: Annotated[str, OneOf("post", "pre")] = option("post", "'post' (BERT) or 'pre'")
    language_embeddings: bool = option(True, "whether the language is added at the input")
    condition_on_language: bool = option(
        True, "whether the MLM head reads the language, from the same table"
    )
    dtype: Annotated[str, OneOf(*DTYPES)] = option(
        "auto",
        "type of activations, 'auto' (bfloat16 on accelerators, float32 on CPU) or a name. "
        "Parameters, normalisation, softmax and loss are always float32",
    )
    remat: bool = option(
        False, "whether the backward pass recomputes each layer instead of storing it"
    )
    attention: Annotated[str, OneOf("auto", "xla", "cudnn")] = option(
        "auto", "kernel of attention; 'auto' is cudnn where it can run"
    )
    init_std: Amount = option(
        0.02, "standard deviation of the truncated normal that kernels and tables start from"
    )
    epsilon: Amount = option(
        1e-12, "addend to the variance in every layer normalisation (BERT: 1e-12, XLM-R: 1e-5)"
    )
    types: Count = option(
        0, "rows of the table of token types (BERT: 2, for a pair of texts in one row); 0: no table"
    )
    pooler: bool = option(
        False, "whether the model has BERT's pooler, a dense layer with tanh on [CLS]"
    )
    private_layers: Annotated[Count, AtMost("layers")] = option(
        0, "first layers of which each language has its own, at the positions of its text"
    )


@dataclasses.dataclass(frozen=True)
class RotaryOptions(TransformerOptions):
    """A Transformer with rotary positions and gated layers, such as ModernBERT's."""

    name = "rotary"
    position_table = False
    kv_heads: Count = option(
        0, "heads of keys and values, each for heads / kv_heads of queries; 0: heads"
    )
    head_dim: Count = option(0, "dimensions of a head, an even number; 0: width / heads")
    activation: Annotated[str, OneOf("gelu", "gelu_tanh", "silu")] = option(
        "gelu", "function of the gate"
    )
    rms: bool = option(
        False,
        "whether normalisation divides by the root mean square and does not subtract the mean",
    )
    input_norm: bool = option(
        True,
        "whether the embeddings are normalised, so that the first attention does not normalise "
        "its input",
    )
    output_norms: bool = option(
        False, "whether the outputs of sublayers are normalised too (Gemma 3)"
    )
    query_norm: bool = option(False, "whether queries and keys are normalised (Gemma 3, Qwen 3)")
    causal: bool = option(False, "whether a piece reads only itself and those before it")
    local_layers: Sequence[int] = option(
        (), "numbers, from 0, of the layers that read only near positions"
    )
    window: Count = option(64, "number of positions before and after that local layers read")
    theta: Amount = option(160_000.0, "base of the rotations' wavelengths")
    local_theta: Amount = option(10_000.0, "base of the rotations' wavelengths in local layers")

    @property
    def head_size(self) -> int:
        """Dimensions of a head."""
        return self.head_dim or self.width // self.heads

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_size % 2:
            raise OptionError(
                f"{AT}.head_dim={self.head_size}: rotations turn pairs of dimensions; make it even"
            )
        if self.kv_heads and self.heads % self.kv_heads:
            raise OptionError(
                f"{AT}.kv_heads={self.kv_heads} does not divide {AT}.heads={self.heads}"
            )


@dataclasses.dataclass(frozen=True)
class BiLmOptions(ModelOptions):
    """Sizes; the defaults are ELMo's."""

    name = "bilm"
    reads_characters = True
    width: Size = option(
        512, "P, dimensions of a word's vector and of the output of every layer and direction"
    )
    layers: Size = option(2, "number of LSTM layers")
    cells: Size = option(4_096, "C, LSTM cells of a layer and direction")
    cell_clip: Amount = option(3.0, "limit of the cells; 0: none")
    projection_clip: Amount = option(3.0, "limit of the outputs; 0: none")
    dropout: Rate = option(0.1, "dropout rate of each layer's input and of the last output")
    character_dim: Size = option(16, "dimensions of a character's vector")
    filters: Sequence[Sequence[int]] = option(
        FILTERS, "(characters, filters) of each size of the convolutions"
    )
    highways: Count = option(2, "number of highway layers")
    dtype: Annotated[str, OneOf(*DTYPES)] = option(
        "auto", "type of activations; 'auto' is bfloat16 on accelerators and float32 on CPU"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.filters or min(min(pair) for pair in self.filters) < 1:
            raise OptionError(
                f"{AT}.filters={self.filters}: expected pairs (characters of a filter, number of such "
                "filters), each at least 1"
            )
        if len({size for size, _ in self.filters}) < len(self.filters):
            raise OptionError(f"{AT}.filters={self.filters}: name each size once")


@dataclasses.dataclass(frozen=True)
class LaserOptions(ModelOptions):
    """Encoder and decoder."""

    name = "laser"
    width: Size = option(320, "dimensions of a piece's embedding")
    cells: Size = option(
        512, "C, cells of a layer and direction; a sentence's vector has 2 C dimensions"
    )
    layers: Size = option(5, "number of layers")
    dropout: Rate = option(
        0.1, "dropout rate of the embeddings, between layers and of a decoder's output"
    )
    dtype: Annotated[str, OneOf(*DTYPES)] = option(
        "auto", "type of activations; 'auto' is bfloat16 on accelerators and float32 on CPU"
    )
    decoder_cells: Size = option(2_048, "cells of the decoder's layer")
    language_width: Size = option(32, "dimensions of a target language's embedding")

    def __post_init__(self) -> None:
        super().__post_init__()
        # The embeddings stand beside the layers' outputs, and are padded to their width.
        if self.width > 2 * self.cells:
            raise OptionError(
                f"{AT}.width={self.width} is more than two directions of {AT}.cells={self.cells}: make "
                "the cells more, or the width smaller"
            )


@dataclasses.dataclass(frozen=True)
class TranslatorOptions(ModelOptions):
    """Encoder and decoder."""

    name = "translator"
    layers: Size = option(4, "layers of the encoder")
    decoder_layers: Size = option(4, "layers of the decoder")
    shared_layers: Annotated[Count, AtMost("layers"), AtMost("decoder_layers")] = option(
        3,
        "last layers of the encoder and first ones of the decoder that all languages share; "
        "each language has its own other layers",
    )
    width: Size = option(512, "dimensions of a layer's output")
    heads: Annotated[Size, Divides("width")] = option(
        8, "attention heads of a layer; they divide width"
    )
    mlp_dim: Size = option(2_048, "units of a layer's inner dense layer")
    dropout: Rate = option(0.1, "dropout rate of the embeddings and of each sublayer's output")
    norm: Annotated[str, OneOf("post", "pre")] = option("pre", "'post' (Vaswani et al.) or 'pre'")
    dtype: Annotated[str, OneOf(*DTYPES)] = option(
        "auto", "type of activations; 'auto' is bfloat16 on accelerators and float32 on CPU"
    )
    init_std: Amount = option(
        0.02, "standard deviation of the truncated normal that kernels and tables start from"
    )


@dataclasses.dataclass(frozen=True)
class EmbedderOptions(Options):
    """Vectors of words from their pieces, learned with the head (C4)."""

    width: Size = option(320, "dimensions of a piece's embedding, and of the GRU")
    cells: Size = option(512, "cells of the LSTM, in each direction")
    layers: Size = option(2, "layers of the LSTM")


@dataclasses.dataclass(frozen=True)
class HeadOptions(Options):
    """Options of a head."""

    labelled: ClassVar[tuple[str, ...]] = ("tags", "texts")  # the kinds of tasks that it serves
    apart: ClassVar[bool] = False  # whether it reads each text of a pair alone
    ending: ClassVar[str] = "softmax"  # how labels are read from scores; an option of taggers
    of_means: ClassVar[bool] = (
        False  # whether a text's one vector, the mean of its words, is enough
    )


@dataclasses.dataclass(frozen=True)
class LinearHead(HeadOptions):
    """Dropout and one dense layer, on words or on the mean of a text (D8, BERT)."""

    name = "linear"
    of_means = True
    dropout: Rate = option(0.1, "dropout rate of the input")
    ending: Annotated[str, OneOf(*ENDINGS)] = option(
        "softmax", "'softmax', a label for each word alone; 'crf', the best sequence"
    )


@dataclasses.dataclass(frozen=True)
class BiLstmCrfHead(HeadOptions):
    """A tagger of LSTMs in both directions (Huang et al. 2015; A14, E8, E9)."""

    name = "bilstm_crf"
    labelled = ("tags",)
    cells: Size = option(256, "LSTM cells of a layer and direction")
    layers: Size = option(1, "number of layers")
    dropout: Rate = option(0.5, "rate of locked dropout, before and after the LSTMs")
    word_dropout: Rate = option(0.05, "share of words whose vectors are zeros in training")
    ending: Annotated[str, OneOf(*ENDINGS)] = option(
        "crf", "'crf', the best sequence; 'softmax', a label for each word alone"
    )


@dataclasses.dataclass(frozen=True)
class TransformerCrfHead(HeadOptions):
    """A tagger of Transformer layers (C5): a projection, sinusoids, layers, scores."""

    name = "transformer_crf"
    labelled = ("tags",)
    layers: Size = option(2, "number of layers")
    width: Size = option(300, "dimensions of a layer's output")
    heads: Annotated[Size, Divides("width")] = option(
        2, "attention heads of a layer; they divide width"
    )
    mlp_dim: Size = option(300, "units of a layer's inner dense layer")
    input_dropout: Rate = option(0.25, "dropout rate of the vectors of words")
    dropout: Rate = option(0.15, "dropout rate inside the layers")
    ending: Annotated[str, OneOf(*ENDINGS)] = option(
        "crf", "'crf', the best sequence; 'softmax', a label for each word alone"
    )


@dataclasses.dataclass(frozen=True)
class MeanMlpHead(HeadOptions):
    """The mean of a text's words and two dense layers (A14, sentiment)."""

    name = "mean_mlp"
    labelled = ("texts",)
    of_means = True
    hidden: Size = option(256, "width of the first layer, which ends in a ReLU")
    dropout: Rate = option(0.1, "dropout rate of the input of both layers")


@dataclasses.dataclass(frozen=True)
class BiLstmMaxHead(HeadOptions):
    """LSTMs in both directions, pooled over the words of each text (Conneau et al. 2017; A14)."""

    name = "bilstm_max"
    labelled = ("texts",)
    apart = True
    cells: Size = option(300, "LSTM cells of a direction")
    hidden: Size = option(300, "width of the layer above the pooled vectors, which ends in a ReLU")
    pool: Annotated[str, OneOf("max", "mean")] = option(
        "max", "'max', or 'mean' as in the BiLSTM of MultiNLI (Williams et al. 2018)"
    )
    dropout: Rate = option(0.5, "dropout rate of the words' vectors and of the hidden layer")
    word_dropout: Rate = option(0.0, "share of words whose vectors are zeros in training")


@dataclasses.dataclass(frozen=True)
class EsimHead(HeadOptions):
    """Two texts, word against word: ESIM (Chen et al. 2017, sections 3.1-3.3; CLCR, section 4.2)."""

    name = "esim"
    labelled = ("texts",)
    apart = True
    cells: Size = option(300, "LSTM cells of a direction, and the width of the reduction")
    hidden: Size = option(300, "width of the hidden layer, which ends in a tanh")
    dropout: Rate = option(
        0.5, "dropout rate of the words' vectors, of the reduced words and of the pooled vectors"
    )


@dataclasses.dataclass(frozen=True)
class EdgeHead(HeadOptions):
    """One span or two: an edge probe (Tenney et al. 2019, section 3.1 and Fig. 1; CLCR, section 4.3)."""

    name = "edge"
    labelled = ("spans",)
    ending = "sigmoid"
    width: Size = option(256, "width of the projection")
    hidden: Size = option(256, "width of the hidden layer")
    dropout: Rate = option(0.2, "dropout rate of the hidden layer's output")
