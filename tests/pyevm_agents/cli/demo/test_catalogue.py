"""All scenarios by the scripted ideal: the JSON, the text and the page of each report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.demo.catalogue import SCENARIOS, DemoJob
from pyevm_agents.cli.demo.options import DemoOptions
from pyevm_agents.cli.demo.page import build_page
from pyevm_agents.cli.demo.text import print_end
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.models import Store
from pyevm_agents.scenarios.setting import ScenarioSetting
from pyevm_agents.scenarios.wallet import DEFAULT_INSTRUCTION
from tests.pyevm_agents.cli.demo.page_reader import Page

if TYPE_CHECKING:
    from typing import Any

    from pyevm_agents.chain import Chain
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.reports.document import EntryList, ReportTable

STEP = {"depth", "thought", "action", "input", "observation", "reason", "answer", "isDecided"}
TRANSACTION = {
    "hash": str, "blockNumber": int, "status": int, "failure": str | None, "gas": int,
    "steps": list,
}  # fmt: skip
REPORT = {
    "scenario": str, "model": dict, "isScripted": bool, "transactions": list,
    "endedAsIdeal": bool, "differences": list, "seconds": float, "details": dict,
}  # fmt: skip
SHOWN = {
    "wallet": ["succeeded", "all balances unchanged", "-10"],
    "callback": ["the same steps and the same answer", "the same balances", "oracle's fee"],
    "swap": ["4.99 BNB (-0.01)", "no call, and the reason", "swapExactETHForTokens_BNB_for_USDT"],
    "trading": ["SlippageTooHigh", "price 2,805.00 to 2,932.45 USDT", "▲ bought"],
    "loan": ["Voted for: more is known of applicants", "Ignore the criteria", "2,400 USDT"],
    "run": ["Paid 340 USDC to Acme", "AssetCapExceeded", "maxOnchainWrites 1", "nothing; before"],
    "council": ["in 5.6000, out 5.6000 ETH", "overturned", "scores rise for those who were right"],
}
"""Texts of both renderers."""

TERMINAL_ALONE = {"price 2,805.00 to 2,932.45 USDT", "▲ bought"}
"""Texts of pictures."""

COUNTS = {"wallet": 1, "swap": 5, "trading": 4, "loan": 7}
"""Transactions."""


def require_types(form: dict[str, Any], members: dict[str, Any]) -> None:
    """Require exactly these members, and their types."""
    assert form.keys() == members.keys()
    for name, kind in members.items():
        assert isinstance(form[name], kind), name


def make_job(llama: LlamaModel, store: Store, **listeners: Any) -> DemoJob:  # noqa: ANN401 - of a setting
    facts = llama.profile_facts
    return DemoJob(
        setting=ScenarioSetting(
            chain=create_development_chain(llama, facts, store=store),
            model={"name": "m", "digest": "0x" + facts.digest.hex()},
            is_scripted=True,
            **listeners,
        ),
        options=DemoOptions(
            posts=4, html=None, ideal=True, record_path=None, fork_url=None, router=None,
            token=None, chain_id=None,
        ),
        prompt=DEFAULT_INSTRUCTION,
        review=None,
        llama=llama,
        store=store,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.slow) for each in SCENARIOS if each != "wallet"]
    + ["wallet"]
)  # fmt: skip
def test_the_ideal_has_the_form_of_all_reports(
    name: str, llama: LlamaModel, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[EntryList | ReportTable] = []
    kept: list[Chain] = []
    with Store() as store:
        job = make_job(llama, store, show=shown.append, keep=kept.append)
        report = SCENARIOS[name].run(job)
    form = json.loads(json.dumps(report.serialize()))
    require_types(form, REPORT)
    assert (form["scenario"], form["model"].keys()) == (name, {"name", "digest"})
    assert (form["isScripted"], form["endedAsIdeal"], form["differences"]) == (True, True, [])
    count = len(form["transactions"])
    assert count == COUNTS.get(name, count)
    for each in form["transactions"]:
        require_types(each, TRANSACTION)
        assert each["status"] == (each["failure"] is None)
        assert all(step.keys() >= STEP for step in each["steps"])
    assert any(each["steps"] for each in form["transactions"])
    assert len(kept) == 1

    print_end(report, ())
    text = capsys.readouterr().out
    found = Page(build_page(report))
    words = " ".join(found.texts)
    assert "script" not in found.tags
    assert all(link.startswith("#") for link in found.links)
    assert f"{report.count} of {report.count}" in found.texts
    assert "nded as the ideal" in text
    for each in SHOWN[name]:
        assert each in text, each
        assert each in words or each in TERMINAL_ALONE, each
    parts = [part for chapter in report.chapters for part in chapter.parts]
    assert all(part in parts for part in shown)
    print_end(report, shown)
    rest = capsys.readouterr().out
    assert all(part.title not in rest for part in shown)


def test_scenarios_are_listed_with_what_each_shows() -> None:
    done = CliRunner().invoke(main, ["demo", "--list"])
    assert [line.split()[0] for line in done.stdout.splitlines()] == [*SCENARIOS]
    form = json.loads(CliRunner().invoke(main, ["demo", "--list", "--json"]).stdout)
    assert [each["scenario"] for each in form] == [*SCENARIOS]
    assert all(each["shows"] in done.stdout for each in form)


def test_an_unknown_scenario_is_refused_with_the_known_ones() -> None:
    done = CliRunner().invoke(main, ["demo", "--scenario", "bridge"])
    assert done.exit_code == 2
    assert all(name in done.stderr for name in ("bridge", *SCENARIOS))
