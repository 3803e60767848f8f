"""The precompile on a chain: every kind of call, every refusal, gas at the exact unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth.exceptions import OutOfGas, Revert
from eth.vm.message import Message
from eth_abi import decode, encode
from eth_typing import Address
from eth_utils import keccak, to_checksum_address

from precompiles.executor import Executor
from precompiles.react import GrammarViolationError
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.trace import extract_inferences
from pyevm_agents.chain import Call
from pyevm_agents.vm import build_vm_class
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, STRANGER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import ComputationAPI

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

EXECUTOR = Address(bytes(19) + b"\x19")
ANSWER = " easy\nFinal Answer: done"
RESULT_TYPE = "(bool,string,address,((uint8,bytes)[],bytes),string)"
CALL, STATICCALL, DELEGATECALL, CALLCODE = range(4)


def request(
    *,
    model: str = "bytes",
    base_prompt: str = "Be kind.",
    tools: Sequence[Address] = (),
    reasoning: Sequence[str] = (),
    results: Sequence[str] = (),
    prompt: str = "Hello",
) -> bytes:
    types = ["string", "string", "address[]", "string[]", "string[]", "string"]
    arguments = [model, base_prompt, list(tools), list(reasoning), list(results), prompt]
    return bytes.fromhex("7e636a24") + encode(types, arguments)


def error(signature: str, *arguments: object) -> bytes:
    types = signature[signature.index("(") + 1 : -1]
    return keccak(text=signature)[:4] + encode(types.split(",") if types else [], arguments)


def answer_of(computation: ComputationAPI) -> str:
    computation.raise_if_error()
    ((is_final, answer, *_),) = decode([RESULT_TYPE], computation.output)
    assert is_final
    return str(answer)


def assert_refused(computation: ComputationAPI, data: bytes) -> None:
    assert isinstance(computation.error, Revert)
    assert computation.output == data
    assert computation.get_gas_remaining() > 0


def forward(
    bench: Bench,
    kind: int,
    data: bytes,
    *,
    gas: int = 0,
    target: Address = EXECUTOR,
    value: int = 0,
) -> ComputationAPI:
    """Call the executor from a contract; return the executor's own computation."""
    caller = bench.deploy("Caller")
    calldata = load_artifact("Caller").encode_call("forward", kind, target, gas, value, data)
    outer = bench.call(caller, calldata, value_wei=value)
    outer.raise_if_error()
    (child,) = outer.children
    success, output = load_artifact("Caller").decode_result("forward", outer.output)
    assert success == child.is_success
    assert output == (b"" if child.should_erase_return_data else child.output)
    return child


def apply_message(
    bench: Bench,
    data: bytes,
    *,
    gas: int = 20_000_000,
    depth: int = 0,
    executor: Executor | None = None,
) -> ComputationAPI:
    """Call the executor in a frame of its own: no intrinsic gas, any depth, another executor."""
    state = bench.chain.state()
    message = Message(gas=gas, to=EXECUTOR, sender=OWNER, value=0, data=data, code=b"", depth=depth)
    context = state.get_transaction_context_class()(gas_price=0, origin=OWNER)
    computation_class = state.computation_class
    if executor is not None:
        vm_class = build_vm_class(executor)
        computation_class = vm_class.get_state_class().computation_class
    return computation_class.apply_message(state, message, context)


# -- ways in -- #


def test_answers_a_transaction(bench: MakeBench) -> None:
    b = bench([ANSWER])
    receipt, computation = b.send(EXECUTOR, request())
    assert receipt.state_root == b"\x01"
    assert answer_of(computation) == "done"


def test_answers_an_eth_call(bench: MakeBench) -> None:
    assert answer_of(bench([ANSWER]).call(EXECUTOR, request())) == "done"


@pytest.mark.parametrize("kind", [CALL, STATICCALL], ids=["CALL", "STATICCALL"])
def test_answers_a_contract(bench: MakeBench, kind: int) -> None:
    assert answer_of(forward(bench([ANSWER]), kind, request())) == "done"


@pytest.mark.parametrize("kind", [DELEGATECALL, CALLCODE], ids=["DELEGATECALL", "CALLCODE"])
def test_refuses_to_run_as_another_account(bench: MakeBench, kind: int) -> None:
    child = forward(bench([ANSWER]), kind, request())
    assert_refused(child, error("DelegateCallNotAllowed()"))
    assert child.get_gas_used() == 0


def test_answers_a_contract_under_construction(bench: MakeBench) -> None:
    # Copies the calldata appended to its init code to memory, calls 0x19, returns what it answers.
    data = request()
    prefix = 0x26
    code = bytes.fromhex(
        f"61{len(data):04x}60{prefix:02x}5f39"  # CODECOPY(0, prefix, size)
        f"5f5f61{len(data):04x}5f5f60195af1"  # CALL(gas, 0x19, 0, 0, size, 0, 0)
        "503d5f5f3e3d5ff3"  # POP, RETURNDATACOPY(0, 0, returndatasize), RETURN
    )
    code = code.ljust(prefix, b"\x00") + data
    b = bench([ANSWER])
    _, computation = b.send(None, code)
    computation.raise_if_error()
    assert answer_of(computation.children[0]) == "done"


def test_refuses_value_by_transaction_and_keeps_the_sender_whole(bench: MakeBench) -> None:
    b = bench([ANSWER])
    receipt, computation = b.send(EXECUTOR, request(), value_wei=7)
    assert receipt.state_root == b""
    assert_refused(computation, error("ValueNotAccepted(uint256)", 7))
    assert b.chain.balance(EXECUTOR) == 0


def test_refuses_value_by_call(bench: MakeBench) -> None:
    child = forward(bench([ANSWER]), CALL, request(), value=7)
    assert_refused(child, error("ValueNotAccepted(uint256)", 7))


DELEGATED = Address(b"\xde" * 20)
DELEGATES_TO_EXECUTOR = {DELEGATED: b"\xef\x01\x00" + EXECUTOR}


def test_an_account_that_delegates_to_the_executor_runs_no_code_by_transaction(
    bench: MakeBench,
) -> None:
    b = bench(codes=DELEGATES_TO_EXECUTOR)
    receipt, computation = b.send(DELEGATED, request())
    assert receipt.state_root == b"\x01"
    assert (computation.output, b.model.requests) == (b"", [])


@pytest.mark.parametrize("kind", range(4), ids=["CALL", "STATICCALL", "DELEGATECALL", "CALLCODE"])
def test_an_account_that_delegates_to_the_executor_runs_no_code_by_call(
    bench: MakeBench, kind: int
) -> None:
    b = bench(codes=DELEGATES_TO_EXECUTOR)
    child = forward(b, kind, request(), target=DELEGATED)
    assert child.is_success
    assert (child.output, b.model.requests) == (b"", [])


def test_code_at_the_executors_address_satisfies_extcodesize(bench: MakeBench) -> None:
    b = bench()
    assert b.chain.code(EXECUTOR) == bytes.fromhex("63a792438560e01b5f5260045ffd")


# -- calldata -- #


@pytest.mark.parametrize(
    ("data", "selector"),
    [
        pytest.param(b"", bytes(4), id="empty"),
        pytest.param(b"\x7e\x63\x6a", b"\x7e\x63\x6a\x00", id="three bytes"),
        pytest.param(b"\x06\xfd\xde\x03", b"\x06\xfd\xde\x03", id="name()"),
    ],
)
def test_refuses_an_unknown_selector(bench: MakeBench, data: bytes, selector: bytes) -> None:
    assert_refused(bench().call(EXECUTOR, data), error("UnknownSelector(bytes4)", selector))


def test_refuses_a_selector_alone(bench: MakeBench) -> None:
    computation = bench().call(EXECUTOR, request()[:4])
    reason = "reads past the end: byte 0 of 0"
    assert_refused(computation, error("MalformedCalldata(string)", reason))


def test_takes_calldata_up_to_the_limit_and_not_a_byte_more(bench: MakeBench) -> None:
    data = request()
    b = bench([ANSWER])
    assert answer_of(b.call(EXECUTOR, data.ljust(65_536, b"\0"))) == "done"
    computation = b.call(EXECUTOR, data.ljust(65_537, b"\0"))
    assert_refused(computation, error("CalldataTooLarge(uint256,uint256)", 65_537, 65_536))


def test_refuses_calldata_that_uses_its_parts_twice(bench: MakeBench) -> None:
    words = [0xC0, 0xE0, 0x100, 0x120, 0x1000, 0x1020]  # offsets of the six arguments
    texts = [0, 0, 0]  # an empty model id, an empty base prompt, no tools
    count = 64
    shared = [0x20 * count] * count  # every item of agentReasoning is the same string
    body = [*words, *texts, count, *shared, 2_048]
    data = bytes.fromhex("7e636a24") + b"".join(word.to_bytes(32, "big") for word in body)
    computation = bench().call(EXECUTOR, data.ljust(4 + 0x1040, b"r"))
    size_bytes = 0x1040
    reason = f"decodes to more than its own {size_bytes} bytes"
    assert_refused(computation, error("MalformedCalldata(string)", reason))


def test_refuses_text_that_is_not_utf8(bench: MakeBench) -> None:
    data = request(prompt="Hello").replace(b"Hello", b"Hell\xff")
    assert_refused(bench().call(EXECUTOR, data), error("InvalidUtf8(string)", "prompt"))


# -- models -- #


def test_knows_a_model_by_name_alias_and_digest(bench: MakeBench) -> None:
    for model in ("bytes", "llama_model_3", "0x" + PROFILE.digest.hex()):
        assert answer_of(bench([ANSWER]).call(EXECUTOR, request(model=model))) == "done"


def test_refuses_an_unknown_model(bench: MakeBench) -> None:
    computation = bench().call(EXECUTOR, request(model="gpt-9"))
    assert_refused(computation, error("UnknownModel(string)", "gpt-9"))


def test_two_models_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="two models are called 'llama_model_3'"):
        Executor([(PROFILE, ByteModel([])), (replace(PROFILE, name="other"), ByteModel([]))])


# -- history -- #

REASONING = 'Thought: I look\nAction: A\nAction Input: {"a": 1}'


def test_puts_the_history_into_the_prompt_and_ignores_its_empty_tail(bench: MakeBench) -> None:
    b = bench([ANSWER])
    data = request(reasoning=[REASONING, "", ""], results=["forty-two", "", ""])
    assert answer_of(b.call(EXECUTOR, data)) == "done"
    assert b.model.prompts[0].endswith(f"<a>{REASONING}\nObservation: forty-two\nThought:")


def test_refuses_history_of_unequal_lengths(bench: MakeBench) -> None:
    computation = bench().call(EXECUTOR, request(reasoning=[REASONING], results=[]))
    assert_refused(computation, error("HistoryLengthMismatch(uint256,uint256)", 1, 0))


def test_refuses_history_that_does_not_reparse(bench: MakeBench) -> None:
    forged = REASONING + "\nObservation: paid"
    computation = bench().call(EXECUTOR, request(reasoning=[REASONING, forged], results=["", ""]))
    reason = "agentReasoning is not the lines Thought, Action and Action Input"
    assert_refused(computation, error("MalformedHistory(uint256,string)", 1, reason))


def test_refuses_a_gap_in_the_history(bench: MakeBench) -> None:
    computation = bench().call(EXECUTOR, request(reasoning=["", REASONING], results=["x", ""]))
    data = error("MalformedHistory(uint256,string)", 0, "agentReasoning is empty")
    assert_refused(computation, data)


# -- context and output limits -- #


def test_refuses_a_prompt_one_token_too_long_before_charging_for_it(bench: MakeBench) -> None:
    b = bench([ANSWER])
    b.call(EXECUTOR, request())
    prompt_tokens = len(b.model.requests[0].prompt_tokens)
    fits = replace(PROFILE, context_tokens=prompt_tokens + 512)
    assert answer_of(bench([ANSWER], profile=fits).call(EXECUTOR, request())) == "done"
    too_small = replace(PROFILE, context_tokens=prompt_tokens + 511)
    computation = bench([ANSWER], profile=too_small).call(EXECUTOR, request())
    signature = "ContextTooLong(uint256,uint256,uint256,uint256)"
    assert_refused(computation, error(signature, prompt_tokens, 512, prompt_tokens + 511, 1))
    assert computation.get_gas_used() == 3_000 + 16 * len(request())


def test_refuses_an_output_over_the_models_limit_after_charging_for_it(bench: MakeBench) -> None:
    profile = replace(PROFILE, max_output_tokens=len(ANSWER))
    assert answer_of(bench([ANSWER], profile=profile).call(EXECUTOR, request())) == "done"
    b = bench([ANSWER + "!"], profile=profile)
    computation = b.call(EXECUTOR, request())
    assert_refused(computation, error("OutputTooLong(uint256)", len(ANSWER)))
    assert computation.get_gas_used() == exact_gas(b, request(), output_tokens=len(ANSWER))


# -- gas -- #


def exact_gas(b: Bench, data: bytes, *, output_tokens: int) -> int:
    prompt_tokens = len(b.model.requests[0].prompt_tokens)
    return 3_000 + 16 * len(data) + 6_000 * prompt_tokens + 10_000 * output_tokens


def test_costs_exactly_its_formula(bench: MakeBench) -> None:
    b = bench([ANSWER])
    computation = b.call(EXECUTOR, request())
    assert computation.get_gas_used() == exact_gas(b, request(), output_tokens=len(ANSWER))
    inference = computation.inference
    assert inference is not None
    assert inference.cold_tokens == len(b.model.requests[0].prompt_tokens)
    assert (inference.warm_tokens, inference.output_tokens) == (0, len(ANSWER))


def test_runs_out_of_gas_in_each_phase_at_the_exact_unit(bench: MakeBench) -> None:
    data = request()
    b = bench(lambda _: ANSWER)
    b.call(EXECUTOR, data)
    calldata_gas = 3_000 + 16 * len(data)
    prompt_gas = calldata_gas + 6_000 * len(b.model.requests[0].prompt_tokens)
    output_gas = prompt_gas + 10_000 * len(ANSWER)
    phases = [
        (calldata_gas - 1, "Executor calldata"),
        (calldata_gas, "Executor prompt tokens"),
        (prompt_gas - 1, "Executor prompt tokens"),
        (prompt_gas, "Executor output tokens: not one is paid for"),
        (prompt_gas + 10_000, "Executor output tokens: 1 were not enough"),
        (output_gas - 1, f"Executor output tokens: {len(ANSWER) - 1} were not enough"),
    ]
    for gas, reason in phases:
        child = forward(b, CALL, data, gas=gas)
        assert isinstance(child.error, OutOfGas), gas
        assert reason in str(child.error)
        assert child.get_gas_used() == gas
    child = forward(b, CALL, data, gas=output_gas)
    assert answer_of(child) == "done"
    assert child.get_gas_remaining() == 0


def test_never_generates_more_than_the_gas_pays_for(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER)
    b.call(EXECUTOR, request())
    gas = exact_gas(b, request(), output_tokens=3)
    forward(b, CALL, request(), gas=gas + 9_999)
    assert b.model.requests[-1].max_tokens == 3


def test_a_refusal_for_kind_or_size_costs_nothing(bench: MakeBench) -> None:
    child = forward(bench(), CALL, b"\0" * 65_537)
    assert child.get_gas_used() == 0


def test_estimates_gas_exactly(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER)
    call = Call(to=EXECUTOR, sender=OWNER, data=request())
    gas = b.chain.estimate_gas(call)
    assert b.chain.call(replace(call, gas=gas)).error is None
    assert isinstance(b.chain.call(replace(call, gas=gas - 1)).error, OutOfGas)


# -- warm prompt tokens -- #


def agent(b: Bench, *tools: Address, name: str = "Agent", base_prompt: str = "Help.") -> Address:
    texts = [name, "An agent", "What to do", base_prompt]
    return b.deploy("SimpleAgent", EXECUTOR, "bytes", *texts, list(tools), 10)


def warm_tokens_of(computation: ComputationAPI) -> list[int]:
    return [inference.warm_tokens for inference in extract_inferences(computation)]


def test_a_second_run_in_one_transaction_pays_the_warm_price_for_full_blocks(
    bench: MakeBench,
) -> None:
    b = bench(lambda _: ANSWER)
    twice, helper = b.deploy("RunTwice"), agent(b)
    run_both = load_artifact("RunTwice").encode_call("runBoth", helper, "Hi", helper, "Hi")
    computation = b.call(twice, run_both)
    tokens = len(b.model.requests[0].prompt_tokens)
    assert warm_tokens_of(computation) == [0, tokens // 32 * 32]
    first, second = extract_inferences(computation)
    assert second.prompt_gas == 6_000 * (tokens % 32) + 100 * (tokens // 32 * 32)
    assert first.prompt_gas == 6_000 * tokens


def test_what_a_reverted_run_paid_for_is_cold_again(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER)
    twice, helper = b.deploy("RunTwice"), agent(b)
    run = load_artifact("RunTwice").encode_call("runUndoneThenRun", helper, "Hi", helper, "Hi")
    assert warm_tokens_of(b.call(twice, run)) == [0, 0]


def test_warm_marks_of_one_call_do_not_reach_the_next(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER)
    helper = agent(b)
    run = load_artifact("RunTwice").encode_call("runBoth", helper, "Hi", helper, "Hi")
    twice = b.deploy("RunTwice")
    assert warm_tokens_of(b.call(twice, run))[0] == 0
    assert warm_tokens_of(b.call(twice, run))[0] == 0
    _, mined = b.send(twice, run)
    assert warm_tokens_of(mined)[0] == 0


# -- observers -- #

CALLBACKS = ("on_prompt", "on_generation", "on_result")


@pytest.mark.parametrize(
    ("output_tokens", "callbacks"),
    [
        pytest.param(len(ANSWER), CALLBACKS, id="success"),
        pytest.param(len(ANSWER) - 1, CALLBACKS[:2], id="output cut off"),
        pytest.param(0, CALLBACKS[:1], id="no gas for an output token"),
        pytest.param(-1, (), id="prompt unpaid"),
    ],
)
def test_callbacks_are_in_order_and_end_where_the_call_does(
    bench: MakeBench,
    monkeypatch: pytest.MonkeyPatch,
    output_tokens: int,
    callbacks: tuple[str, ...],
) -> None:
    b = bench(lambda _: ANSWER)
    gas = apply_message(b, request()).get_gas_used()
    called: list[str] = []
    for name in CALLBACKS:
        monkeypatch.setattr(b.chain.agent_events, name, lambda *_, name=name: called.append(name))
    paid_gas = gas - (len(ANSWER) - output_tokens) * PROFILE.output_token_gas
    computation = apply_message(b, request(), gas=paid_gas)
    assert computation.is_success == (callbacks == CALLBACKS)
    assert tuple(called) == callbacks


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_callback_that_raises_is_a_fault_that_leaves_the_chain_as_it_was(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError

    b = bench([ANSWER])
    monkeypatch.setattr(b.chain.agent_events, name, fail)
    head = b.chain.head
    with pytest.raises(ArithmeticError):
        b.send(EXECUTOR, request())
    assert b.chain.head == head


def test_the_default_observer_does_nothing(bench: MakeBench) -> None:
    b = bench([])
    computation = apply_message(b, request(), executor=Executor([(PROFILE, ByteModel([ANSWER]))]))
    assert answer_of(computation) == "done"


# -- faults -- #


def test_a_text_outside_the_grammar_is_a_fault_that_leaves_the_chain_as_it_was(
    bench: MakeBench,
) -> None:
    b = bench(lambda _: "nonsense")
    head = b.chain.head
    with pytest.raises(GrammarViolationError):
        b.send(EXECUTOR, request())
    assert b.chain.head == head
    assert b.chain.nonce(OWNER) == 0


@pytest.mark.parametrize(
    ("depth", "has_tool", "data"),
    [
        pytest.param(1_023, True, None, id="1023 with a tool"),
        pytest.param(1_024, True, error("CallDepthExceeded()"), id="1024 with a tool"),
        pytest.param(1_024, False, None, id="1024 without tools"),
    ],
)
def test_the_deepest_frame_has_no_room_for_metadata(
    bench: MakeBench, depth: int, has_tool: bool, data: bytes | None
) -> None:
    b = bench(lambda _: ANSWER)
    tools = [b.deploy("TokenInfoTool")] if has_tool else []
    computation = apply_message(b, request(tools=tools), depth=depth)
    if data is None:
        assert answer_of(computation) == "done"
    else:
        assert_refused(computation, data)


@pytest.mark.slow
def test_1024_real_frames_end_in_a_refusal(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER, block_gas_limit=10**16)
    info, deep = b.deploy("TokenInfoTool"), b.deploy("DeepCaller")
    # `descend(d)` runs at depths 0 to d and calls the executor at depth d + 1.
    calldata = load_artifact("DeepCaller").encode_call(
        "descend", 1_023, EXECUTOR, request(tools=[info])
    )
    outer = b.call(deep, calldata, gas=10**15)
    outer.raise_if_error()
    result = load_artifact("DeepCaller").decode_result("descend", outer.output)
    assert result == (False, error("CallDepthExceeded()"))


def test_an_address_in_the_answer_is_checksummed(bench: MakeBench) -> None:
    b = bench([" ok\nFinal Answer: sent to addr1"])
    address = to_checksum_address(STRANGER)
    computation = b.call(EXECUTOR, request(prompt=f"Pay 0x{STRANGER.hex()}"))
    assert answer_of(computation) == f"sent to {address}"
