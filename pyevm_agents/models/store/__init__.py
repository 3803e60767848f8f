"""Generations kept on disk, and the model that answers from them."""
