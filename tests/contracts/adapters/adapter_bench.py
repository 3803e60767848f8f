"""An oracle on the plain EVM with an adapter, and contracts written for other oracles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import to_canonical_address

from precompiles.abi import decode_request
from tests.contracts.callback.oracle_bench import ITERATION_TYPE, OracleBench
from tests.contracts.plain_evm import OWNER, final_answer

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import Request
    from tests.contracts.plain_evm import Contract

MODEL = "some-model"
TIMEOUT = 600


@dataclass
class AdapterBench(OracleBench):
    """An adapter of one kind, with a contract of its own kind."""

    adapter_name: str = ""
    adapter_arguments: tuple[object, ...] = ()
    consumer_name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments = [self.oracle.address if a is None else a for a in self.adapter_arguments]
        self.adapter = self.evm.deploy(self.adapter_name, *arguments)
        self.consumer = self.consumer_of(self.adapter)

    def consumer_of(self, adapter: Contract) -> Contract:
        return self.evm.deploy(self.consumer_name, adapter.address)

    def give(self, contract: Contract, amount_wei: int) -> None:
        """Add to a contract's wei."""
        address = to_canonical_address(contract.address)
        self.evm.vm.state.delta_balance(address, amount_wei)

    def last_request(self) -> Request:
        return list(self.evm.seen.values())[-1]

    def say_step(self, step: tuple[object, ...], gas: int = 16_000_000) -> bool:
        """Answer the last request; return whether the adapter took it."""
        return self.answer(self.last_request(), encode([ITERATION_TYPE], [step]), gas=gas)

    def say_text(self, text: str) -> bool:
        return self.say_step(final_answer(text))

    def refuse(self, data: bytes) -> bool:
        return self.answer(self.last_request(), data, refused=True)

    def arguments(self) -> tuple[object, ...]:
        """Return what the executor is asked, from the last transaction."""
        (event,) = self.oracle.events("AgentRequested")
        request = decode_request(event["arguments"])
        return (
            request.model_id,
            request.base_prompt,
            tuple("0x" + tool.hex() for tool in request.tools),
            request.agent_reasoning,
            request.tool_results,
            request.prompt,
        )


def ora_bench() -> AdapterBench:
    """Return a bench with a contract for ORA's oracle; model 11 is served."""
    bench = AdapterBench(
        adapter_name="OraAdapter",
        adapter_arguments=(OWNER.address, None, TIMEOUT),
        consumer_name="OraConsumer",
    )
    bench.adapter("setModel", 11, MODEL, "You answer.")
    return bench


def somnia_bench(callback_gas: int = 2_500_000) -> AdapterBench:
    """Return a bench with a contract for Somnia's agents."""
    return AdapterBench(
        adapter_name="SomniaAdapter",
        adapter_arguments=(None, MODEL, callback_gas, TIMEOUT),
        consumer_name="SomniaConsumer",
    )
