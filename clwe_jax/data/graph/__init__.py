"""Text to batches of pretraining in tf.data. No other room imports TensorFlow or seqio."""
