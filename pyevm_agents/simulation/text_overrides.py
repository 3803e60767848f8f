"""A VM class in which the executor reads other texts: an agent's base prompt, a tool's metadata.

For simulations of a model's reaction to other words. No state changes: an agent still returns its
own base prompt, and every caller but the executor reads a tool's own metadata.

Gas is that of the new texts where the executor charges: calldata, metadata and prompt tokens. The
difference from a deployed text is the work of the contracts: a tool's read, and the agent's
encoding of the prompt, cost as much as with the old text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from eth_abi import encode

from precompiles.abi import (
    DESCRIPTION_SELECTOR,
    INPUT_DESCRIPTION_SELECTOR,
    NAME_SELECTOR,
    RUN_NEXT_ITERATION_SELECTOR,
    MalformedAbiError,
    Version,
    decode_input_description,
)
from precompiles.errors import Refusal
from precompiles.spec import EXECUTOR_ADDRESS
from precompiles.versions import (
    REQUEST_V1_TYPES,
    RUN_NEXT_ITERATION_V1_SELECTOR,
    decode_request,
)
from pyevm_agents.vm import AgentComputation, AgentState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from eth.abc import ComputationAPI, MessageAPI
    from eth_typing import Address

    from pyevm_agents.vm import AgentVM

REQUEST_TYPES = ("string", "string", "address[]", "string[]", "string[]", "string")
"""Types of the arguments of version 2: `precompiles.abi.decode_request`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOverride:
    """Texts of an agent or a tool. None: unchanged."""

    base_prompt: str | None = None
    name: str | None = None
    description: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of parameters by name; others are unchanged."""


def make_text_override_vm(
    vm_class: type[AgentVM], texts: Mapping[Address, TextOverride]
) -> type[AgentVM]:
    """Return a VM class in which the executor reads other texts.

    Input: the VM class to derive from; the texts by the address of the agent or the tool.
    """
    plain_state = vm_class._state_class  # noqa: SLF001 - as py-evm's `configure` does
    assert issubclass(plain_state, AgentState)  # noqa: S101 - as in every AgentVM
    computation_class = type(
        "RewordedComputation", (_RewordedMixin, plain_state.computation_class), {"texts": texts}
    )
    state_class = plain_state.configure(
        __name__="RewordedState", computation_class=computation_class
    )
    return vm_class.configure(__name__="RewordedVM", _state_class=state_class)


class _RewordedMixin(AgentComputation):
    texts: ClassVar[Mapping[Address, TextOverride]]
    remembers_reads = False

    def generate_child_computation(self, child_msg: MessageAPI) -> ComputationAPI:
        override = self.texts.get(child_msg.sender)
        if (
            override is not None
            and override.base_prompt is not None
            and child_msg.code_address == EXECUTOR_ADDRESS
        ):
            child_msg.data = _replace_base_prompt(bytes(child_msg.data), override.base_prompt)
        return super().generate_child_computation(child_msg)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        handled = super().__exit__(exc_type, exc_value, traceback)
        message = self.msg
        if message.sender == EXECUTOR_ADDRESS and message.is_static and not self.is_error:
            override = self.texts.get(message.storage_address)
            if override is not None:
                self.output = _replace_metadata(bytes(message.data), bytes(self.output), override)
        return handled


def _replace_base_prompt(calldata: bytes, base_prompt: str) -> bytes:
    """Return calldata of the executor with another base prompt; malformed calldata unchanged."""
    try:
        asked = decode_request(calldata)
    except Refusal:
        return calldata
    if asked.version is Version.FIRST:
        # The name is in no prompt. Leave it out: `asked` does not have it.
        texts = (asked.model_id, "", base_prompt, asked.tools, asked.agent_reasoning, asked.prompt)
        return RUN_NEXT_ITERATION_V1_SELECTOR + encode(REQUEST_V1_TYPES, texts)
    values = (
        *(asked.model_id, base_prompt, asked.tools),
        *(asked.agent_reasoning, asked.tool_results, asked.prompt),
    )
    return RUN_NEXT_ITERATION_SELECTOR + encode(REQUEST_TYPES, values)


def _replace_metadata(selector: bytes, output: bytes, override: TextOverride) -> bytes:
    """Return the output of a metadata function with other texts."""
    if selector == NAME_SELECTOR and override.name is not None:
        return encode(["string"], [override.name])
    if selector == DESCRIPTION_SELECTOR and override.description is not None:
        return encode(["string"], [override.description])
    if selector == INPUT_DESCRIPTION_SELECTOR and override.parameters:
        return _replace_descriptions(output, override.parameters)
    return output


def _replace_descriptions(output: bytes, descriptions: Mapping[str, str]) -> bytes:
    try:
        parameters = decode_input_description(output)
    except (MalformedAbiError, UnicodeDecodeError):
        return output
    values = [
        (int(each.param_type), each.name, descriptions.get(each.name, each.description))
        for each in parameters
    ]
    return encode(["((uint8,string,string)[])"], [(values,)])
