"""A plain Prague EVM without executor, with contracts called by name and their errors decoded."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from eth.chains.base import MiningChain
from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.db.atomic import AtomicDB
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.state import PragueState
from eth.vm.message import Message
from eth.vm.transaction_context import BaseTransactionContext
from eth_abi import decode, encode
from eth_keys.datatypes import PrivateKey
from eth_utils import event_abi_to_log_topic, function_abi_to_4byte_selector, to_canonical_address
from eth_utils.abi import collapse_if_tuple, get_abi_input_types

from pyevm_agents.abi.bundled import Artifact, load_artifact
from pyevm_agents.vm.computation import PragueAgentComputation
from tests.contracts.artifact_files import ARTIFACT_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import ComputationAPI, VirtualMachineAPI
    from eth.typing import AccountDetails

GAS = 20_000_000
GAS_PRICE_WEI = 10**9
ZERO = "0x" + "00" * 20


@dataclass(frozen=True)
class Account:
    """A key and its address."""

    key: PrivateKey

    @property
    def address(self) -> str:
        return "0x" + self.key.public_key.to_canonical_address().hex()


OWNER = Account(PrivateKey(b"\x01" * 32))
STRANGER = Account(PrivateKey(b"\x02" * 32))


class RevertedError(Exception):
    """A transaction failed; its error is decoded by the ABI of any of our contracts."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.error = decode_error(data)
        super().__init__(repr(self.error))


def decode_error(data: bytes) -> tuple[object, ...]:
    """Return name and arguments of an error, or the data alone where no contract declares it."""
    for selector, name, types in declared_errors():
        if data[:4] == selector:
            return (name, *decode(types, data[4:]))
    return (data,)


@cache
def declared_errors() -> list[tuple[bytes, str, list[str]]]:
    """Return selector, name and types of every error: Solidity's own two, then our contracts'."""
    found = [
        (bytes.fromhex("4e487b71"), "Panic", ["uint256"]),
        (bytes.fromhex("08c379a0"), "Error", ["string"]),
    ]
    for name in ARTIFACT_NAMES:
        for element in load_artifact(name).abi:
            if element["type"] == "error":
                selector = function_abi_to_4byte_selector(element)
                found.append((selector, element["name"], get_abi_input_types(element)))
    return found


@contextmanager
def reverts(*error: object) -> Iterator[None]:
    """Expect the typed error with this name and these arguments."""
    with pytest.raises(RevertedError) as caught:
        yield
    assert caught.value.error == error


@dataclass(frozen=True)
class Contract:
    """A deployed contract: `contract("function", …)` sends a transaction, returns its result.

    Where the EVM `reads_apart`, a view is called without a transaction.
    """

    evm: Evm
    artifact: Artifact
    address: str

    def __call__(
        self,
        function: str,
        *arguments: object,
        sender: Account = OWNER,
        value_wei: int = 0,
        gas: int = GAS,
    ) -> Any:  # noqa: ANN401 - what Solidity returns
        if self.evm.reads_apart and self.is_view(function):
            return self.read(function, *arguments)
        data = self.artifact.encode_call(function, *arguments)
        output = self.evm.send(self.address, data, sender=sender, value_wei=value_wei, gas=gas)
        return self.artifact.decode_result(function, output) if output else None

    def is_view(self, function: str) -> bool:
        """Return whether a function changes nothing."""
        found = (e for e in self.artifact.abi if e["type"] == "function" and e["name"] == function)
        return any(element["stateMutability"] in {"view", "pure"} for element in found)

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Call a view without a transaction: half as long, and the last transaction stays the last.

        Raises: RevertedError.
        """
        output = self.evm.call(self.address, self.artifact.encode_call(function, *arguments))
        return self.artifact.decode_result(function, output)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the events of that name which this contract logged in the last transaction.

        Output: the arguments by name; indexed ones as the integer that their topic is.
        """
        abi = next(e for e in self.artifact.abi if e["type"] == "event" and e["name"] == name)
        event_topic = int.from_bytes(event_abi_to_log_topic(abi))
        indexed = [i["name"] for i in abi["inputs"] if i["indexed"]]
        plain = {i["name"]: collapse_if_tuple(i) for i in abi["inputs"] if not i["indexed"]}
        return [
            dict(zip(indexed, topics[1:], strict=True))
            | dict(zip(plain, decode(list(plain.values()), data), strict=True))
            for address, topics, data in self.evm.last.get_log_entries()
            if address == to_canonical_address(self.address) and topics[0] == event_topic
        ]


class Evm:
    """One state; every transaction changes it, failed ones only the nonce."""

    last: ComputationAPI

    def __init__(self, vm: VirtualMachineAPI) -> None:
        self.vm = vm
        self.copies: dict[str, Artifact] = {}
        """What is deployed in place of contracts of these names."""

        self.reads_apart = False
        """Whether views are called without transactions."""

    def send(
        self,
        to: str | None,
        data: bytes,
        *,
        sender: Account = OWNER,
        value_wei: int = 0,
        gas: int = GAS,
    ) -> bytes:
        transaction = self.vm.create_unsigned_transaction(
            nonce=self.vm.state.get_nonce(to_canonical_address(sender.address)),
            gas_price=GAS_PRICE_WEI,
            gas=gas,
            to=CREATE_CONTRACT_ADDRESS if to is None else to_canonical_address(to),
            value=value_wei,
            data=data,
        ).as_signed_transaction(sender.key, chain_id=1)
        self.last = self.vm.state.apply_transaction(transaction)
        if self.last.is_error:
            raise RevertedError(self.last.output) from self.last.error
        return self.last.output

    def call(self, to: str, data: bytes) -> bytes:
        """Call a contract that changes nothing, without a transaction.

        Raises: RevertedError.
        """
        state, sender = self.vm.state, to_canonical_address(OWNER.address)
        message = Message(
            gas=GAS,
            to=to_canonical_address(to),
            sender=sender,
            value=0,
            data=data,
            code=state.get_code(to_canonical_address(to)),
            is_static=True,
        )
        context = BaseTransactionContext(gas_price=GAS_PRICE_WEI, origin=sender)
        done = state.computation_class.apply_message(state, message, context)
        if done.is_error:
            raise RevertedError(done.output) from done.error
        return done.output

    def deploy(self, name: str, *arguments: object, sender: Account = OWNER) -> Contract:
        contract = self.copies.get(name) or load_artifact(name)
        self.send(None, contract.encode_creation(*arguments), sender=sender)
        return Contract(self, contract, "0x" + self.last.msg.storage_address.hex())

    def at(self, name: str, address: str) -> Contract:
        return Contract(self, load_artifact(name), address)

    @property
    def now(self) -> int:
        return self.vm.state.execution_context.timestamp

    @property
    def block_number(self) -> int:
        return self.vm.state.execution_context.block_number

    def pass_time(self, seconds: int, *, blocks: int, hash_of: Callable[[int], bytes]) -> None:
        """Go on to a later time and block; `hash_of` is the hash of an earlier block."""
        context: Any = self.vm.state.execution_context
        context._timestamp += seconds  # noqa: SLF001 - the header of one VM
        context._block_number += blocks  # noqa: SLF001
        number = context.block_number
        context._prev_hashes = [  # noqa: SLF001
            hash_of(n) for n in range(number - 1, max(number - 257, -1), -1)
        ]


class FastState(PragueState):
    """py-evm's state with the interpreter's loop. `test_interpreter` compares it with py-evm's."""

    computation_class = PragueAgentComputation


class FastVM(PragueVM):
    """py-evm's Prague with such states."""

    _state_class = FastState


def plain_evm() -> Evm:
    """Return an EVM in which two accounts have ether, and nothing else exists."""
    chain_class = MiningChain.configure(vm_configuration=((0, FastVM),), chain_id=1)
    account: AccountDetails = {"balance": 10**24, "nonce": 0, "code": b"", "storage": {}}
    chain = chain_class.from_genesis(
        AtomicDB(),
        {"difficulty": 0, "gas_limit": 2 * GAS, "timestamp": 1, "nonce": bytes(8)},
        {to_canonical_address(who.address): account for who in (OWNER, STRANGER)},
    )
    return Evm(chain.get_vm())


def deploy_reverting(evm: Evm, data: bytes) -> str:
    """Deploy a contract that reverts with these data, whoever calls it; return its address."""
    code = _give(data, b"\xfd")  # REVERT
    evm.send(None, _give(code, b"\xf3"))  # RETURN
    return "0x" + evm.last.msg.storage_address.hex()


def _give(data: bytes, opcode: bytes) -> bytes:
    """Return code that ends with these data, which stand behind it."""
    size, start = len(data).to_bytes(2), (13).to_bytes(2)
    # PUSH2 size, PUSH2 start, PUSH0, CODECOPY; PUSH2 size, PUSH0
    return b"\x61" + size + b"\x61" + start + b"\x5f\x39\x61" + size + b"\x5f" + opcode + data


def final_answer(text: str) -> tuple[object, ...]:
    """Return an AgentIterationResult that ends the run."""
    return (True, text, ZERO, ([], b""), "")


def use_tool(
    tool: str, types: list[str], values: list[object], reasoning: str = "a thought"
) -> tuple[object, ...]:
    """Return an AgentIterationResult that uses a tool with these typed values."""
    param_types = {"string": 0, "address": 1, "uint256": 4}
    params = [(param_types[t], encode([t], [v])) for t, v in zip(types, values, strict=True)]
    return (False, "", tool, (params, encode(types, values)), reasoning)


def text_input(text: str) -> tuple[object, ...]:
    """Return an IERCAgentTool.Input of one STRING."""
    encoded = encode(["string"], [text])
    return ([(0, encoded)], encoded)
