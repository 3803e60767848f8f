"""`pyevm-agents record` and `demo --record` write files that replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.record import ScenarioName
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel
from pyevm_agents.recordings import (
    Replay,
    mine_again,
    open_chain,
    read_fixture,
    record_chain,
    write_fixture,
)

ROLLBACK = Path(__file__).resolve().parents[3] / "chain_fixtures" / "rollback.json"


@pytest.mark.slow
def test_a_scenario_is_written_and_is_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "rollback.json"
    done = CliRunner().invoke(main, ["record", "--scenario", "rollback", "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert "1 block, 1 generation," in done.output
    assert Replay(read_fixture(file)).finish().head.block_number == 1


@pytest.mark.slow
def test_a_chain_is_recorded_anew_under_a_schedule(tmp_path: Path) -> None:
    file, prices = tmp_path / "rollback.json", tmp_path / "schedule.json"
    prices.write_text('{"schedule": {"tool_gas": 41}, "models": {"*": {"output_token_gas": 29}}}')
    command = ["record", "--from", str(ROLLBACK), "-o", str(file), "--schedule", str(prices)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    before, after = read_fixture(ROLLBACK), read_fixture(file)
    assert after.config.schedule.tool_gas == 41
    said = after.steps[0].exchange.generation
    assert said is not None
    assert said == before.steps[0].exchange.generation
    used = [one.blocks[0].block.header.gas_used for one in (before, after)]
    chosen = len(said.tokens) - said.forced_tokens
    evaluated = said.forced_tokens - said.tail_tokens
    # What the rules decide has no tokens.
    assert used[0] - used[1] == ((5_000 - 41) + (10_000 - 29) * chosen + (6_000 - 29) * evaluated)


@pytest.mark.parametrize(
    "command", [("record", "--scenario", "wallet", "-o"), ("demo", "--record")]
)
def test_a_file_that_is_no_fixture_is_not_overwritten(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "notes.md"
    file.write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(main, [*command, str(file)])
    assert (done.exit_code, file.read_text(encoding="utf-8")) == (2, "mine")
    assert "exists and is not a valid fixture" in " ".join(done.output.split())
    done = CliRunner().invoke(main, [*command, str(tmp_path / "none" / "x.json")])
    assert done.exit_code == 2
    assert "create it first" in " ".join(done.output.split())


def test_a_store_and_none_exclude_each_other(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["demo", "--no-store", "--store", str(tmp_path / "s")])
    assert done.exit_code == 2
    assert "exclude each other" in done.output


@pytest.mark.parametrize(
    ("given", "name"),
    [("out_of_gas", "out-of-gas"), ("out-of-gas", "out-of-gas"), ("wallet_agent", "wallet")],
)
def test_a_scenario_has_hyphens_or_underscores(given: str, name: str) -> None:
    assert ScenarioName().convert(given, None, None) == name


def test_several_scenarios_need_a_folder(tmp_path: Path) -> None:
    arguments = ["record", "--scenario", "all", "-o", str(tmp_path / "some.json")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "must be a folder to record several chains" in done.output


@pytest.mark.slow
def test_a_recorded_chain_is_recorded_anew_on_this_engine(tmp_path: Path) -> None:
    """Replay honours profiles: generations of another engine are replayed, and not recomputed."""
    shipped = read_fixture(ROLLBACK)
    config = replace(shipped.config, profile_fingerprint='{"canary":"of another engine"}')
    other = record_chain(mine_again(shipped, config), name="rollback", comment=shipped.comment)
    file = tmp_path / "other.json"
    write_fixture(other, file)

    done = CliRunner().invoke(main, ["replay", str(file)])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["replay", "--recompute", str(file)])
    assert done.exit_code == 2
    assert "use the chain's engine build, or replay its recording without a model" in done.output
    with LlamaModel() as model, pytest.raises(ConfigError, match="use the chain's engine build"):
        open_chain(other, {config.models[0].name: model})

    anew = tmp_path / "anew.json"
    done = CliRunner().invoke(main, ["record", "--from", str(file), "-o", str(anew)])
    assert done.exit_code == 0, done.output
    assert read_fixture(anew) == shipped


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.json"], "nothing to record; pass --scenario (wallet, nested, "),
        (["--from", "none.json", "-o", "x.json"], "none.json: can't be read"),
        (
            ["--scenario", "wallet", "-o", "none/x.json"],
            "folder none does not exist; create it first",
        ),
        (["--from", str(ROLLBACK), "--scenario", "rollback", "-o", "."], "have the same name"),
        (
            ["--from", str(ROLLBACK), "--gas-limit", "30000000", "-o", "x.json"],
            "--gas-limit is for scenarios",
        ),
        (["--scenario", "wallet", "--gas-limit", "29999999", "-o", "x.json"], "29999999 is not in"),
    ],
)
def test_what_can_not_be_recorded_is_refused_before_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["record", *arguments, "--model", "none.gguf"])
    assert done.exit_code == 2
    assert message in done.output


def test_a_scenario_that_is_none_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["record", "--scenario", "other", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "'callback', 'swap', 'trading', 'loan', 'run', 'council', 'all'" in done.output
