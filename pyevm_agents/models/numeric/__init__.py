"""Numeric models: restricted ONNX files that are evaluated in integers.

The same file and inputs give the same outputs on every machine.
Source: docs/architecture.md, decision 13.
"""
