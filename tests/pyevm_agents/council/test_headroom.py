"""Gas of calls whose work grows with those of the same block that come before."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import to_canonical_address

from pyevm_agents.council import council_worker
from pyevm_agents.council.decisions import Act
from pyevm_agents.council.headroom import compute_headroom
from pyevm_agents.council.messages import CouncilRequest, Panel, RequestPhase, RequestView
from tests.contracts.council.council_bench import JUDGES, PANEL, CouncilBench, Terms
from tests.contracts.plain_evm import Account
from tests.pyevm_agents.council.living import KEYS, CountingAnswer, Life, living

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.pyevm_agents.council.council_chain import CouncilChain

SIXTEEN = [bytes([65 + place]) * 64 for place in range(16)]


def reveal_in_one_block(chain: CouncilChain, stack: ExitStack, folder: Path) -> list[Life]:
    """Have three agents reveal in the same block; return them."""
    for key in KEYS[:3]:
        chain.fund(key)
    chain.ask(agents=3)
    lives = [
        stack.enter_context(
            living(chain, folder / str(place), key=KEYS[place], source=CountingAnswer("yes"))
        )
        for place in range(3)
    ]
    for life in lives:
        life.work_until("mined", kind="commit")
    chain.ask_node("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC
    for life in lives:
        life.work_until("sent", kind="reveal")
    chain.ask_node("evm_mine")
    return lives


def test_three_agents_reveal_in_one_block(chain: CouncilChain, tmp_path: Path) -> None:
    with ExitStack() as stack:
        for life in reveal_in_one_block(chain, stack, tmp_path):
            life.work_until("mined", kind="reveal", succeeded=True)
    assert chain.read("getResolution", 1) == (b"yes", True)


def test_a_transaction_that_runs_out_of_gas_is_told_apart(
    chain: CouncilChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(council_worker, "compute_headroom", lambda *_: 0)
    with ExitStack() as stack:
        lives = reveal_in_one_block(chain, stack, tmp_path)
        for life in lives:
            life.work_until("mined", kind="reveal")
        reasons = [
            str(fields["reason"])
            for life in lives
            for name, fields in life.events.all
            if name == "reverted"
        ]
    [reason] = reasons
    assert reason.startswith("out of gas")


def fund(bench: CouncilBench, count: int) -> list[Account]:
    accounts = [Account(PrivateKey((10_000 + n).to_bytes(32))) for n in range(count)]
    for each in accounts:
        bench.evm.vm.state.set_balance(to_canonical_address(each.address), 10**24)
    return accounts


def view_of(specifications: str, agents: int, judges: Sequence[Account] = ()) -> RequestView:
    request = CouncilRequest(
        request_id=1,
        requester=bytes(20),
        reward=1,
        reward_token=bytes(20),
        bond=1,
        agent_count=agents,
        deadline=1,
        query="",
        specifications=specifications,
        capabilities=(),
        domains=(),
    )
    panel = Panel(judges=tuple(to_canonical_address(each.address) for each in judges))
    return RequestView(
        request=request,
        phase=RequestPhase.DISPUTE_JUDGE if judges else RequestPhase.REVEAL,
        ends_at=1,
        commits={},
        reveals={},
        panel=Panel(),
        dispute_panel=panel,
        seed_block=0,
        answer=b"",
    )


@pytest.mark.parametrize("window", [0, 1_000])
@pytest.mark.parametrize("agents", [3, 24])
@pytest.mark.parametrize("options", [[], [b"yes", b"no"], SIXTEEN])
def test_the_last_reveal_costs_at_most_its_headroom_more(
    options: list[bytes], agents: int, window: int
) -> None:
    bench = CouncilBench(Terms(deterministic=False, dispute_window=window))
    specifications = "OPTIONS: " + b"|".join(options).decode() if options else ""
    question = bench.ask(agents=agents, specifications=specifications)
    bench.register(question, JUDGES[0])
    answer = options[-1] if options else b"4"
    used = []
    everybody = fund(bench, agents)
    for each in everybody:
        bench.commit(question, each, answer)
    for each in everybody:
        bench.reveal(question, each, answer)
        used.append(bench.evm.last.get_gas_used())
    headroom = compute_headroom(Act.REVEAL, view_of(specifications, agents), b"")
    assert used[-1] - min(used) <= headroom


@pytest.mark.parametrize("answer", [b"", b"5", b"x" * 2_048])
def test_the_last_judge_of_a_dispute_pays_at_most_its_headroom_more(answer: bytes) -> None:
    """An empty answer upholds."""
    bench = CouncilBench(Terms(dispute_window=1_000))
    question = bench.ask()
    bench.register(question, JUDGES[0])
    agents = fund(bench, 3)
    for each in agents:
        bench.commit(question, each)
    for each in agents:
        bench.reveal(question, each)
    bench.aggregate(question, agents)
    bench.dispute(question)
    bench.register(question, *JUDGES[1 : 1 + PANEL])
    bench.advance(question)
    used = []
    panel = bench.panel(question)
    for each in panel:
        bench.rule(question, agents[:1] if answer else (), answer, judges=[each])
        used.append(bench.evm.last.get_gas_used())
    headroom = compute_headroom(Act.RULE, view_of("", 3, panel), answer)
    assert max(used) - min(used) <= headroom
