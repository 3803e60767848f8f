"""Attack cases: ways to buy work from the executor below its worth.

Each case is a transaction of an attacker's contract, which calls the executor and ignores the
results. A call that is to halt gets an exact amount of gas: all work is paid work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles import spec
from precompiles.abi import (
    RUN_NEXT_ITERATION_SELECTOR,
    ParamDescription,
    ParamType,
    decode_request,
)
from pyevm_agents.bench.attacks.case import BEFORE_END, AttackCase, ExecutorCall, encode_calldata
from pyevm_agents.bench.attacks.slow_texts import UNITS, find_worst_unit, repeat_unit
from pyevm_agents.bench.measurement.tool_contracts import build_tool_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.bench.attacks.case import AttackTarget

TEXT_BYTES = spec.MAX_CALLDATA_BYTES - 1_024
"""Text that fits into the calldata of one call, beside its other fields."""

QUICK_PROMPT_TOKENS = 512
LONG_ANSWERS, LONG_ANSWER_DIGITS = 4, 400
"""Number of answers to one prompt, and their length: most vocabularies have a token for each digit.
"""


def make_attack_cases(target: AttackTarget) -> Iterator[AttackCase]:
    """Yield every attack on a target."""
    for make in MAKERS:
        yield make(target)


def _make_text_case(target: AttackTarget) -> AttackCase:
    unit = find_worst_unit(target)
    data = encode_calldata(prompt=repeat_unit(UNITS[unit], TEXT_BYTES))
    return AttackCase(
        name="text",
        title="64 KiB of text that tokenises slowly",
        how=f"The prompt is 64 KiB of {unit}: tokenised, and found too long for the context. Of "
        f"{len(UNITS)} texts that were tried this one takes longest.",
        calls=(ExecutorCall(data=data),),
    )


def _make_unpaid_prompt_case(_target: AttackTarget) -> AttackCase:
    return AttackCase(
        name="unpaid-prompt",
        title="64 KiB of spaces, whose tokens are not paid",
        how="A thousand tokens of spaces fit the context; the gas ends where they would be "
        "charged, after they were counted.",
        calls=(ExecutorCall(data=encode_calldata(prompt=repeat_unit(" ", TEXT_BYTES))),),
        halts_after=0,
    )


def _make_addresses_case(_target: AttackTarget) -> AttackCase:
    texts: list[str] = []
    size_bytes = 0
    while size_bytes < TEXT_BYTES - 64:
        address = f"0x{len(texts):04x}" + "aB" * 18
        texts.append(address)
        size_bytes += len(address) + 1
    return AttackCase(
        name="addresses",
        title="64 KiB of addresses with wrong checksums",
        how="Each of 1,500 addresses has letters of both cases, so that its checksum is computed.",
        calls=(ExecutorCall(data=encode_calldata(base_prompt=" ".join(texts))),),
    )


def _make_tools_case(_target: AttackTarget) -> AttackCase:
    tools = [Address(index.to_bytes(20, "big")) for index in range(TEXT_BYTES // 32)]
    return AttackCase(
        name="tools",
        title="2,000 tools in one call",
        how="They are decoded before they are counted.",
        calls=(ExecutorCall(data=encode_calldata(tools=tools)),),
    )


def _make_history_case(_target: AttackTarget) -> AttackCase:
    count = TEXT_BYTES // 128
    return AttackCase(
        name="history",
        title="1,000 empty steps",
        how="Two arrays of different lengths, all of empty texts: decoded, then compared.",
        calls=(
            ExecutorCall(data=encode_calldata(reasoning=[""] * count, results=[""] * (count - 1))),
        ),
    )


def _make_steps_case(_target: AttackTarget) -> AttackCase:
    step = "Thought: a\nAction: b\nAction Input: {" + "}" * 8
    count = TEXT_BYTES // 256
    return AttackCase(
        name="steps",
        title="Steps of which the last is malformed",
        how="Each is held against the format; the last one has only closing brackets in it, as "
        "many as fit.",
        calls=(
            ExecutorCall(
                data=encode_calldata(
                    reasoning=[*[step] * count, step + "}" * (TEXT_BYTES // 8) + "."],
                    results=["x"] * (count + 1),
                )
            ),
        ),
    )


def _make_aliases_case(_target: AttackTarget) -> AttackCase:
    count = TEXT_BYTES // 32 - 16
    heads = [0xC0, 0xC0, 0xC0, 0xE0, 0xC0, 0xC0, 0, count, *[32 * count] * count, 0]
    body = b"".join(word.to_bytes(32, "big") for word in heads)
    return AttackCase(
        name="aliases",
        title="64 KiB that decode to more than themselves",
        how="The items of an array of texts all point to the same text.",
        calls=(ExecutorCall(data=RUN_NEXT_ITERATION_SELECTOR + body),),
    )


def _make_small_calls_case(target: AttackTarget) -> AttackCase:
    return AttackCase(
        name="small-calls",
        title="Calls with no calldata",
        how="As many of the cheapest calls as fit, each refused for its selector.",
        calls=(ExecutorCall(data=b""),) * (200 if target.is_quick else 1_000),
    )


def _make_large_calls_case(target: AttackTarget) -> AttackCase:
    return AttackCase(
        name="large-calls",
        title="Calls with a byte too much",
        how="Refused for their size before anything is charged: each pays for its CALL alone, and "
        "for memory once. Most of it is the EVM's own work: calls of nobody with as much take more "
        "than half as long.",
        calls=(ExecutorCall(data=bytes(spec.MAX_CALLDATA_BYTES + 1)),)
        * (200 if target.is_quick else 1_000),
    )


def _make_small_reads_case(_target: AttackTarget) -> AttackCase:
    codes = {
        _make_tool_address(index): build_tool_code(f"{index}", "")
        for index in range(spec.MAX_TOOLS - 1)
    }
    codes[_make_tool_address(spec.MAX_TOOLS)] = b"\x00"
    return AttackCase(
        name="small-reads",
        title="64 tools that say nothing",
        how="Three reads of each at the least gas; the last tool answers nothing, which refuses "
        "the call before the tools are charged for.",
        calls=(ExecutorCall(data=encode_calldata(tools=list(codes))),) * 2,
        codes=codes,
    )


def _make_large_reads_case(_target: AttackTarget) -> AttackCase:
    described = "\x01" * (spec.MAX_METADATA_BYTES - 64)
    parameters = [
        ParamDescription(param_type=ParamType.STRING, name=f"p{index}", description="\x01" * 256)
        for index in range(32)
    ]
    codes = {
        _make_tool_address(index): build_tool_code(name, described, parameters)
        for index, name in enumerate(("a", "b"))
    }
    return AttackCase(
        name="large-reads",
        title="Tools that describe themselves at length",
        how="Descriptions of 16 KiB, and of 32 parameters as long as a read may be, all of control "
        "characters, which become six letters each: read, escaped, tokenised, found too long.",
        calls=(ExecutorCall(data=encode_calldata(tools=list(codes))),),
        codes=codes,
    )


def _make_failing_read_case(_target: AttackTarget) -> AttackCase:
    loop = b"\x5b\x5f\x56"  # JUMPDEST, PUSH0, JUMP: until the gas ends.
    return AttackCase(
        name="failing-read",
        title="A read that burns all that a read may burn",
        how="The tool's name() loops until its gas ends: the EVM's own work, for its own gas.",
        calls=(ExecutorCall(data=encode_calldata(tools=[_make_tool_address(0)])),),
        codes={_make_tool_address(0): loop},
    )


def _make_grammar_case(target: AttackTarget) -> AttackCase:
    """Many arrays: the largest grammar of a prompt of some hundred tokens."""
    count, size = (1, 32) if target.is_quick else (4, 32)
    parameters = [
        ParamDescription(param_type=ParamType.INT_ARRAY, name=chr(0x21 + index), description="")
        for index in range(size)
    ]
    codes = {
        _make_tool_address(index): build_tool_code(chr(0x41 + index), "", parameters)
        for index in range(count)
    }
    return AttackCase(
        name="grammar",
        title="A grammar of many arrays, thrown away",
        how=f"{count} tools with {size} lists of integers each, whose grammar is set up for one "
        "token; then the gas ends.",
        calls=(ExecutorCall(data=encode_calldata(tools=list(codes))),),
        codes=codes,
        halts_after=1,
        is_reaching_model=True,
    )


def _make_out_of_gas_case(_target: AttackTarget) -> AttackCase:
    return AttackCase(
        name="out-of-gas",
        title="Gas that ends just before a text does, again and again",
        how="The same call three times, with gas for all of its output but the last token: each is "
        "said anew, and each try pays for all of it.",
        calls=(ExecutorCall(data=encode_calldata(prompt="What do you think?")),) * 3,
        halts_after=BEFORE_END,
        is_reaching_model=True,
    )


def _make_long_prompt_case(target: AttackTarget) -> AttackCase:
    room = target.profile.context_tokens - target.profile.max_output_tokens
    tokens = min(room - 64, QUICK_PROMPT_TOKENS if target.is_quick else room)
    return AttackCase(
        name="long-prompt",
        title=f"A prompt of {tokens:,} tokens",
        how="Control characters, each of which becomes five tokens, in a few hundred bytes of "
        "calldata; then gas for one token of output.",
        calls=(ExecutorCall(data=target.build_calldata(tokens)),),
        halts_after=1,
        is_reaching_model=True,
        is_long=not target.is_quick,
    )


def _make_long_answers_case(target: AttackTarget) -> AttackCase:
    profile = target.profile
    room = profile.context_tokens - profile.max_output_tokens - 64
    tokens, digits = (min(room, 128), 20) if target.is_quick else (room, LONG_ANSWER_DIGITS)
    digits = min(digits, profile.max_output_tokens - 16)
    return AttackCase(
        name="long-answers",
        title="Long answers to one long prompt",
        how=f"A prompt of some {tokens:,} tokens, answered {LONG_ANSWERS} times with {digits} "
        "digits: it is paid for once, and each token of output is written where it takes longest.",
        calls=(ExecutorCall(data=target.build_calldata(tokens)),) * LONG_ANSWERS,
        grammar=build_answer_grammar(f"/[0-9]{{{digits}}}/"),
        is_reaching_model=True,
        is_long=not target.is_quick,
    )


def _make_warm_case(target: AttackTarget) -> AttackCase:
    tokens, rounds = (128, 3) if target.is_quick else (512, 10)
    filler = decode_request(target.build_calldata(tokens)).prompt
    calls = [
        ExecutorCall(data=encode_calldata(base_prompt=f"You are agent {index}.", prompt=filler))
        for index in range(spec.WARM_PREFIXES)
    ]
    return AttackCase(
        name="warm",
        title=f"{spec.WARM_PREFIXES} warm prompts in turn",
        how=f"As many prompts of some {tokens:,} tokens as may be warm at once, paid for in full, "
        f"then asked in turn {rounds} times: each puts another one's numbers aside.",
        calls=tuple(calls) * (1 + rounds),
        grammar=build_answer_grammar('"b"'),
        is_reaching_model=True,
    )


def build_answer_grammar(answer: str) -> str:
    """Return a grammar that admits a thought of three letters, and an answer."""
    return f'start: " " /[a-z]{{3}}/ "\\nFinal Answer: " {answer}\n'


def _make_tool_address(index: int) -> Address:
    return Address(b"\x70\x01" + index.to_bytes(18, "big"))


MAKERS: tuple[Callable[[AttackTarget], AttackCase], ...] = (
    _make_text_case,
    _make_unpaid_prompt_case,
    _make_addresses_case,
    _make_tools_case,
    _make_history_case,
    _make_steps_case,
    _make_aliases_case,
    _make_small_calls_case,
    _make_large_calls_case,
    _make_small_reads_case,
    _make_large_reads_case,
    _make_failing_read_case,
    _make_grammar_case,
    _make_out_of_gas_case,
    _make_long_prompt_case,
    _make_long_answers_case,
    _make_warm_case,
)
"""Every attack, the refused ones first."""
