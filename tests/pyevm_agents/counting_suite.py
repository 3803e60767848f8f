"""A user's suite to run inside of a test: an agent that counts, and a byte model in its place."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

INI = """
[pytest]
filterwarnings = error
asyncio_default_fixture_loop_scope = function
"""

HEAD = """
import pytest

EXECUTOR = "0x" + "19".rjust(40, "0")
QUESTION = "Add five"
PROMPT = "You count.\\nBe quick."

def counted(agent_chain, question=None):
    counter = agent_chain.deploy("CounterTool")
    agent = agent_chain.deploy(
        "SimpleAgent", agentExecutorContract=EXECUTOR, modelId="default", name="Clerk",
        description="Counts", inputDescription="What", basePrompt=PROMPT, tools=[counter],
        agentMaxIterations=3,
    )
    agent_chain.ask(agent, question or QUESTION)
    return counter.functions.number().call()
"""

SAYING = """
from pyevm_agents.models.fakes.recorded import RecordingModel
from tests.byte_model import ByteModel

USE = ' I add.\\nAction: CounterTool\\nAction Input: {"amount": 5}'
ANSWER = " Done.\\nFinal Answer: It is 5."

def saying(words):
    # What records is asked for tokens as well: no vocabulary is started for them.
    return RecordingModel(ByteModel(words, is_free=True), name="bytes")

def five():
    return saying(lambda request: (
        ANSWER if any("Observation: The" in one.text for one in request.segments) else USE
    ))
"""


def import_all() -> None:
    """Import the modules that suites need; later imports find them."""
    for module in ("web3_connection", "cassettes", "reports", "gas_snapshot"):
        import_module(f"pyevm_agents.testing.{module}")


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pytest's cache for all suites in tests: the model's facts are learned once."""
    import_all()
    return tmp_path_factory.mktemp("cache")
