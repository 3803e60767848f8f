"""A contract on a remote chain, by JSON-RPC: views, logs and supported interfaces."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import DecodingError
from eth_utils import decode_hex, function_abi_to_4byte_selector, to_checksum_address

from pyevm_agents.abi.artifacts import describe_contract
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.client.json_rpc import RemoteError, Request
from pyevm_agents.client.logs import decode_logs, parse_logs
from pyevm_agents.errors import AgentsError, ConfigError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyevm_agents.abi.artifacts import ContractDescription
    from pyevm_agents.abi.values import EventDefinition
    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.client.logs import MinedLog


class RemoteContract:
    """A contract on a remote chain, with the ABI of a bundled one."""

    def __init__(self, client: RemoteClient, name: str, address: bytes) -> None:
        """Input: the node; the bundled contract's name; the address, 20 bytes."""
        self.client, self.name, self.address = client, name, address
        self.artifact = load_artifact(name)

    @property
    def checksum_address(self) -> str:
        """The address, as people read it."""
        return to_checksum_address(self.address)

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Return the result of a view function at the last block.

        Raises: AgentsError: the call failed, or returned something else.
        """
        return self.read_all([(function, arguments)])[0]

    def read_all(self, calls: Sequence[tuple[str, tuple[object, ...]]]) -> list[Any]:
        """Return the results of view functions at the last block, in few round trips.

        Raises: AgentsError: a call failed, or returned something else.
        """
        requests = [
            Request("eth_call", [self._build_call(function, *arguments), "latest"])
            for function, arguments in calls
        ]
        results = self.client.request_all(requests)
        return [
            self._decode(function, result)
            for (function, _), result in zip(calls, results, strict=True)
        ]

    def find_logs(
        self, event: str, *topics: int | None, first: int | None = None, last: int | None = None
    ) -> list[MinedLog]:
        """Return the decoded logs of an event, in order.

        Input:  topics: the first indexed arguments as numbers; None: any. first, last: blocks.
        Raises: AgentsError: the node does not search these blocks.
        """
        definition = self._find_event(event)
        words = [None if each is None else f"0x{each:064x}" for each in topics]
        query = {
            "address": self.checksum_address,
            "fromBlock": hex(first or 0),
            "toBlock": "latest" if last is None else hex(last),
            "topics": ["0x" + compute_topic(definition.signature).hex(), *words],
        }
        try:
            logs: Any = self.client.request("eth_getLogs", [query])
        except RemoteError as error:
            raise AgentsError(
                f"{event} logs: {self.client.host} does not search the blocks from {first or 0:,} "
                f"on ({error.message}); pass a later --from-block, or the URL of another node"
            ) from error
        return decode_logs(definition, parse_logs(logs))

    def decode_logs(self, event: str, logs: Iterable[MinedLog]) -> list[MinedLog]:
        """Return those logs of a transaction that are an event of the contract, decoded."""
        own = (each for each in logs if each.address == self.address)
        return decode_logs(self._find_event(event), own)

    def supports(self, interface: str) -> bool:
        """Return whether the contract states by ERC-165 that an interface is supported."""
        return self._supports(compute_interface_id(interface)) and not self._supports(
            INVALID_INTERFACE
        )

    def _supports(self, interface: bytes) -> bool:
        try:
            return bool(self.read("supportsInterface", interface))
        except RemoteFault:  # The node failed, not the contract.
            raise
        except AgentsError:
            return False

    def _build_call(self, function: str, *arguments: object) -> dict[str, str]:
        data = self.artifact.encode_call(function, *arguments)
        return {"to": self.checksum_address, "data": "0x" + data.hex()}

    def _decode(self, function: str, result: object) -> Any:  # noqa: ANN401 - what Solidity returns
        try:
            if isinstance(result, RemoteError):
                raise result
            return self.artifact.decode_result(function, decode_hex(str(result)))
        except (RemoteError, DecodingError, OverflowError, ValueError) as error:
            raise AgentsError(
                f"{self.checksum_address}: {function} fails, so it is no {self.name}: {error}"
            ) from error

    def _find_event(self, name: str) -> EventDefinition:
        events = _describe(self.name).events.values()
        return next(each for each in events if each.name == name)


def require_code(client: RemoteClient, address: bytes) -> None:
    """Check that a contract is at an address.

    Raises: ConfigError: there is none.
    """
    name = to_checksum_address(address)
    if client.request("eth_getCode", [name, "latest"]) in {None, "0x", "0x0"}:
        chain_id = client.request_quantity("eth_chainId")
        raise ConfigError(
            f"{name}: no contract on chain {chain_id} of {client.host}; check the address and "
            "--rpc-url"
        )


@cache
def _describe(name: str) -> ContractDescription:
    return describe_contract(name, load_artifact(name).abi)


def compute_interface_id(interface: str) -> bytes:
    """Return the ERC-165 identifier of an interface: the selectors of own functions, combined."""
    parents = {
        "IChallengeableOracle": "IAgentOracle",
        "IAgentOracle": "IERC165",
        "IERCAgentToolV1": "IERC165",
    }
    own = _list_selectors(interface)
    if (parent := parents.get(interface)) is not None:
        own -= _list_selectors(parent)
    number = 0
    for selector in own:
        number ^= int.from_bytes(selector)
    return number.to_bytes(4)


def _list_selectors(interface: str) -> set[bytes]:
    if interface == "IERC165":
        return {bytes.fromhex("01ffc9a7")}
    abi = load_artifact(interface).abi
    return {function_abi_to_4byte_selector(each) for each in abi if each["type"] == "function"}


INVALID_INTERFACE = b"\xff" * 4
"""No contract supports it. Source: ERC-165."""
