"""Attention that reads fewer keys or drops the softmax: its exact error, and what it costs."""
