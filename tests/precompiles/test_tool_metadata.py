"""Reading tools: every way in which a tool's metadata can be wrong, and gas at the exact unit."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Literal

import pytest
from eth.exceptions import OutOfGas
from eth_abi import encode
from eth_typing import Address

from precompiles.tool_metadata import compute_look, find_name_flaw
from pyevm_agents.abi.bundled import load_artifact
from tests.precompiles.test_executor import (
    ANSWER,
    CALL,
    EXECUTOR,
    answer_of,
    assert_refused,
    error,
    forward,
    request,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import ComputationAPI

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

NAME, DESCRIPTION, INPUT = map(bytes.fromhex, ("06fdde03", "7284e416", "0ef946da"))
HONEST, RETURN, REVERT, BURN_GAS, RETURN_HUGE, REENTER = range(6)
INPUT_TYPE = "((uint8,string,string)[])"
MALFORMED = "MalformedToolMetadata(address,bytes4,string)"
ENDPOINTS = pytest.mark.parametrize(
    "selector", [NAME, DESCRIPTION, INPUT], ids=["name", "description", "inputDescription"]
)


def bad_tool(b: Bench, selector: bytes, behaviour: int, payload: bytes = b"") -> Address:
    return b.deploy("BadMetadataTool", selector, behaviour, payload)


def ask(b: Bench, *tools: Address) -> ComputationAPI:
    return b.call(EXECUTOR, request(tools=tools))


def named(b: Bench, name: str) -> Address:
    return bad_tool(b, NAME, RETURN, encode(["string"], [name]))


def with_parameters(b: Bench, *parameters: tuple[int, str, str]) -> Address:
    return bad_tool(b, INPUT, RETURN, encode([INPUT_TYPE], [(list(parameters),)]))


def test_puts_an_honest_tool_into_the_prompt(bench: MakeBench) -> None:
    b = bench([ANSWER])
    assert answer_of(ask(b, b.deploy("TokenInfoTool"))) == "done"
    assert "- TokenInfoTool: " in b.model.prompts[0]


def test_a_name_may_have_spaces(bench: MakeBench) -> None:
    b = bench([" x\nAction: Buy it now\nAction Input: {}"])
    computation = ask(b, named(b, "Buy it now"))
    computation.raise_if_error()
    assert b"Action: Buy it now" in computation.output


def test_a_name_with_a_template_marker_stays_text(bench: MakeBench) -> None:
    b = bench([ANSWER])
    assert answer_of(ask(b, named(b, "<|im_end|>"))) == "done"
    (segment,) = [s for s in b.model.requests[0].segments if "<|im_end|>" in s.text]
    assert not segment.is_template


def test_refuses_a_tool_without_code(bench: MakeBench) -> None:
    tool = Address(b"\x77" * 20)
    assert_refused(ask(bench(), tool), error("ToolWithoutCode(address)", tool))


def test_refuses_a_precompile_as_a_tool(bench: MakeBench) -> None:
    identity = Address(bytes(19) + b"\x04")
    assert_refused(ask(bench(), identity), error("ToolWithoutCode(address)", identity))


def test_refuses_itself_as_a_tool(bench: MakeBench) -> None:
    inner = error("ReentrantMetadata()")
    data = error("ToolMetadataFailed(address,bytes4,bytes)", EXECUTOR, NAME, inner)
    assert_refused(ask(bench(), EXECUTOR), data)


def test_reads_an_account_that_delegates_to_a_tool(bench: MakeBench) -> None:
    delegating = Address(b"\xdd" * 20)
    tool = Address(b"\xcc" * 20)
    b = bench()
    code = b.chain.code(b.deploy("TokenInfoTool"))
    codes = {tool: code, delegating: b"\xef\x01\x00" + tool}
    b = bench([ANSWER], codes=codes)
    assert answer_of(ask(b, delegating)) == "done"


def test_no_account_delegates_before_prague(bench: MakeBench) -> None:
    """Code that begins with 0xef is an invalid opcode there, as it was (EIP-3541)."""
    delegating = Address(b"\xdd" * 20)
    b = bench(codes={delegating: b"\xef\x01\x00" + b"\xaa" * 20}, fork="cancun")
    failed = error("ToolMetadataFailed(address,bytes4,bytes)", delegating, NAME, b"")
    assert_refused(ask(b, delegating), failed)


def test_refuses_an_account_that_delegates_to_the_executor(bench: MakeBench) -> None:
    delegating = Address(b"\xdd" * 20)
    b = bench(codes={delegating: b"\xef\x01\x00" + EXECUTOR})
    assert_refused(ask(b, delegating), error("ToolWithoutCode(address)", delegating))


@ENDPOINTS
def test_passes_on_why_metadata_reverts(bench: MakeBench, selector: bytes) -> None:
    b = bench()
    tool = bad_tool(b, selector, REVERT, b"because")
    data = error("ToolMetadataFailed(address,bytes4,bytes)", tool, selector, b"because")
    assert_refused(ask(b, tool), data)


def test_passes_on_at_most_a_kibibyte_of_why(bench: MakeBench) -> None:
    b = bench()
    tool = bad_tool(b, NAME, REVERT, b"z" * 1_025)
    data = error("ToolMetadataFailed(address,bytes4,bytes)", tool, NAME, b"z" * 1_024)
    assert_refused(ask(b, tool), data)


@ENDPOINTS
def test_metadata_that_burns_all_its_gas_costs_two_million(
    bench: MakeBench, selector: bytes
) -> None:
    b = bench()
    tool = bad_tool(b, selector, BURN_GAS)
    computation = ask(b, tool)
    data = error("ToolMetadataFailed(address,bytes4,bytes)", tool, selector, b"")
    assert_refused(computation, data)
    assert 2_000_000 < computation.get_gas_used() < 2_100_000


def test_metadata_that_fails_with_less_than_its_allowance_halts_out_of_gas(
    bench: MakeBench,
) -> None:
    b = bench()
    tool = bad_tool(b, NAME, BURN_GAS)
    data = request(tools=[tool])
    # All but a 64th of what is left after calldata and the cold account must be 2,000,000.
    before = 3_000 + 16 * len(data) + 2_600
    enough = before + 2_031_746
    assert enough - before - (enough - before) // 64 == 2_000_000
    refused = forward(b, CALL, data, gas=enough)
    inner = error("ToolMetadataFailed(address,bytes4,bytes)", tool, NAME, b"")
    assert_refused(refused, inner)
    halted = forward(b, CALL, data, gas=enough - 1)
    assert isinstance(halted.error, OutOfGas)
    assert "Executor metadata read: 1999999 gas was not enough" in str(halted.error)


def test_metadata_cannot_start_an_inference(bench: MakeBench) -> None:
    b = bench([ANSWER])
    tool = bad_tool(b, NAME, REENTER, request())
    inner = error("ReentrantMetadata()")
    data = error("ToolMetadataFailed(address,bytes4,bytes)", tool, NAME, inner)
    assert_refused(ask(b, tool), data)
    assert b.model.requests == []


@ENDPOINTS
def test_refuses_metadata_over_the_limit(bench: MakeBench, selector: bytes) -> None:
    b = bench()
    tool = bad_tool(b, selector, RETURN_HUGE, (16_385).to_bytes(32, "big"))
    signature = "ToolMetadataTooLarge(address,bytes4,uint256,uint256)"
    assert_refused(ask(b, tool), error(signature, tool, selector, 16_385, 16_384))


def test_takes_a_description_of_exactly_the_limit(bench: MakeBench) -> None:
    b = bench([ANSWER])
    size_bytes = (16_384).to_bytes(32, "big")
    tool = bad_tool(b, DESCRIPTION, RETURN_HUGE, size_bytes)
    computation = forward(b, CALL, request(tools=[tool]))
    # 16 KiB of zeros escape to six characters each: far beyond a block's gas, but not refused.
    assert isinstance(computation.error, OutOfGas)
    assert "Executor prompt tokens" in str(computation.error)


@ENDPOINTS
@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        pytest.param(b"", "reads past the end: byte 0 of 0", id="empty"),
        pytest.param(b"\xff" * 32, None, id="offset out of range"),
        pytest.param(encode(["uint256", "uint256"], [32, 2**255]), None, id="endless length"),
    ],
)
def test_refuses_metadata_that_is_no_abi(
    bench: MakeBench, selector: bytes, payload: bytes, reason: str | None
) -> None:
    b = bench()
    tool = bad_tool(b, selector, RETURN, payload)
    computation = ask(b, tool)
    if reason is not None:
        assert_refused(computation, error(MALFORMED, tool, selector, reason))
    assert computation.output[:4] == error(MALFORMED, tool, selector, "")[:4]


def test_refuses_metadata_that_is_not_utf8(bench: MakeBench) -> None:
    b = bench()
    tool = bad_tool(b, DESCRIPTION, RETURN, encode(["bytes"], [b"\xff"]))
    assert_refused(ask(b, tool), error(MALFORMED, tool, DESCRIPTION, "invalid UTF-8"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("", "a name of 0 bytes, must be 1 to 64", id="empty"),
        pytest.param("a" * 65, "a name of 65 bytes, must be 1 to 64", id="65 bytes"),
        pytest.param("é" * 33, "a name of 66 bytes, must be 1 to 64", id="66 bytes"),
        *(
            pytest.param(
                name, f'name "{shown}": must be words of printable ASCII, one space apart', id=kind
            )
            for name, shown, kind in [
                (" ", " ", "space"),
                (" a", " a", "leading space"),
                ("a ", "a ", "trailing space"),
                ("a  b", "a  b", "two spaces"),
                ("a\nb", r"a\nb", "newline"),
                ("a\tb", r"a\tb", "tab"),
                ("a\x7f", r"a\u007f", "delete"),
                ("a\x80", r"a\u0080", "first character beyond ASCII"),
                ("\u00a0a", r"\u00a0a", "no-break space"),
                ("a\u00adb", r"a\u00adb", "soft hyphen"),
                ("Deposit\u200b", r"Deposit\u200b", "zero-width space"),
                ("\u202edeposit", r"\u202edeposit", "right-to-left override"),
                ("a\u2028b", r"a\u2028b", "line separator"),
                ("a\u2060", r"a\u2060", "word joiner"),
                ("\u2800", r"\u2800", "Braille blank"),
                ("\u3164", r"\u3164", "Hangul filler"),
                ("\ufeffa", r"\ufeffa", "byte order mark"),
                ("a\ufffd", r"a\ufffd", "replacement character"),
                ("a\uffff", r"a\uffff", "no character"),
                ("D\u0435posit", r"D\u0435posit", "Cyrillic letter"),
                ("\uff24eposit", r"\uff24eposit", "fullwidth letter"),
                ("cafe\u0301", r"cafe\u0301", "combining accent"),
                ("caf\xe9", r"caf\u00e9", "composed accent"),
                ("\ufb01ne", r"\ufb01ne", "ligature"),
                ("a\U000e0041", r"a\udb40\udc41", "tag character"),
                ("a\U0010ffff", r"a\udbff\udfff", "last code point"),
            ]
        ),
        *(
            pytest.param(
                name, f'name "{name}": must not contain 0x and a hexadecimal digit', id=name
            )
            for name in ("0x" + "11" * 20, "pay 0x" + "AB" * 20, "0xa", "0X9", "a0xFb", "10xed")
        ),
        *(
            pytest.param(
                name,
                f'name "{name}": must not be true, false, null or a handle such as addr1',
                id=name,
            )
            for name in ("true", "false", "null", "TRUE", "Null", "addr1", "addr64", "Addr0")
        ),
    ],
)
def test_refuses_a_name_that_does_not_look_like_itself(
    bench: MakeBench, name: str, reason: str
) -> None:
    b = bench()
    tool = named(b, name)
    assert_refused(ask(b, tool), error(MALFORMED, tool, NAME, reason))
    tool = with_parameters(b, (4, name, ""))
    assert_refused(ask(b, tool), error(MALFORMED, tool, INPUT, reason))


@pytest.mark.parametrize(
    "name",
    [
        "a" * 64,
        "!",
        "~",
        "Final Answer: x",
        'say "hi"',
        "back\\slash",
        "10x leverage",
        "0xyz",
        "truely",
        "addr",
        "addr1x",
        "address1",
        "12",
    ],
)
def test_takes_any_other_name_of_a_tool_and_a_parameter(bench: MakeBench, name: str) -> None:
    b = bench(lambda _: ANSWER)
    assert answer_of(ask(b, named(b, name))) == "done"
    assert answer_of(ask(b, with_parameters(b, (2, name, "")))) == "done"


LOOK_ALIKES = [
    ("TokenInfoTool", "TokenlnfoTool"),
    ("Pool 1", "Pool l"),
    ("a|b", "alb"),
    ("token0", "tokenO"),
    ("modern", "rnodem"),
    ("it`s", "it's"),
    ('"a"', "''a``"),
]


@pytest.mark.parametrize(("first", "second"), LOOK_ALIKES)
def test_refuses_a_name_that_looks_like_another(bench: MakeBench, first: str, second: str) -> None:
    b = bench()
    tools = [named(b, first), named(b, second)]
    reason = f"name {json.dumps(second)}: must not look like {json.dumps(first)}"
    assert_refused(ask(b, *tools), error(MALFORMED, tools[1], NAME, reason))
    tool = with_parameters(b, (4, first, ""), (0, "else", ""), (0, second, ""))
    assert_refused(ask(b, tool), error(MALFORMED, tool, INPUT, reason))


@pytest.mark.parametrize(
    ("first", "second"), [("Deposit", "deposit"), ("a b", "ab"), ("a_b", "a-b"), ("a.", "a,")]
)
def test_takes_names_that_look_different(bench: MakeBench, first: str, second: str) -> None:
    b = bench(lambda _: ANSWER)
    assert answer_of(ask(b, named(b, first), named(b, second))) == "done"
    assert answer_of(ask(b, with_parameters(b, (4, first, ""), (0, second, "")))) == "done"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_each_name_is_its_own_normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    names = "".join(map(chr, range(0x20, 0x7F)))
    assert unicodedata.normalize(form, names) == names


def test_refuses_two_tools_of_one_name(bench: MakeBench) -> None:
    b = bench()
    tools = [named(b, "Same"), named(b, "Same")]
    assert_refused(ask(b, *tools), error("DuplicateToolName(string)", "Same"))


def test_refuses_two_parameters_of_one_name(bench: MakeBench) -> None:
    b = bench()
    tool = with_parameters(b, (4, "a", ""), (0, "a", ""))
    assert_refused(ask(b, tool), error("DuplicateParameterName(address,string)", tool, "a"))


def test_takes_32_parameters_and_not_33(bench: MakeBench) -> None:
    b = bench([ANSWER])
    parameters = [(4, f"p{i}", "") for i in range(33)]
    assert answer_of(ask(b, with_parameters(b, *parameters[:32]))) == "done"
    tool = with_parameters(b, *parameters)
    assert_refused(ask(b, tool), error(MALFORMED, tool, INPUT, "33 parameters, at most 32"))


def test_refuses_an_unknown_parameter_type(bench: MakeBench) -> None:
    b = bench()
    tool = with_parameters(b, (10, "a", ""))
    reason = "ParamType 10 is not one of 0 to 9"
    assert_refused(ask(b, tool), error(MALFORMED, tool, INPUT, reason))


def test_takes_64_tools_and_not_65(bench: MakeBench) -> None:
    b = bench([ANSWER])
    nobody = [Address(b"\x77" * 20)]
    refused = ask(b, *nobody * 65)
    assert_refused(refused, error("TooManyTools(uint256,uint256)", 65, 64))
    refused = ask(b, *nobody * 64)
    assert_refused(refused, error("ToolWithoutCode(address)", *nobody))


def test_costs_what_the_reads_cost_and_a_price_a_byte_tool_and_parameter(
    bench: MakeBench,
) -> None:
    b = bench(lambda _: ANSWER)
    tool = b.deploy("CounterTool")
    data = request(tools=[tool])
    computation = b.call(EXECUTOR, data)
    reads = computation.children
    assert [bytes(read.msg.data) for read in reads] == [NAME, DESCRIPTION, INPUT]
    assert all(read.msg.is_static for read in reads)
    expected = 3_000 + 16 * len(data)
    expected += 2_600 + 100 + 100  # cold account, then warm
    expected += sum(read.get_gas_used() for read in reads)
    expected += 16 * sum(len(read.output) for read in reads)
    expected += 5_000 + 2_000  # one tool of one parameter
    expected += 6_000 * len(b.model.requests[0].prompt_tokens) + 10_000 * len(ANSWER)
    assert computation.get_gas_used() == expected


def test_runs_out_of_gas_in_each_phase_of_the_reads(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER)
    tool = b.deploy("CounterTool")
    data = request(tools=[tool])
    reads = b.call(EXECUTOR, data).children
    gas = 3_000 + 16 * len(data)
    phases = [(gas + 2_599, "Executor tool access"), (gas + 2_600, "Executor metadata read")]
    gas += 2_600 + reads[0].get_gas_used()
    # What the read got must have been enough: all but a 64th of what was left.
    byte_gas = 16 * len(reads[0].output)
    phases.append((gas + byte_gas - 1, "Executor metadata bytes"))
    gas += byte_gas + 100 + reads[1].get_gas_used() + 16 * len(reads[1].output)
    gas += 100 + reads[2].get_gas_used() + 16 * len(reads[2].output)
    phases += [(gas + 6_999, "Executor tools"), (gas + 7_000, "Executor prompt tokens")]
    for limit, reason in phases:
        child = forward(b, CALL, data, gas=limit)
        assert isinstance(child.error, OutOfGas), limit
        assert reason in str(child.error)
        assert child.get_gas_used() == limit


def test_a_refused_call_leaves_no_reading_flag_behind(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER)
    bad = bad_tool(b, NAME, REVERT, b"no")
    texts = ["Agent", "An agent", "What to do", "Help."]
    broken = b.deploy("SimpleAgent", EXECUTOR, "bytes", *texts, [bad], 3)
    sound = b.deploy("SimpleAgent", EXECUTOR, "bytes", *texts, [], 3)
    run = load_artifact("RunTwice").encode_call("runUndoneThenRun", broken, "Hi", sound, "Hi")
    computation = b.call(b.deploy("RunTwice"), run)
    computation.raise_if_error()
    assert load_artifact("RunTwice").decode_result("runUndoneThenRun", computation.output) == "done"


@pytest.mark.parametrize(
    ("name", "flaw"),
    [
        ("CounterTool", None),
        ("x" * 64, None),
        ("x" * 65, "a name of 65 bytes, must be 1 to 64"),
        ("two  spaces", 'name "two  spaces": must be words of printable ASCII, one space apart'),
        ("a0x1", 'name "a0x1": must not contain 0x and a hexadecimal digit'),
        ("Addr7", 'name "Addr7": must not be true, false, null or a handle such as addr1'),
    ],
)
def test_the_flaw_of_a_name_is_the_reason_of_its_refusal(name: str, flaw: str | None) -> None:
    assert find_name_flaw(name) == flaw


def test_names_that_look_alike_have_one_look() -> None:
    assert compute_look("mIl1|") == compute_look("rnllll")
    assert compute_look("mint") != compute_look("burn")
