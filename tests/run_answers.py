"""Answers of agents' runs, and whether they are done: one table for all layers."""

ANSWERS = [
    ("UNSURE: which one?", False),
    ("I can't do that: pay Carol; done before: pay: Paid", False),
    ("I cannot call pause because only the owner may.", False),
    ("Failed. pay: no", False),
    ("Failed", False),
    ("Error: paused", False),
    ("FAILED: no worker answered in time", False),
    ("Done. pay: Paid", True),
    ("Done.", True),
    ("", True),
    ("42", True),
    ("UNSURE", True),
    ("unsure: x", True),
    ("error: x", True),
    (" UNSURE: x", True),
    ("I can't", True),
    ("I cannotdo", True),
    ("i can't do that", True),
    ("Done. pay: I can't do that", True),
    ("UNSURE\x00: x", True),
    ("Fail", True),
]
"""Answers of every kind, and whether they are done."""

REFUSALS = [answer for answer, is_done in ANSWERS if not is_done]
"""One answer for each beginning of `precompiles.outcome.NOT_DONE`, and some more."""
