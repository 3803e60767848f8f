"""A token's life on the `anvil` that ape-foundry starts; prints what its users see."""

from __future__ import annotations

import json
import socket
import sys
from contextlib import closing, contextmanager
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ape
from ape.contracts import ContractContainer
from ape_foundry.provider import FoundryProvider
from ethpm_types import ContractType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOUR = 3_600
STRANGER = "0x000000000000000000000000000000000000bEEF"

# Its own limit is 20 seconds, which a busy machine can take.
FoundryProvider.start = partialmethod(FoundryProvider.start, timeout=HOUR)


@contextmanager
def provider_of(choice: str, **settings: object) -> Iterator[Any]:
    """Connect to a network of ape-foundry's, whose node it starts on a free port."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        host = f"http://127.0.0.1:{free.getsockname()[1]}"
    given = {"host": host, **settings}
    with ape.networks.parse_network_choice(choice, provider_settings=given) as provider:
        try:
            yield provider
        finally:
            provider.disconnect()


def read_token(artifact: str) -> ContractType:
    """Return the type of a token from solc's output."""
    built = json.loads(Path(artifact).read_text())
    code = {"bytecode": built["bytecode"]}
    return ContractType(contractName="DemoToken", abi=built["abi"], deploymentBytecode=code)


def outcome(action: Any) -> object:  # noqa: ANN401 - a callable of a library without types
    """Return a call's value, or its error with its inputs, if it has some."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - whichever the library raises
        inputs = getattr(error, "inputs", {})
        return [type(error).__name__, {name: str(each) for name, each in inputs.items()}]


def list_calls(node: Any) -> object:  # noqa: ANN401 - a dictionary of a library without types
    """Return the names, values and gas of a call tree."""
    kept = {"method_id", "gas_cost", "inputs", "outputs", "returndata", "failed", "value"}
    told = {name: str(each) for name, each in node.items() if name in kept}
    return [told, [list_calls(each) for each in node.get("calls", [])]]


def tell_of_state(provider: Any, token: Any) -> dict[str, object]:  # noqa: ANN401 - of a library without types
    """Set balances, code, slots, tokens and the mining, and send for a stranger."""
    told: dict[str, object] = {}
    first, second = ape.accounts.test_accounts[0], ape.accounts.test_accounts[1]
    provider.set_balance(STRANGER, "3 ETH")
    with ape.accounts.use_sender(STRANGER) as stranger:
        gift = stranger.transfer(second, "1 ETH")
    told["gift"] = [int(gift.status), gift.gas_used, stranger.balance, stranger.nonce]
    provider.set_code(STRANGER, "0x6001")
    told["code"] = bytes(provider.get_code(STRANGER)).hex()
    provider.set_storage(STRANGER, 7, 42)
    told["slot"] = bytes(provider.get_storage(STRANGER, 7)).hex()
    told["dealt"] = [
        outcome(lambda: provider.deal_erc20(second.address, token.address, 77)),
        token.balanceOf(second),
        outcome(
            lambda: provider.set_erc20_allowance(second.address, first.address, token.address, 9)
        ),
        token.allowance(second, first),
    ]
    provider.auto_mine = False
    told["by hand"] = provider.auto_mine
    provider.auto_mine = True
    told["limit"] = provider.set_block_gas_limit(20_000_000)
    return told


def tell_of_a_chain(artifact: str, *_: str) -> dict[str, object]:
    """Deploy, call, send, trace, snapshot, impersonate, and move the time."""
    told: dict[str, object] = {}
    with provider_of("ethereum:local:foundry") as provider:
        told["node"] = [provider.chain_id, provider.auto_mine, provider.gas_price]
        told["fees"] = [provider.base_fee, provider.priority_fee]
        first, second = ape.accounts.test_accounts[0], ape.accounts.test_accounts[1]
        told["balance"] = first.balance
        container = ContractContainer(contract_type=read_token(artifact))
        token = first.deploy(container, "Token", "TKN", 18, 10**24)
        receipt = token.creation_metadata.receipt
        told["deployed"] = [token.address, int(receipt.status), receipt.gas_used]
        told["call"] = [token.symbol(), token.balanceOf(first)]

        sent = token.transfer(second, 5, sender=first)
        told["sent"] = [int(sent.status), sent.gas_used, sent.return_value, sent.gas_price]
        (event,) = sent.events
        told["event"] = [event.event_name, event.event_arguments]
        told["calls"] = list_calls(sent.trace.get_calltree().model_dump())
        told["raw calls"] = list_calls(sent.trace.get_raw_calltree())
        told["frames"] = sum(1 for _ in sent.trace.get_raw_frames())
        told["estimate"] = token.transfer.estimate_gas_cost(second, 5, sender=first)

        told["refused"] = outcome(lambda: token.transfer(first, 6, sender=second))
        told["forced"] = outcome(lambda: token.transfer(first, 6, sender=second, gas_limit=100_000))
        told["call refused"] = outcome(lambda: token.transfer.call(first, 6, sender=second))
        failed = token.transfer(first, 6, sender=second, gas_limit=100_000, raise_on_revert=False)
        told["failed"] = [int(failed.status), failed.gas_used, outcome(failed.raise_for_status)]
        told["nonces"] = [first.nonce, second.nonce]

        mark = ape.chain.snapshot()
        token.transfer(second, 100, sender=first)
        within = token.balanceOf(second)
        ape.chain.restore(mark)
        with ape.chain.isolate():
            token.transfer(second, 1, sender=first)
        told["snapshot"] = [within, token.balanceOf(second), ape.chain.blocks.height]

        before = ape.chain.blocks.head.timestamp
        ape.chain.mine(timestamp=before + HOUR)
        told["exact"] = ape.chain.blocks.head.timestamp - before
        ape.chain.mine(deltatime=HOUR)
        told["hour"] = (ape.chain.blocks.head.timestamp - before) // HOUR
        ape.chain.pending_timestamp += HOUR
        ape.chain.mine(3)
        told["mined"] = [
            (ape.chain.blocks.head.timestamp - before) // HOUR,
            ape.chain.blocks.height,
        ]

        told |= tell_of_state(provider, token)
        told["logs"] = len(token.Transfer.query("*", start_block=0))
    return told


def tell_of_a_fork(artifact: str, url: str, token: str, holder: str) -> dict[str, object]:
    """Use another chain's token on a fork, reset to its head and to a block before."""
    told: dict[str, object] = {}
    upstream = {"node": {"ethereum": {"mainnet": {"uri": url}}}}
    fork = {
        "ethereum": {
            "mainnet": {"upstream_provider": "node", "block_number": 4, "evm_version": "prague"}
        }
    }
    with (
        ape.project.temp_config(**upstream, foundry={"fork": fork}),
        provider_of("ethereum:mainnet-fork:foundry") as provider,
    ):
        on_fork = ape.Contract(token, contract_type=read_token(artifact))
        first = ape.accounts.test_accounts[0]
        told["height"] = [ape.chain.blocks.height, provider.chain_id]
        had = on_fork.balanceOf(holder)
        sent = on_fork.transfer(holder, 11, sender=first)
        told["sent"] = [int(sent.status), sent.gas_used, on_fork.balanceOf(holder) - had]
        told["events"] = [each.event_name for each in sent.events]
        provider.reset_fork()
        told["reset"] = [ape.chain.blocks.height, on_fork.balanceOf(holder) - had]
        provider.reset_fork(block_number=2)
        told["earlier"] = [ape.chain.blocks.height, on_fork.balanceOf(holder)]
    return told


STORIES: dict[str, Callable[..., dict[str, object]]] = {
    "chain": tell_of_a_chain,
    "fork": tell_of_a_fork,
}

if __name__ == "__main__":
    result = STORIES[sys.argv[1]](*sys.argv[2:])
    Path("told.json").write_text(json.dumps(result))
