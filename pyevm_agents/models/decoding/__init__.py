"""Constrained decoding: tokenizer, chat template, grammars and the greedy rule. No processes."""
