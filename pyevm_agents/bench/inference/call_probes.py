"""Probes of whole precompile calls, with a model that answers without computing.

The model tokenises the prompt and compiles the grammar in the engine's process, as usual, and
returns a fixed answer. The EVM's own share is measured separately, by calls with similar calldata
to an account without code. Metadata reads include all work of the EVM.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address
from eth_utils import to_checksum_address

from precompiles.abi import RUN_NEXT_ITERATION_SELECTOR, ParamDescription, ParamType
from precompiles.language_model import Generation, GenerationRequest, Segment
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.bench.inference.probe import ProbeCase
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.texts import OrdinaryText
from pyevm_agents.bench.measurement.tool_contracts import build_tool_code
from pyevm_agents.bench.measurement.usage import (
    READS_OF_TOOL,
    Usage,
    count_usage,
    iter_executor_calls,
)
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.errors import EngineFault
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.models import CachingModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.language_model import LanguageModel
    from pyevm_agents.bench.inference.probe import ProbeSample
    from pyevm_agents.chain import CallResult
    from pyevm_agents.models import LlamaModel, ProfileFacts

ANSWER = " Done.\nFinal Answer: Done."
FIRST_TOOL, FIRST_HANDLE = 0x70_01, 0xA0_00_00_00_01
ABSENT_ACCOUNT = Address(bytes(19) + b"\xee")
"""Addresses of the probes' accounts, and an address without an account."""

BLOCK_GAS = 1_000_000_000
"""Gas of a call: enough for every probe at the default prices."""

ARRAYS = "arrays"
"""Detail of parameters: arrays, whose grammars compile slowest."""

SPELLED = "spelled"
"""Detail of bytes: they spell control tokens, which are split before tokenisation."""

REMEMBERED, OF_NOBODY = "remembered", "of nobody"
"""Details of calls: a remembered generation; a call to an account without code."""

PARTS_OF_TEXT = (12, 3, 1)
"""Base prompts: 1/12, 1/3 and all of the text that is sure to fit the model's context."""

BYTES_OF_TOKEN = 3
"""Bytes of an ordinary token; English has more."""

TOKENS_OF_TOOL, TOKENS_OF_PARAMETER = 20, 16
"""Upper bounds on the prompt tokens of a tool and of a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """A number of identical tools."""

    tools: int
    parameters: int = 0
    """Parameters of each tool."""

    param_type: ParamType = ParamType.UINT
    is_refused: bool = False
    """Whether the first tool is repeated at the end: the executor reads all tools, then refuses the
    call.
    """

    @property
    def words(self) -> str:
        """A description for people."""
        if self.is_refused:
            return f"{self.tools} tools read and refused"
        kind = "lists" if self.is_arrays else "parameters"
        return f"{self.tools} tools of {self.parameters} {kind}"

    @property
    def term(self) -> str:
        """The term that the probe isolates."""
        if self.is_refused:
            return "read"
        return "parameter" if self.parameters else "tool"

    @property
    def is_arrays(self) -> bool:
        """Whether the parameters are arrays."""
        return self.param_type >= ParamType.STRING_ARRAY

    @property
    def prompt_tokens(self) -> int:
        """The prompt's length, or slightly less."""
        return self.tools * (TOKENS_OF_TOOL + self.parameters * TOKENS_OF_PARAMETER)


NO_TOOLS = ToolSet(tools=0)
TOOL_SETS = (
    NO_TOOLS,
    ToolSet(tools=8),
    ToolSet(tools=64),
    ToolSet(tools=8, parameters=4),
    ToolSet(tools=8, parameters=32),
    ToolSet(tools=24, parameters=8),
    ToolSet(tools=8, parameters=4, param_type=ParamType.INT_ARRAY),
    ToolSet(tools=8, parameters=16, param_type=ParamType.INT_ARRAY),
    ToolSet(tools=8, parameters=32, param_type=ParamType.INT_ARRAY),
    ToolSet(tools=24, parameters=8, param_type=ParamType.STRING_ARRAY),
    ToolSet(tools=1, is_refused=True),
    ToolSet(tools=15, is_refused=True),
    ToolSet(tools=63, is_refused=True),
)
"""Tool sets that fit the default model's context."""


class InstantModel:
    """A model that answers without evaluating anything. Implements `LanguageModel`."""

    def __init__(self, model: LlamaModel) -> None:
        """Tokenise and compile grammars in the engine of `model`."""
        self._model = model
        self._tokens = model.tokenize((Segment(text=ANSWER),))

    @property
    def profile_facts(self) -> ProfileFacts:
        """The profile of the wrapped model."""
        return self._model.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self._model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Compile the grammar and return an answer.

        The engine generates one token, which a literal before the grammar forces: there is nothing
        to evaluate.
        """
        grammar = request.grammar.replace("start: ", 'start: "Answer" ', 1)
        first = request.prompt_tokens[:1]
        self._model.generate(
            GenerationRequest(segments=(), prompt_tokens=first, grammar=grammar, max_tokens=1)
        )
        return Generation(text=ANSWER, tokens=self._tokens, forced_tokens=0, is_complete=True)


class CallProbes:
    """Probe cases on a chain with tools of every kind."""

    def __init__(self, model: LlamaModel) -> None:
        """Create the chain."""
        facts = model.profile_facts
        self._profile = build_measured_profile(facts)
        self._room_tokens = self._profile.context_tokens - self._profile.max_output_tokens
        self._text = OrdinaryText(model)
        self._serial = itertools.count(1)
        self._fingerprint = facts.fingerprint
        self._accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
        self._placed = {tools: self._place(index, tools) for index, tools in enumerate(TOOL_SETS)}
        at_once = InstantModel(model)
        self._chain = self._create_chain(at_once)
        self._remembering_chain = self._create_chain(
            CachingModel(at_once, digest=facts.digest, fingerprint=facts.fingerprint)
        )

    def build_cases(self) -> dict[str, ProbeCase]:
        """Return every case that fits the model's context."""
        cases = {
            "a call": ProbeCase(term="call", sample=partial(self._sample, NO_TOOLS)),
            "a call that is remembered": ProbeCase(
                term="call", sample=self._sample_cached, detail=REMEMBERED
            ),
        }
        most = self._room_tokens * BYTES_OF_TOKEN
        sizes = [most // part for part in PARTS_OF_TEXT]
        for size in sizes:
            cases[f"{size:,} bytes of prompt"] = ProbeCase(
                term="byte", sample=partial(self._sample_text, size)
            )
        cases["control tokens spelled out"] = ProbeCase(
            term="byte",
            sample=partial(self._sample, NO_TOOLS, self._repeat_control_tokens()),
            detail=SPELLED,
        )
        cases["a call of nobody"] = ProbeCase(
            term="call", sample=self._sample_absent_account, detail=OF_NOBODY
        )
        for tools in TOOL_SETS[1:]:
            if tools.prompt_tokens <= self._room_tokens:
                cases[tools.words] = ProbeCase(
                    term=tools.term,
                    sample=partial(self._sample, tools),
                    detail=ARRAYS if tools.is_arrays else "",
                )
        return cases

    def warm_up(self) -> None:
        """Make one call: the first call of a process is slower."""
        self._sample(NO_TOOLS)

    def _place(self, index: int, tool_set: ToolSet) -> list[Address]:
        """Put tools into genesis; return the addresses that a call names."""
        tools = [
            _make_address((FIRST_TOOL + index) << 16 | number) for number in range(tool_set.tools)
        ]
        parameters = [
            ParamDescription(param_type=tool_set.param_type, name=f"part{number}", description="")
            for number in range(tool_set.parameters)
        ]
        for number, tool in enumerate(tools):
            code = build_tool_code(f"Tool{number}", "Does its part", parameters)
            self._accounts[tool] = GenesisAccount(code=code)
        return [*tools, tools[0]] if tool_set.is_refused else tools

    def _create_chain(self, model: LanguageModel) -> Chain:
        config = ChainConfig(
            models=(self._profile,),
            profile_fingerprint=self._fingerprint,
            block_gas_limit=BLOCK_GAS,
        )
        return Chain(config, {self._profile.name: model}, accounts=self._accounts)

    def _sample_text(self, text_bytes: int) -> ProbeSample:
        return self._sample(NO_TOOLS, self._text.draw_words(text_bytes // 3)[:text_bytes])

    def _repeat_control_tokens(self) -> str:
        """Return the chat template's literals, repeated up to a length that is sure to fit."""
        literals = self._profile.chat_prefix + self._profile.chat_middle + self._profile.chat_suffix
        return (literals * self._room_tokens)[: self._room_tokens // 2]

    def _sample(self, tool_set: ToolSet, text: str = "") -> ProbeSample:
        """Call the precompile.

        Raises: EngineFault: the call ended in another way than the probe intends.
        """
        data = self._encode_calldata(self._placed[tool_set], text)
        seconds, result = self._time_call(self._chain, EXECUTOR_ADDRESS, data)
        if (result.error is None) is tool_set.is_refused:
            raise EngineFault(
                f"The probe of {tool_set.words} ended with {result.error!r}, which is not what it "
                "is made for; report it"
            )
        usage = self._count_usage(result, data)
        if tool_set.is_refused:  # It was not charged for tools that it read.
            (call,) = iter_executor_calls(result.computation)
            usage = replace(usage, tools=len(call.children) // READS_OF_TOOL)
        return seconds, usage

    def _sample_cached(self) -> ProbeSample:
        """Repeat a call on a chain that remembers the generation."""
        data = self._encode_calldata(self._placed[NO_TOOLS])
        self._time_call(self._remembering_chain, EXECUTOR_ADDRESS, data)
        seconds, result = self._time_call(self._remembering_chain, EXECUTOR_ADDRESS, data)
        return seconds, self._count_usage(result, data)

    def _sample_absent_account(self) -> ProbeSample:
        """Call an account without code."""
        data = self._encode_calldata(self._placed[NO_TOOLS])
        seconds, result = self._time_call(self._chain, ABSENT_ACCOUNT, data)
        return seconds, Usage(evm_gas=result.gas_used)

    def _count_usage(self, result: CallResult, data: bytes) -> Usage:
        """Return the usage of a call, less the gas of a call to an account without code."""
        _, beside = self._time_call(self._chain, ABSENT_ACCOUNT, data)
        return replace(count_usage(result.computation), evm_gas=beside.gas_used)

    def _time_call(self, chain: Chain, to: Address, data: bytes) -> tuple[float, CallResult]:
        call = Call(to=to, sender=DEVELOPMENT_ADDRESS, data=data)
        started = time.perf_counter()
        result = chain.call(call)
        return time.perf_counter() - started, result

    def _encode_calldata(self, tools: Sequence[Address], text: str = "") -> bytes:
        """Return calldata with a unique handle: no two grammars are equal."""
        number = next(self._serial)
        handle = f"WALLET{number} = {to_checksum_address(_make_address(FIRST_HANDLE + number))}\n"
        types = ["string", "string", "address[]", "string[]", "string[]", "string"]
        values = [ALIASES[0], handle + text, list(tools), [], [], "What now?"]
        return RUN_NEXT_ITERATION_SELECTOR + encode(types, values)


def _make_address(number: int) -> Address:
    return Address(number.to_bytes(20, "big"))
