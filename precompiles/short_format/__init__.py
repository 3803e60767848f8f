"""The short format of a step: a model chooses a clause, a tool and values, and composes no text.

`step.ShortFormat` is its `StepFormat`.

Source: docs/architecture.md#short-format.
"""
