"""The pytest plugin: fixtures and markers, cassettes, the gas snapshot, reports and tracebacks.

The entry point is `plugin.py`; `-p pyevm_agents.pytest_plugin` and `pytest_plugins` load the plugin
too.
"""

pytest_plugins = ["pyevm_agents.pytest_plugin.plugin"]
