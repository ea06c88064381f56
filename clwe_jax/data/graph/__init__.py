"""Text to pretraining batches in tf.data. No other package imports TensorFlow or seqio."""
