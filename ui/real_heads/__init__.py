"""Real heads: what do the attention heads of a real model look at, and how do they curve?"""
