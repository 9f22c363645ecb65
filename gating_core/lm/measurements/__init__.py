"""Measurements of language models: sinks, rank, gate sparsity, calibration, block topology."""
