"""The plugin for pytest: an agent chain in every test that asks for one.

Loaded by its entry point in every suite of an environment that has this package, so it imports
nothing heavy before a fixture is used.
"""
