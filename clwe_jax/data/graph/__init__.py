"""Text to pretraining batches in tf.data. No other package imports TensorFlow or seqio."""

import os

from clwe_jax import terminal

# TensorFlow logs the absence of GPUs when it starts; its errors are exceptions anyway. It reads the
# variable only after the first lines, hence `silent`.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
with terminal.silent():
    import tensorflow  # noqa: F401
