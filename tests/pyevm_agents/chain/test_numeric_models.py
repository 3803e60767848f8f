"""Chains with numeric models: kept, forked, mined, drafted, estimated and executed again."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import rlp
from eth.exceptions import Revert
from eth_abi import decode, encode
from eth_typing import Address

from precompiles.numeric_gas import NumericGasSchedule
from precompiles.numeric_model import NumericFaultError
from precompiles.numeric_spec import NUMERIC_MODELS_CODE
from pyevm_agents.bench.measurement.assembly import assemble
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import BlockError, ConfigError
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.models.numeric import NumericFile
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, OWNER_KEY, Bench
from tests.numeric_file import build_numeric_file
from tests.numeric_model import MODELS, SumModel, make_numeric_bench, profile_of, run_call
from tests.remote_chain import fork_head

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.chain import CallResult

INPUT = (50, 7, -3)
OUTPUT = encode(["int256[]"], [(54, 46)])
RICH = {OWNER: GenesisAccount(balance_wei=10**30)}
STORES = Address(b"\x51" * 20)
STORES_CODE = assemble(
    "CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY PUSH0 PUSH0 CALLDATASIZE PUSH0 PUSH0 0x1a GAS CALL "
    "0x20 0x40 PUSH0 RETURNDATACOPY PUSH0 MLOAD PUSH0 SSTORE STOP"
)
"""Calls 0x1a with its calldata, and stores the first output in slot 0."""


def call_models(chain: Chain, values: tuple[int, ...] = INPUT) -> CallResult:
    return chain.call(Call(to=MODELS, sender=OWNER, data=run_call(values)))


def test_a_file_answers_as_its_port_does() -> None:
    model = NumericFile(build_numeric_file())
    b = make_numeric_bench({"line": model})
    for values in ((0, 0), (-100, 100), (33, -7)):
        computation = b.call(MODELS, run_call(values, "line"))
        computation.raise_if_error()
        (output,) = decode(["int256[]"], computation.output)
        assert output == model.run(values) == tuple(3 * value + 1 for value in values)
    refused = b.call(MODELS, run_call((101, 0), "line"))
    assert isinstance(refused.error, Revert)


@pytest.mark.parametrize("script", [None, []], ids=["alone", "with a language model"])
def test_the_config_is_part_of_genesis(script: list[str] | None) -> None:
    chain = make_numeric_bench(script=script).chain
    assert chain.header(0).extra_data == chain.config.digest
    other = make_numeric_bench(
        script=script, schedule=NumericGasSchedule(operations_per_gas=5)
    ).chain
    assert other.header(0).hash != chain.header(0).hash


def test_genesis_keeps_a_balance_at_the_address() -> None:
    config = ChainConfig(numeric_models=(profile_of(SumModel()),))
    accounts = {MODELS: GenesisAccount(balance_wei=5, storage={1: 2})}
    chain = Chain(config, numeric_models={"sum": SumModel()}, accounts=accounts)
    account = chain.account(MODELS, [1])
    assert account == GenesisAccount(
        balance_wei=5, nonce=1, code=NUMERIC_MODELS_CODE, storage={1: 2}
    )


def test_an_estimate_is_exact() -> None:
    b = make_numeric_bench(codes={STORES: STORES_CODE})
    for to in (MODELS, STORES):
        call = Call(to=to, sender=OWNER, data=run_call(INPUT))
        least = b.chain.estimate_gas(call)
        assert b.chain.call(replace(call, gas=least)).error is None
        failed = b.chain.call(replace(call, gas=least - 1))
        assert failed.error is not None or to == STORES
        receipt, _ = b.send(to, run_call(INPUT), gas=least)
        assert receipt.state_root == b"\x01"


def test_blocks_are_executed_again_with_the_same_results() -> None:
    b = make_numeric_bench(codes={STORES: STORES_CODE})
    b.send(STORES, run_call(INPUT))
    b.send(MODELS, run_call((0, 8, 0)))
    b.send(STORES, run_call((1, 2, 2**62)))
    again = make_numeric_bench(codes={STORES: STORES_CODE}).chain
    for number in range(1, 4):
        again.import_block(rlp.encode(b.chain.block(number)))
    assert again.head == b.chain.head
    assert again.account(STORES, [0]) == b.chain.account(STORES, [0])
    for number in range(1, 4):
        record = b.chain.block_with_receipts(b.chain.header(number))
        receipt, _ = b.chain.replay(record, 0)
        assert receipt == record.receipts[0]


def test_a_block_of_another_model_is_refused() -> None:
    b = make_numeric_bench(codes={STORES: STORES_CODE})
    b.send(STORES, run_call(INPUT))
    other = make_numeric_bench({"sum": SumModel(salt=1)}, codes={STORES: STORES_CODE}).chain
    with pytest.raises(BlockError, match="parent_hash is"):
        other.import_block(rlp.encode(b.chain.block(1)))


def test_a_draft_runs_numeric_models_without_inference() -> None:
    b = make_numeric_bench(script=[], codes={STORES: STORES_CODE})
    call = Call(to=STORES, sender=OWNER, data=run_call(INPUT))
    signed = b.chain.build_unsigned_transaction(call).as_signed_transaction(
        OWNER_KEY, chain_id=b.chain.config.chain_id
    )
    mined = b.chain.mine([signed], may_infer=False)
    mined.computations[0].raise_if_error()
    account = b.chain.account(STORES, [0])
    assert account is not None
    assert account.storage == {0: 54}


def test_a_fault_leaves_a_kept_chain_as_it_was(tmp_path: Path) -> None:
    class Broken(SumModel):
        def run(self, _values: object) -> tuple[int, ...]:
            raise MemoryError("no memory")

    model = Broken()
    config = ChainConfig(numeric_models=(profile_of(model),))
    for _ in range(2):
        with closing(LmdbRows(tmp_path)) as rows:
            b = Bench(
                Chain(config, numeric_models={"sum": model}, accounts=RICH, rows=rows),
                ByteModel([]),
            )
            with pytest.raises(NumericFaultError, match="numeric model sum failed: no memory"):
                b.send(MODELS, run_call(INPUT))
            assert (b.chain.head.block_number, b.chain.nonce(OWNER)) == (0, 0)


# -- kept in a folder -- #


def open_kept(
    folder: Path,
    models: Mapping[str, NumericModel],
    schedule: NumericGasSchedule | None = None,
) -> tuple[int, bytes]:
    """Open the chain in a folder, send a transaction; return its head."""
    config = ChainConfig(numeric_models=build_numeric_profiles(models))
    if schedule is not None:
        config = replace(config, numeric_schedule=schedule)
    with closing(LmdbRows(folder)) as rows:
        chain = Chain(config, numeric_models=models, accounts=RICH, rows=rows)
        name = next(iter(models), "")
        Bench(chain, ByteModel([])).send(MODELS, run_call(INPUT, name))
        return chain.head.block_number, chain.head.hash


def test_a_kept_chain_goes_on_with_its_models_alone(tmp_path: Path) -> None:
    model = SumModel()
    assert open_kept(tmp_path, {"sum": model})[0] == 1
    assert open_kept(tmp_path, {"sum": SumModel()})[0] == 2
    mistakes: list[tuple[Mapping[str, NumericModel], str]] = [
        ({}, "its numeric models are sum 0x[0-9a-f]{16}… there and none here"),
        ({"total": model}, "its numeric models are sum .* there and total .* here"),
        ({"sum": SumModel(salt=1)}, "its numeric models are sum .* there and sum .* here"),
        ({"sum": model, "b": SumModel(salt=1)}, "its numeric models are sum .* and b .*, sum"),
    ]
    for models, message in mistakes:
        with pytest.raises(ConfigError, match=message):
            open_kept(tmp_path, models)
    with pytest.raises(ConfigError, match=r"numeric_schedule is .* there and .* here"):
        open_kept(tmp_path, {"sum": model}, NumericGasSchedule(base_gas=7))
    assert open_kept(tmp_path, {"sum": model})[0] == 3


def test_a_kept_plain_chain_gets_no_numeric_models(tmp_path: Path) -> None:
    open_kept(tmp_path, {})
    with pytest.raises(ConfigError, match=r"its numeric models are none there and sum .* here"):
        open_kept(tmp_path, {"sum": SumModel()})


# -- forks -- #


def fork_chain(remote: Chain, models: Mapping[str, NumericModel]) -> Chain:
    block = fork_head(remote)
    config = ChainConfig(numeric_models=build_numeric_profiles(models), origin=block.origin)
    return Chain(config, numeric_models=models, accounts=RICH, fork=block)


@pytest.mark.parametrize("remote_models", [{}, {"old": SumModel(salt=9)}], ids=["plain", "own"])
def test_a_fork_has_numeric_models_of_its_own(remote_models: Mapping[str, NumericModel]) -> None:
    remote = make_numeric_bench(remote_models, codes={STORES: STORES_CODE})
    model = SumModel()
    local = Bench(fork_chain(remote.chain, {"sum": model}), ByteModel([]))
    assert local.chain.code(MODELS) == NUMERIC_MODELS_CODE
    _, computation = local.send(STORES, run_call(INPUT))
    computation.raise_if_error()
    account = local.chain.account(STORES, [0])
    assert account is not None
    assert account.storage == {0: 54}
    assert model.runs == [INPUT]
    assert local.chain.header(local.chain.head.block_number).extra_data == local.chain.config.digest
    plain = fork_chain(remote.chain, {})
    assert call_models(plain).output == (bytes.fromhex("e7e23a99") if remote_models else b"")


def test_a_fork_keeps_the_ether_at_the_address() -> None:
    remote = make_numeric_bench({})
    remote.send(MODELS, b"", value_wei=5)
    local = fork_chain(remote.chain, {"sum": SumModel()})
    assert local.balance(MODELS) == 5
    assert call_models(local).output == OUTPUT


def test_a_fork_of_a_chain_with_other_code_there_is_refused() -> None:
    remote = make_numeric_bench({}, codes={MODELS: b"\x5f"})
    with pytest.raises(ConfigError, match=r"numeric models' address 0x0+1a has 1 bytes of code"):
        fork_chain(remote.chain, {"sum": SumModel()})
    assert fork_chain(remote.chain, {}).code(MODELS) == b"\x5f"


def test_a_fork_with_a_language_model_alone_leaves_the_address() -> None:
    remote = make_numeric_bench({}, codes={MODELS: b"\x5f"})
    block = fork_head(remote.chain)
    config = ChainConfig(models=(PROFILE,), origin=block.origin)
    assert Chain(config, {PROFILE.name: ByteModel([])}, fork=block).code(MODELS) == b"\x5f"
