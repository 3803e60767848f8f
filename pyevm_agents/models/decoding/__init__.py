"""Constrained decoding: tokens, grammars and the greedy rule. Knows no process and no pipe."""
