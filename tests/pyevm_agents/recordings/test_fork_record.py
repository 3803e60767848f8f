"""A recorded fork replays without the remote chain, and has only the state that was read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from click.testing import CliRunner

from pyevm_agents.chain import Call
from pyevm_agents.cli.app import main
from pyevm_agents.errors import FixtureError, RemoteFault
from pyevm_agents.recordings import (
    MismatchError,
    codec,
    fork_record,
    open_chain,
    record_block,
    record_chain,
    record_mined_blocks,
    record_state,
    write_fixture,
)
from pyevm_agents.recordings.canonical_json import serialize
from tests.chain_bench import STRANGER
from tests.pyevm_agents.chain.test_fork import HASHES, RICH, fork, remote_bench
from tests.remote_chain import fork_head
from tests.test_agents import USDC_UNIT, Wallet, answer, instruct, use

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.recordings import Fixture
    from tests.chain_bench import Bench
    from tests.remote_chain import RemoteBlock


@pytest.fixture(scope="module")
def source() -> tuple[RemoteBlock, Bench, Wallet]:
    """A fork with an agent's block and a read of BLOCKHASH; its remote chain does not answer."""
    remote = remote_bench()
    wallet = Wallet(remote)
    block = fork_head(remote.chain)
    local = fork(
        block,
        [use("DeployTool", asset="USDC", amount=10), answer("Deposited.")] * 4,
        {STRANGER: RICH},
    )
    wallet.bench = local
    local.send(wallet.agent, instruct("Deposit 10 USDC"))[1].raise_if_error()
    number = local.chain.head.block_number - 4
    local.send(HASHES, number.to_bytes(32, "big"))[1].raise_if_error()
    return block, local, wallet


@pytest.fixture(scope="module")
def recorded(source: tuple[RemoteBlock, Bench, Wallet]) -> Fixture:
    """The fork's recording."""
    return record_chain(source[1].chain, name="fork", comment="An agent on a fork.")


def test_a_recorded_fork_replays_without_its_remote_chain(
    source: tuple[RemoteBlock, Bench, Wallet], recorded: Fixture
) -> None:
    block, local, wallet = source
    read = codec.decode(codec.encode(recorded))
    assert read == recorded
    block.state.is_gone = True
    try:
        chain = open_chain(read)
    finally:
        block.state.is_gone = False
    assert chain.head.hash == local.chain.head.hash
    assert chain.config.origin == block.origin
    wallet.bench = replace(local, chain=chain)
    assert wallet.balances() == (990 * USDC_UNIT, 510 * USDC_UNIT)


def test_mined_blocks_of_a_fork_are_recorded_the_same(
    source: tuple[RemoteBlock, Bench, Wallet], recorded: Fixture
) -> None:
    chain = source[1].chain
    last = chain.head.block_number
    again = record_mined_blocks(chain, last, name=recorded.name, comment=recorded.comment)
    assert again == recorded
    earlier = record_mined_blocks(chain, last - 1, name="earlier", comment="Without BLOCKHASH.")
    assert earlier.blocks == recorded.blocks[:-1]
    assert open_chain(earlier).head.block_number == last - 1


def test_a_recorded_fork_has_the_steps_and_the_block_hashes(
    source: tuple[RemoteBlock, Bench, Wallet], recorded: Fixture
) -> None:
    first = source[0].header.block_number + 1
    assert recorded.first_number + 1 == first
    assert [(step.block, step.step) for step in recorded.steps] == [(first, 0), (first, 1)]
    assert recorded.fork is not None
    assert [*recorded.fork.block_hashes] == [first - 4]
    assert recorded.genesis == b""


def test_an_account_that_was_not_read_is_a_fault(recorded: Fixture) -> None:
    chain = open_chain(recorded)
    unknown = bytes([7]) * 20
    with pytest.raises(RemoteFault, match=f"account 0x{unknown.hex()} at block .*: not in the rec"):
        chain.call(Call(to=unknown))  # type: ignore[arg-type]
    assert recorded.fork is not None
    with pytest.raises(RemoteFault, match=r"slot 0x99 of account .*: not in the recording"):
        recorded.fork.get_slot(HASHES, 0x99)
    with pytest.raises(RemoteFault, match=r"hash of block 999999 at .*: not in the record"):
        recorded.fork.get_block_hash(999_999)


def test_a_replay_that_lacks_a_read_names_it(recorded: Fixture) -> None:
    assert recorded.fork is not None
    lacking = replace(recorded, fork=replace(recorded.fork, block_hashes={}))
    with pytest.raises(MismatchError, match=r"hash of block \d+ .*: not in the recording"):
        open_chain(lacking)


def test_another_header_is_not_the_origins(recorded: Fixture) -> None:
    assert recorded.fork is not None
    other = recorded.fork.header.copy(gas_used=1)
    sections: dict[str, Any] = codec.build_sections(
        replace(recorded, fork=replace(recorded.fork, encoded_header=rlp.encode(other)))
    )
    with pytest.raises(FixtureError, match=r"fork\.headerRLP is block .*: must be config\.origin"):
        codec.decode(serialize("fork", sections).encode())


def test_the_reads_of_a_recording_are_bounded(
    source: tuple[RemoteBlock, Bench, Wallet], recorded: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = fork_record.ForkRecorder(source[0])
    assert recorder.get_account(STRANGER) is not None
    recorder.get_slot(HASHES, 1)
    assert recorded.fork is not None
    monkeypatch.setattr(fork_record, "MAX_READ_BYTES", 128)
    recorder.finish()
    monkeypatch.setattr(fork_record, "MAX_READ_BYTES", 127)
    with pytest.raises(FixtureError, match=r"read 128 bytes .*: must be at most 127; record fewer"):
        recorder.finish()


def test_the_state_of_a_fork_is_no_genesis(source: tuple[RemoteBlock, Bench, Wallet]) -> None:
    with pytest.raises(FixtureError, match="accounts that it did not read are missing"):
        record_state(source[1].chain)


def test_a_fixture_of_a_fork_has_no_genesis_section(recorded: Fixture) -> None:
    form = json.loads(codec.encode(recorded))["fork"]
    assert "genesisRLP" not in form
    assert form["fork"]["header"]["hash"] == "0x" + recorded.fork.origin.block_hash.hex()  # type: ignore[union-attr]


def test_the_commands_replay_and_export_a_fork(recorded: Fixture, tmp_path: Path) -> None:
    path, number = tmp_path / "fork.json", recorded.first_number + 1
    write_fixture(recorded, path)
    replayed = CliRunner().invoke(main, ["replay", "--json", str(path)])
    assert replayed.exit_code == 0, replayed.output
    assert [block["number"] for block in json.loads(replayed.output)[0]["blocks"]] == [
        number,
        number + 1,
    ]
    exported = CliRunner().invoke(
        main, ["export-replay", "--fixture", str(path), "--format", "json"]
    )
    assert exported.exit_code == 0, exported.output
    assert "DeployTool" in exported.output


def test_a_node_takes_no_recorded_fork(recorded: Fixture, tmp_path: Path) -> None:
    path, origin = tmp_path / "fork.json", recorded.config.origin
    assert origin is not None
    write_fixture(recorded, path)
    told = CliRunner().invoke(main, ["node", "--no-model", "-p", "0", "--fixture", str(path)])
    assert told.exit_code == 2
    words = " ".join(told.output.split())
    assert f"fixture fork: a recorded fork of chain {origin.chain_id} has only" in words
    assert f"--fork-url and --fork-block-number {origin.block_number}" in words


def test_a_block_of_a_fork_is_recorded_alone(
    source: tuple[RemoteBlock, Bench, Wallet], recorded: Fixture
) -> None:
    block, local, _ = source
    for number, original in enumerate(recorded.blocks, start=recorded.first_number + 1):
        alone = record_block(local.chain, number, name="alone", comment="One block of a fork.")
        assert [each.transactions for each in alone.blocks] == [original.transactions]
        assert [step.exchange for step in alone.steps] == [
            step.exchange for step in recorded.steps if step.block == number
        ]
        block.state.is_gone = True
        try:
            assert open_chain(codec.decode(codec.encode(alone))).head.block_number == number
        finally:
            block.state.is_gone = False
