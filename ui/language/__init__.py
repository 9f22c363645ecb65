"""Shared by pages that show a language model and a text: models, selection, controls."""
