"""The test kit: agents in a test suite, on a real EVM with real gas.

Names are imported on first use: this package costs nothing before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.models import ScriptedModel, again, answer, unchecked, use
    from pyevm_agents.models.fakes.adversary import AdversarialModel
    from pyevm_agents.testing.adversary_strategy import (
        AdversarialMachine,
        Adversary,
        adversary,
        adversary_settings,
        following_script,
    )
    from pyevm_agents.testing.assertions import AgentAssertion, assert_agent
    from pyevm_agents.testing.cassettes import cassette
    from pyevm_agents.testing.chain import AgentChain
    from pyevm_agents.testing.deployment import DeploymentError
    from pyevm_agents.testing.fixture_types import AsAccount, Deploy
    from pyevm_agents.testing.hostile_tool import Fault
    from pyevm_agents.testing.inputs import agent_input
    from pyevm_agents.testing.model_stub import ModelStub
    from pyevm_agents.testing.source_files import StaleArtifactWarning
    from pyevm_agents.testing.unittest_case import AgentTestCase

HOMES = {
    "AdversarialMachine": "pyevm_agents.testing.adversary_strategy",
    "AdversarialModel": "pyevm_agents.models.fakes.adversary",
    "Adversary": "pyevm_agents.testing.adversary_strategy",
    "AgentAssertion": "pyevm_agents.testing.assertions",
    "AgentChain": "pyevm_agents.testing.chain",
    "AgentStep": "pyevm_agents.agents.trace",
    "AgentTestCase": "pyevm_agents.testing.unittest_case",
    "AsAccount": "pyevm_agents.testing.fixture_types",
    "Deploy": "pyevm_agents.testing.fixture_types",
    "DeploymentError": "pyevm_agents.testing.deployment",
    "Fault": "pyevm_agents.testing.hostile_tool",
    "ModelStub": "pyevm_agents.testing.model_stub",
    "ScheduleFile": "pyevm_agents.config.schedule_file",
    "ScriptedModel": "pyevm_agents.models",
    "StaleArtifactWarning": "pyevm_agents.testing.source_files",
    "adversary": "pyevm_agents.testing.adversary_strategy",
    "adversary_settings": "pyevm_agents.testing.adversary_strategy",
    "agent_input": "pyevm_agents.testing.inputs",
    "again": "pyevm_agents.models",
    "answer": "pyevm_agents.models",
    "assert_agent": "pyevm_agents.testing.assertions",
    "cassette": "pyevm_agents.testing.cassettes",
    "following_script": "pyevm_agents.testing.adversary_strategy",
    "unchecked": "pyevm_agents.models",
    "use": "pyevm_agents.models",
}
"""Where each name is defined."""

EXTRAS = frozenset({"hypothesis", "web3"})
"""What some of them need beside this package."""

__all__ = [
    "AdversarialMachine",
    "AdversarialModel",
    "Adversary",
    "AgentAssertion",
    "AgentChain",
    "AgentStep",
    "AgentTestCase",
    "AsAccount",
    "Deploy",
    "DeploymentError",
    "Fault",
    "ModelStub",
    "ScheduleFile",
    "ScriptedModel",
    "StaleArtifactWarning",
    "adversary",
    "adversary_settings",
    "again",
    "agent_input",
    "answer",
    "assert_agent",
    "cassette",
    "following_script",
    "unchecked",
    "use",
]


def __getattr__(name: str) -> object:
    """Return a name of the kit, imported now."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(HOMES[name])
    except ModuleNotFoundError as error:
        if error.name in EXTRAS:
            raise ImportError(
                f"{name} needs {error.name}, which is not installed: "
                "pip install 'pyevm-agents[test]'"
            ) from error
        raise
    member: object = getattr(module, name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    """Return the names of the kit."""
    return sorted(__all__)
