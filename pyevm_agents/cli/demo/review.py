"""The simulation of an instruction to the wallet demo, before sending."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.run_preview import (
    RunTrial,
    choose_screen,
    may_send,
    print_trial,
    read_trial,
    refuse_to_send,
)
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.node import Node
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.scenarios.wallet_report import WalletReview

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain
    from pyevm_agents.cli.output import StatusLine
    from pyevm_agents.scenarios.setting import ScenarioSetting
    from pyevm_agents.scenarios.wallet import WalletDemo


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReview:
    """How an instruction is reviewed."""

    scenario: str
    setting: ScenarioSetting
    assumes_yes: bool
    as_json: bool
    watch: StatusLine

    def require_yes(self, wallet: WalletDemo, instruction: str, note: str = "") -> WalletReview:
        """Simulate and show an instruction, and get a yes; return the simulation.

        One that reverts moves nothing, so no question comes before sending.

        Input:  note: a line for the confirming person.
        Raises: SystemExit: the instruction is not to be sent. ConfigError: an invalid instruction.
        """
        started = time.monotonic()
        text = wallet.insert_addresses(instruction)
        form = trace_instruction(wallet.chain, wallet.agent, text)
        trial = read_trial(form, to_checksum_address(DEVELOPMENT_ADDRESS))
        seconds = time.monotonic() - started
        self.watch.stop()
        moves = serialize_moves(trial)
        found = WalletReview(
            seconds=seconds,
            differences=tuple(each["text"] for each in moves["differences"] or ()),
            details={"review": moves},
        )
        if trial.reason is not None:
            return found
        screen = choose_screen(as_json=self.as_json, is_asked=not self.assumes_yes)
        if screen is not None:
            screen.print("[bold]Simulated before it is sent[/]")
            print_trial(trial, screen)
            screen.print(f"{note}\n" if note else "", soft_wrap=True)
        if not may_send(trial.preview, assumes_yes=self.assumes_yes):
            if self.as_json:
                refused = self._serialize_refused(text, trial, found)
                click.echo(json.dumps(refused, indent=2, ensure_ascii=False))
            refuse_to_send(trial.preview)
        return found

    def _serialize_refused(
        self, instruction: str, trial: RunTrial, found: WalletReview
    ) -> dict[str, object]:
        """Return the members of every scenario's report, and those of the simulation."""
        return {
            "instruction": instruction,
            "isSent": False,
            **trial.serialize(),
            "scenario": self.scenario,
            "model": dict(self.setting.model),
            "isScripted": self.setting.is_scripted,
            "transactions": [],
            "endedAsIdeal": False,
            "differences": [*found.differences],
            "seconds": round(self.setting.read_seconds(), 3),
            "details": dict(found.details),
        }


def serialize_moves(trial: RunTrial) -> dict[str, Any]:
    """Return the JSON of the moves of a simulated run. The balances are the demo's own."""
    form = {} if trial.preview is None else trial.preview.serialize()
    return {name: form[name] for name in ("transfers", "approvals", "differences")}


def trace_instruction(chain: Chain, agent: bytes, instruction: str) -> Any:  # noqa: ANN401 - JSON
    """Return the result of `agent_traceCall` for an instruction of the development account."""
    data = load_artifact("WalletAgent").encode_call("instruct", instruction)
    form = {
        "from": "0x" + DEVELOPMENT_ADDRESS.hex(),
        "to": "0x" + agent.hex(),
        "data": "0x" + data.hex(),
    }
    # The chain goes on without this node, which mines nothing.
    service = build_node_service(Node(chain, now=time.time), call_seconds=float("inf"))
    session = Session("in process")
    try:
        return service.call("agent_traceCall", [form], session)
    finally:
        session.close()
