"""The pytest plugin: fixtures and markers, cassettes, the gas snapshot, reports and tracebacks.

The entry point is `plugin.py`.
"""
