"""The test kit for `unittest`: a chain for each test of a class.

class WalletTest(AgentTestCase):
    def test_it_counts(self):
        counter = self.deploy("Counter")
"""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, Any, ClassVar

from pyevm_agents.testing.artifacts import ArtifactFinder
from pyevm_agents.testing.chain import AgentChain
from pyevm_agents.testing.genesis_template import get_genesis_template

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from eth_typing import ChecksumAddress
    from web3 import Web3
    from web3.contract import Contract

    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.models.numeric.catalogue import NamedModels
    from pyevm_agents.testing.model_stub import ModelStub


__unittest = True
"""unittest omits the frames of a module with this name from a failure."""


class AgentTestCase(unittest.TestCase):
    """A test case with an agent chain for each test. Does not need pytest."""

    agent_model: ClassVar[str | Path | None] = None
    """The model whose tokens and prices apply; None for the default."""

    agent_schedule: ClassVar[ScheduleFile | Path | str | None] = None
    """The gas schedule or its file; None for the default prices."""

    agent_numeric_models: ClassVar[NamedModels | None] = None
    """The numeric models at 0x1a, or their files, by name; or names of shipped models."""

    agent_fork: ClassVar[str | None] = None
    """Ethereum's fork, such as "cancun"; None for Prague."""

    agent_fork_url: ClassVar[str | None] = None
    """The URL of a node of a live chain that the chains continue; None for chains of their own."""

    agent_fork_block_number: ClassVar[int | None] = None
    """The number of the block that they continue; None for the latest."""

    agent_artifacts: ClassVar[Sequence[Path]] = ()
    """Folders of compiled contracts; if empty, those of the working folder."""

    chain: AgentChain
    accounts: tuple[ChecksumAddress, ...]
    model: ModelStub
    w3: Web3
    """web3.py on the chain."""

    if not TYPE_CHECKING:  # For type checkers, it would define every attribute.

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - never returns
            """Raise an AttributeError, with a hint if the chain is missing."""
            told = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in {"chain", "accounts", "model", "w3"}:
                told += ": it has no chain yet; call super().setUp() first"
            raise AttributeError(told)

    def setUp(self) -> None:
        """Create the chain."""
        super().setUp()
        self.chain = AgentChain(
            get_genesis_template(self.agent_model),
            artifacts=ArtifactFinder(self.agent_artifacts),
            schedule=self.agent_schedule,
            fork=self.agent_fork,
            fork_url=self.agent_fork_url,
            fork_block_number=self.agent_fork_block_number,
            numeric_models=self.agent_numeric_models,
        )
        self._is_run = False
        self.addCleanup(self.chain.close)
        self.addCleanup(self._verify_unless_run)
        self.accounts, self.model, self.w3 = self.chain.accounts, self.chain.model, self.chain.w3

    def _callTestMethod(self, method: Callable[[], object]) -> None:  # noqa: N802 - unittest's
        """Run the test; after a pass, verify that the script is used up.

        A cleanup can't verify: whether the test failed is unknown there.
        """
        self._is_run = True
        super()._callTestMethod(method)  # type: ignore[misc]  # not public
        self.chain.model.verify()

    def _verify_unless_run(self) -> None:
        """Verify after a test that another base class ran: `IsolatedAsyncioTestCase`, if first."""
        if not self._is_run:
            self.chain.model.verify()

    def deploy(self, contract: str | Path, /, *arguments: object, **named: Any) -> Contract:  # noqa: ANN401 - see `AgentChain.deploy`
        """Deploy a contract by name or path; see `AgentChain.deploy`."""
        return self.chain.deploy(contract, *arguments, **named)
