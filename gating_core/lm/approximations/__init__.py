"""Efficient attention in the language models: changes of losses and of heads' outputs."""
