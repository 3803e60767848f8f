"""Replay of fixtures: every error is found, and the first place is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from precompiles.gas import DEFAULT_SCHEDULE, GasSchedule
from precompiles.spec import EXECUTOR_ADDRESS, EXECUTOR_CODE
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.errors import AgentsError, ConfigError, FixtureError
from pyevm_agents.recordings import (
    Fixture,
    MismatchError,
    RecordedStep,
    Replay,
    read_fixture,
    record_chain,
    write_fixture,
)
from tests.byte_model import ByteModel
from tests.chain_bench import OWNER, STRANGER
from tests.pyevm_agents.recordings.conftest import SCRIPT, make_chain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Change = Callable[[Fixture], Fixture]


def with_step(index: int, **parts: Any) -> Change:  # noqa: ANN401 - fields of a step
    def change(fixture: Fixture) -> Fixture:
        step = fixture.steps[index]
        return _put(fixture, index, replace(step, **parts))

    return change


def with_exchange(index: int, **parts: Any) -> Change:  # noqa: ANN401 - fields of an exchange
    def change(fixture: Fixture) -> Fixture:
        step = fixture.steps[index]
        return _put(fixture, index, replace(step, exchange=replace(step.exchange, **parts)))

    return change


def with_generation(index: int, **parts: Any) -> Change:  # noqa: ANN401 - fields of a generation
    def change(fixture: Fixture) -> Fixture:
        exchange = fixture.steps[index].exchange
        assert exchange.generation is not None
        return with_exchange(index, generation=replace(exchange.generation, **parts))(fixture)

    return change


def _put(fixture: Fixture, index: int, step: RecordedStep) -> Fixture:
    steps = (*fixture.steps[:index], step, *fixture.steps[index + 1 :])
    return replace(fixture, steps=steps)


def with_transaction(block: int, index: int, **parts: Any) -> Change:  # noqa: ANN401 - its fields
    def change(fixture: Fixture) -> Fixture:
        recorded = fixture.blocks[block]
        transactions = list(recorded.transactions)
        transactions[index] = replace(transactions[index], **parts)
        blocks = list(fixture.blocks)
        blocks[block] = replace(recorded, transactions=tuple(transactions))
        return replace(fixture, blocks=tuple(blocks))

    return change


def with_account(section: str, **parts: Any) -> Change:  # noqa: ANN401 - fields of an account
    def change(fixture: Fixture) -> Fixture:
        accounts = dict(fixture.pre if section == "pre" else fixture.post)
        accounts[STRANGER] = replace(accounts[STRANGER], **parts)
        if section == "pre":
            return replace(fixture, pre=accounts)
        return replace(fixture, post=accounts)

    return change


def without_account(fixture: Fixture) -> Fixture:
    post = {address: account for address, account in fixture.post.items() if address != STRANGER}
    return replace(fixture, post=post)


def without_block(fixture: Fixture) -> Fixture:
    blocks = (*fixture.blocks[:1], *fixture.blocks[2:])
    steps = tuple(replace(step, block=step.block - 1) for step in fixture.steps)
    return replace(fixture, blocks=blocks, steps=steps)


def without_steps(fixture: Fixture) -> Fixture:
    return replace(fixture, steps=())


def with_price(fixture: Fixture) -> Fixture:
    model = replace(fixture.config.models[0], output_token_gas=10_001)
    return replace(fixture, config=replace(fixture.config, models=(model,)))


def test_every_block_is_as_recorded(small: Fixture) -> None:
    blocks = list(Replay(small).execute_blocks())
    assert [block.number for block in blocks] == [1, 2, 3, 4]
    assert [block.transactions for block in blocks] == [1, 1, 3, 0]
    assert [block.steps for block in blocks] == [0, 0, len(small.steps), 0]
    assert blocks[3].state_root == small.blocks[3].block.header.state_root


def test_a_chain_of_an_earlier_fork_is_replayed(tmp_path: Path) -> None:
    """A fork with other blocks, and cheaper calldata."""
    chain, _, _ = make_chain(fork="cancun")
    write_fixture(record_chain(chain, name="cancun", comment="Earlier."), tmp_path / "cancun.json")
    read = read_fixture(tmp_path / "cancun.json")
    assert "requests_hash" not in read.blocks[0].block.header.as_dict()
    assert Replay(read).finish().head.hash == chain.head.hash
    (tmp_path / "prague.json").write_text(
        (tmp_path / "cancun.json")
        .read_text()
        .replace("cancun", "prague")
        .replace("Cancun", "Prague")
    )
    with pytest.raises(FixtureError):
        read_fixture(tmp_path / "prague.json")


def test_a_model_that_says_the_same_gives_the_same(small: Fixture) -> None:
    script = iter(SCRIPT)
    said: dict[str, str] = {}

    def say(request: Any) -> str:  # noqa: ANN401 - a request
        prompt = "".join(segment.text for segment in request.segments)
        if prompt not in said:
            said[prompt] = next(script)
        return said[prompt]

    assert Replay(small, {"bytes": ByteModel(say)}).finish().head.block_number == 4


def test_a_model_that_says_something_else_is_found_at_its_step(small: Fixture) -> None:
    script = [SCRIPT[0], " I am done.\nFinal Answer: It is 8."]
    with pytest.raises(MismatchError) as caught:
        Replay(small, {"bytes": ByteModel([*script, *SCRIPT[2:]])}).finish()
    assert caught.value.place == (3, 0, 1)
    assert str(caught.value).startswith("block 3, transaction 0, step 1: generation differs")
    assert "Final Answer: It is 7." in caught.value.expected
    assert "Final Answer: It is 8." in caught.value.actual


def with_executor(account: GenesisAccount | None) -> Change:
    def change(fixture: Fixture) -> Fixture:
        pre = dict(fixture.pre)
        if account is None:
            del pre[EXECUTOR_ADDRESS]
        else:
            pre[EXECUTOR_ADDRESS] = account
        return replace(fixture, pre=pre)

    return change


WRONG: dict[str, tuple[Change, str]] = {
    "price": (with_price, r"^block 0: genesis: extra_data differs: config does not match"),
    "balance in pre": (
        with_account("pre", balance_wei=2),
        r"^block 0: genesis: state_root differs: pre does not match",
    ),
    "storage in pre": (
        with_account("pre", storage={3: 5}),
        r"^block 0: genesis: state_root differs: pre does not match",
    ),
    "executor's code": (
        with_executor(GenesisAccount(nonce=1, code=b"\x00")),
        r"^block 0: genesis: pre: account 0x0{38}19 differs in code from the conf",
    ),
    "executor's balance": (
        with_executor(GenesisAccount(nonce=1, code=EXECUTOR_CODE, balance_wei=1)),
        r"^block 0: genesis: state_root differs: pre does not match",
    ),
    "no executor": (with_executor(None), r"^block 0: genesis: pre: account 0x0{38}19 differs"),
    "balance in post": (
        with_account("post", balance_wei=2),
        r"^block 4: postState: account 0x\w+ differs in balance_wei\n  recorded: 2\n  now:      1$",
    ),
    "slot in post": (
        with_account("post", storage={3: 5}),
        r"^block 4: postState: account 0x\w+ differs in slot 0x3\n  recorded: 0x5\n  now: +0x4$",
    ),
    "slot less": (
        with_account("post", storage={}),
        r"^block 4: postState: accounts or slots are missing",
    ),
    "account less": (without_account, r"^block 4: postState: accounts or slots are missing"),
    "gas": (with_transaction(2, 1, gas_used=5), r"^block 3, transaction 1: gas_used differs"),
    "status": (
        with_transaction(2, 0, is_success=False),
        r"^block 3, transaction 0: is_success differs",
    ),
    "hash": (with_transaction(0, 0, hash=bytes(32)), r"^block 1, transaction 0: hash differs"),
    "sender": (with_transaction(0, 0, sender=STRANGER), r"^block 1, transaction 0: sender differs"),
    "block less": (without_block, r"^block 2: its RLP is of block 3"),
    "limit": (
        with_exchange(1, max_tokens=511),
        r"^block 3, transaction 0, step 1: max_tokens differs",
    ),
    "grammar": (
        with_exchange(1, grammar="x"),
        r"^block 3, transaction 0, step 1: grammar differs",
    ),
    "prompt tokens": (with_exchange(1, prompt_tokens=(1,)), r"^block 3, transaction 0"),
    "prompt": (
        with_exchange(1, segments=()),
        r"^block 3, transaction 0, step 1: the prompt differs from",
    ),
    "text": (
        with_generation(0, text=" x"),
        r"^block 3, transaction 0, step 0: not a thought with an action or an answer: ' x'",
    ),
    "thought": (
        with_generation(0, text=SCRIPT[0].replace(" ", " Now ", 1)),
        r"^block 3, transaction 0, step 0: the generation differs from its copy in the prompt",
    ),
    "tokens": (with_generation(1, tokens=(1, 2)), r"^block 3, transaction 0: gas_used differs"),
    "no steps": (without_steps, r"^block 3, transaction 0, step 0: the record has no tokens"),
    "wrong step": (
        with_step(0, step=1),
        r"^steps\[0\] is at block 3, transaction 0, step 1: the place does not",
    ),
    "wrong block": (
        with_step(1, block=1),
        r"^steps\[1\] is at block 1, transaction 0, step 1: the place does not",
    ),
    "block that is none": (
        with_step(0, block=9),
        r"^steps\[0\] is at block 9, transaction 0, step 0: the place does not",
    ),
    "transaction that is none": (
        with_step(0, transaction=3),
        r"^steps\[0\] is at block 3, transaction 3, step 0: the place does not",
    ),
    "model": (
        with_exchange(0, model="other"),
        r"^invalid steps\[0\]\.model 'other': must be one of",
    ),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found_and_its_place_named(
    small: Fixture, change: Change, message: str
) -> None:
    with pytest.raises(AgentsError, match=message):
        Replay(change(small)).finish()


def test_a_step_too_many_is_found(small: Fixture) -> None:
    extra = replace(small.steps[1], step=2)
    steps = (*small.steps[:2], extra, *small.steps[2:])
    message = r"^block 3, transaction 0, step 2: the number of steps differs"
    with pytest.raises(MismatchError, match=message):
        Replay(replace(small, steps=steps)).finish()


def test_a_block_that_is_altered_is_found(small: Fixture) -> None:
    # Some fields of a header are free; then it is the next block that does not fit.
    for index, recorded in enumerate(small.blocks[:-1]):
        for place in range(0, len(recorded.encoded), max(1, len(recorded.encoded) // 12)):
            encoded = bytearray(recorded.encoded)
            encoded[place] ^= 1
            blocks = list(small.blocks)
            blocks[index] = replace(recorded, encoded=bytes(encoded))
            with pytest.raises(FixtureError, match=f"^block [{index + 1}{index + 2}]"):
                Replay(replace(small, blocks=tuple(blocks))).finish()


def test_models_must_be_those_of_the_configuration(small: Fixture) -> None:
    with pytest.raises(
        ConfigError,
        match=r"language models \['other'\]: must be those of the chain config, \['bytes'\]",
    ):
        Replay(small, {"other": ByteModel([])})


def test_accounts_that_nobody_read_do_not_pass(small: Fixture) -> None:
    post = {**small.post, OWNER: GenesisAccount()}
    with pytest.raises(MismatchError, match="postState: account"):
        Replay(replace(small, post=post)).finish()


def test_a_chain_of_another_schedule_is_replayed_under_its_own(
    small: Fixture, tmp_path: Path
) -> None:
    schedule = GasSchedule(executor_base_gas=31, input_byte_gas=37, tool_gas=41, parameter_gas=43)
    chain, _, _ = make_chain(schedule)
    path = tmp_path / "other.json"
    write_fixture(record_chain(chain, name="other", comment="Under other prices."), path)
    other = read_fixture(path)
    assert other.config.schedule == schedule
    replayed = Replay(other).finish()
    assert replayed.config == chain.config
    assert replayed.head == chain.head
    assert other.blocks[2].block.header.gas_used != small.blocks[2].block.header.gas_used
    under_default = replace(other, config=replace(other.config, schedule=DEFAULT_SCHEDULE))
    with pytest.raises(AgentsError, match="genesis"):
        Replay(under_default).finish()
