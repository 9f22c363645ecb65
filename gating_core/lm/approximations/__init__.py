"""Efficient attention in heads of the language models."""
