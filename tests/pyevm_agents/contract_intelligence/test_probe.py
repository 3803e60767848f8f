"""Probes: outcomes, hostile contracts, and that nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import keccak

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.contract_intelligence import probe
from pyevm_agents.contract_intelligence.capabilities import Access
from pyevm_agents.contract_intelligence.probe import MAX_OUTPUT_BYTES, CallProbe, Prober
from tests.chain_bench import OWNER, STRANGER, Bench
from tests.pyevm_agents.contract_intelligence.deployment import (
    AGENT,
    analyse,
    hex_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SELFDESTRUCTING = Address(b"\x77" * 20)


def test_transfers_and_calls(bench: Callable[..., Bench]) -> None:
    chain = bench()
    token = chain.deploy("TokenBox", OWNER)
    data = load_artifact("TokenBox").encode_call("transfer", hex_of(STRANGER), 7)
    result = Prober(chain.chain).run(CallProbe(sender=OWNER, to=token, data=data))
    [transfer] = result.list_transfers()
    assert (transfer.token, transfer.sender, transfer.recipient, transfer.amount) == (
        token,
        OWNER,
        STRANGER,
        7,
    )
    assert [call.account for call in result.list_calls()] == [token]
    assert chain.read("TokenBox", token, "balanceOf", hex_of(STRANGER)) == 0


def test_reasons_of_reverts(bench: Callable[..., Bench]) -> None:
    chain = bench()
    box = chain.deploy("OwnableBox", OWNER)
    data = load_artifact("OwnableBox").encode_call("setValue", 1)
    result = Prober(chain.chain).run(CallProbe(sender=AGENT, to=box, data=data))
    assert not result.is_success
    assert result.reason == f"OwnableUnauthorizedAccount(account={hex_of(AGENT)})"
    assert result.halt is None


def test_overrides_hold_for_one_probe(bench: Callable[..., Bench]) -> None:
    chain = bench()
    box = chain.deploy("OwnableBox", OWNER)
    data = load_artifact("OwnableBox").encode_call("setValue", 1)
    prober = Prober(chain.chain)
    mine = ((box, 0, int.from_bytes(AGENT, "big")),)
    assert prober.run(CallProbe(sender=AGENT, to=box, data=data, storage=mine)).is_success
    assert not prober.run(CallProbe(sender=AGENT, to=box, data=data)).is_success
    assert chain.read("OwnableBox", box, "owner") == hex_of(OWNER).lower()


def test_the_same_probe_has_the_same_result(bench: Callable[..., Bench]) -> None:
    chain = bench()
    token = chain.deploy("TokenBox", OWNER)
    data = load_artifact("TokenBox").encode_call("mint", hex_of(AGENT), 1)
    probe = CallProbe(sender=OWNER, to=token, data=data)
    assert Prober(chain.chain).run(probe) == Prober(chain.chain).run(probe)


@pytest.mark.slow
def test_hostile_functions_end(bench: Callable[..., Bench]) -> None:
    chain = bench()
    box = chain.deploy("HostileBox")
    functions = analyse(chain, box, "HostileBox")
    outcomes = {each.name: (each.access, each.reason[:40]) for each in functions.values()}
    for name in ("loop", "callSelf", "delegateToSelf"):
        access, reason = outcomes[name]
        assert access is Access.UNKNOWN
        assert reason.startswith(f"A call of {name} ")
    assert outcomes["burnGas"][0] is Access.UNKNOWN
    assert outcomes["revertMegabyte"][0] is Access.FORBIDDEN
    assert outcomes["returnMegabyte"][0] is Access.OPEN
    assert max(len(each.reason) for each in functions.values()) < 300


def test_endless_functions_and_many_of_them_have_less_gas(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "MAX_ENDLESS_PROBES", 2)
    monkeypatch.setattr(probe, "SHORT_GAS", 100_000)
    monkeypatch.setattr(probe, "MAX_TOTAL_GAS", 650_000)
    chain = bench()
    box = chain.deploy("HostileBox")
    prober = Prober(chain.chain, gas=200_000)
    results = [prober.read(box, keccak(text="loop()")[:4] + bytes([each])) for each in range(6)]
    assert [each.gas_limit for each in results] == [200_000] * 2 + [100_000] * 3 + [0]
    assert [prober.is_endless(each) for each in results] == [True] * 5 + [False]
    assert prober.gas_used == 700_000
    assert results[-1].reason == "the analysis has used up its 650,000 gas"


def test_output_is_bounded(bench: Callable[..., Bench]) -> None:
    chain = bench()
    box = chain.deploy("HostileBox")
    for name in ("returnMegabyte", "revertMegabyte"):
        result = Prober(chain.chain).read(box, keccak(text=f"{name}()")[:4])
        assert len(result.output) == MAX_OUTPUT_BYTES


@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")
def test_selfdestruct_leaves_the_chain_alone(bench: Callable[..., Bench]) -> None:
    code = bytes.fromhex("33ff")  # CALLER SELFDESTRUCT
    chain = bench(codes={SELFDESTRUCTING: code})
    assert Prober(chain.chain).read(SELFDESTRUCTING, b"", AGENT).is_success
    assert chain.chain.code(SELFDESTRUCTING) == code
