"""Names of the contracts, functions and events in a transaction's calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from precompiles.numeric_abi import DESCRIBE_MODEL_SELECTOR, RUN_MODEL_SELECTOR
from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS, SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.abi.address_names import MAX_ADDRESSES
from pyevm_agents.abi.values import FunctionDefinition, decode_event
from pyevm_agents.tracing.console_log import CONSOLE_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from pyevm_agents.abi.address_names import AddressNames
    from pyevm_agents.abi.values import EventDefinition
    from pyevm_agents.tracing.call_tracer import CallTree
    from pyevm_agents.tracing.tracer import CallFrame, TracedLog

StepT = TypeVar("StepT")


EXECUTOR = "AgentExecutor"
NUMERIC_MODELS = "NumericModels"
PRECOMPILES = {
    1: "ecrecover", 2: "sha256", 3: "ripemd160", 4: "identity", 5: "modexp", 6: "ecadd", 7: "ecmul",
    8: "ecpairing", 9: "blake2f", 10: "pointEvaluation", 11: "bls12G1Add", 12: "bls12G1Msm",
    13: "bls12G2Add", 14: "bls12G2Msm", 15: "bls12PairingCheck", 16: "bls12MapFpToG1",
    17: "bls12MapFp2ToG2", 256: "p256Verify",
}  # fmt: skip
"""Names of Ethereum's precompiles by address."""

NUMERIC_FUNCTIONS = {
    RUN_MODEL_SELECTOR: FunctionDefinition(
        name="runModel",
        types=("string", "int256[]"),
        argument_names=("modelId", "input"),
        output_types=("int256[]",),
        output_names=("output",),
    ),
    DESCRIBE_MODEL_SELECTOR: FunctionDefinition(
        name="describeModel",
        types=("string",),
        argument_names=("modelId",),
        output_types=("bytes32", "uint8[]", "uint8[]", "uint256"),
        output_names=("digest", "inputDecimals", "outputDecimals", "gas"),
    ),
}
"""Functions of the numeric models' precompile by selector."""


def get_precompile_name(address: Address) -> str | None:
    """Return the name of one of Ethereum's precompiles; None for other addresses."""
    return PRECOMPILES.get(int.from_bytes(address, "big"))


def assign_steps(tree: CallTree, steps: Sequence[StepT]) -> dict[int, StepT]:
    """Return the step of each call of the executor, by the frame's identity.

    None where the numbers differ: a transaction to the executor itself has no steps.
    """
    calls = [
        node.frame
        for node, _ in tree.walk_nodes()
        if node.frame.to == EXECUTOR_ADDRESS and node.frame.error is None
    ]
    if len(calls) != len(steps):
        return {}
    return {id(frame): step for frame, step in zip(calls, steps, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNames:
    """Names in one transaction's calls. Each address is looked up once."""

    names: AddressNames
    _contracts: dict[Address, str | None] = field(default_factory=dict)

    def find_name(self, address: Address) -> str | None:
        """Return the name of the contract at an address; None if unknown."""
        if address not in self._contracts:
            self._contracts[address] = self._look_up_name(address)
        return self._contracts[address]

    def may_look_up(self, address: Address) -> bool:
        """Return whether an address of a text may be looked up: texts may have any number."""
        return address in self._contracts or len(self._contracts) < MAX_ADDRESSES

    def _look_up_name(self, address: Address) -> str | None:
        if address == EXECUTOR_ADDRESS:
            return EXECUTOR
        if address == NUMERIC_MODELS_ADDRESS:
            return NUMERIC_MODELS
        if address == CONSOLE_ADDRESS:
            return "console"
        if get_precompile_name(address) is not None:
            return "PRECOMPILES"
        return self.names.find_contract(address)

    def find_function(self, frame: CallFrame) -> FunctionDefinition | None:
        """Return the function that a call calls; None if unknown."""
        if len(frame.input) < SELECTOR_BYTES:
            return None
        selector = bytes(frame.input[:SELECTOR_BYTES])
        if frame.to == NUMERIC_MODELS_ADDRESS and selector in NUMERIC_FUNCTIONS:
            return NUMERIC_FUNCTIONS[selector]
        return self.names.known.find_function_definition(selector, self.find_name(frame.to))

    def decode_log(
        self, entry: TracedLog, frame: CallFrame
    ) -> tuple[EventDefinition, tuple[object, ...]] | None:
        """Return a log's event and its arguments; None if unknown.

        Input: the log; the call that wrote it.
        """
        if not entry.topics:
            return None
        topics = [topic.to_bytes(WORD_BYTES, "big") for topic in entry.topics]
        event = self.names.known.find_event(topics[0], len(topics), self.find_name(frame.to))
        values = None if event is None else decode_event(event, topics, entry.data)
        return None if event is None or values is None else (event, values)
