"""Serializers of a transaction's calls with names of contracts, functions, events and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from eth_abi.grammar import ABIType, BasicType, TupleType, parse
from eth_utils import to_checksum_address

from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS, SELECTOR_BYTES
from pyevm_agents.abi.address_names import MAX_ADDRESSES
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.abi.values import decode_values, is_hashed_topic
from pyevm_agents.rpc.serializers import encode_data, encode_word
from pyevm_agents.tracing.call_names import assign_steps, get_precompile_name
from pyevm_agents.tracing.call_tracer import CREATIONS
from pyevm_agents.tracing.console_log import CONSOLE_ADDRESS, decode_console_line
from pyevm_agents.tracing.error_messages import REVERTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth_typing import Address

    from pyevm_agents.abi.values import Members
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing.budget import TraceBudget
    from pyevm_agents.tracing.call_names import CallNames
    from pyevm_agents.tracing.call_tracer import CallNode, CallTree
    from pyevm_agents.tracing.tracer import CallFrame, TracedLog

VALUE_BYTES = 100
"""Memory of a decoded value with its JSON form, without its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCalls:
    """Serializer of one transaction's calls. Collects the serialized addresses."""

    tree: CallTree
    names: CallNames
    budget: TraceBudget
    """Pays for decoded values: items of an array may share their bytes."""

    steps: dict[int, int]
    """Numbers of agents' steps by the identity of the executor's frames."""

    seen: dict[str, None] = field(default_factory=dict)
    """The checksummed addresses, in order."""

    @classmethod
    def build(
        cls, tree: CallTree, names: CallNames, step_count: int, budget: TraceBudget
    ) -> NamedCalls:
        """Return the serializer of a tree of calls.

        Input: the calls; their names; the number of the agents' steps; a budget.
        """
        steps = assign_steps(tree, range(1, step_count + 1))
        return cls(tree=tree, names=names, budget=budget, steps=steps)

    def serialize(self) -> Json | None:
        """Serialize the transaction's call, with inner calls nested; None without one."""
        forms: dict[int, Json] = {}
        for node, is_reverted in self.tree.walk_nodes():
            forms[id(node)] = self._serialize_call(node, is_reverted=is_reverted)
        for node, _ in self.tree.walk_nodes():
            forms[id(node)]["calls"] = [forms[id(call)] for call in node.calls]
        if self.tree.root is None:
            return None
        top = forms[id(self.tree.root)]
        # The transaction's gas includes what it pays for its data.
        top["gas"], top["gasUsed"] = self.tree.gas_limit, self.tree.gas_used
        return top

    def find_names(self, handles: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the names of the addresses seen until now, by checksummed address.

        Input: (handle, checksummed address) of the agents' prompts.
        """
        found = self.names.names.find_names([], handles)
        for address in islice(self.seen, MAX_ADDRESSES):
            account = bytes.fromhex(address[2:])
            name = get_precompile_name(account) or self.names.find_name(account)  # type: ignore[arg-type]
            if name is not None:
                found.setdefault(address, name)
        return found

    def encode_address(self, address: Address) -> str:
        """Encode an address with the checksum, and collect it."""
        text = str(to_checksum_address(address))
        self.seen.setdefault(text)
        return text

    # -- calls -- #

    def _serialize_call(self, node: CallNode, *, is_reverted: bool) -> Json:
        frame = node.frame
        function, arguments = self._serialize_input(frame)
        is_created = frame.kind not in CREATIONS or frame.error is None
        return {
            "type": frame.kind,
            "from": self.encode_address(frame.sender),
            "to": self.encode_address(frame.to) if is_created and frame.to else None,
            "value": None if frame.value_wei is None else str(frame.value_wei),
            "gas": frame.gas,
            "gasUsed": frame.gas_used,
            "contract": self._find_contract(frame),
            "function": function,
            "arguments": arguments,
            "input": encode_data(frame.input),
            "output": encode_data(frame.output),
            "result": self._serialize_output(frame),
            "error": frame.error,
            "reason": self._explain(frame),
            "isReverted": is_reverted,
            "logs": [
                {**self._serialize_log(self.tree.logs[index], frame), "position": calls_before}
                for index, calls_before in node.logs
            ],
            "step": self.steps.get(id(frame)),
            "calls": [],
        }

    def _find_contract(self, frame: CallFrame) -> str | None:
        if frame.kind in CREATIONS:
            return None if frame.error else self.names.names.known.find_name(frame.output)
        return get_precompile_name(frame.to) or self.names.find_name(frame.to)

    def _serialize_input(self, frame: CallFrame) -> tuple[str | None, list[Json] | None]:
        """Return the function's name and arguments; None where unknown."""
        if frame.kind in CREATIONS or get_precompile_name(frame.to) is not None:
            return None, None
        if frame.to == CONSOLE_ADDRESS:
            line = decode_console_line(frame.input)
            return "log", None if line is None else [self._serialize_value("", "string", line)]
        function = self.names.find_function(frame)
        if function is None:
            return None, None
        values = decode_values(function.types, frame.input[SELECTOR_BYTES:])
        if values is None:
            return function.name, None
        return function.name, self._serialize_values(
            function.argument_names, function.types, values, function.argument_members
        )

    def _serialize_output(self, frame: CallFrame) -> list[Json] | None:
        if frame.error is not None or frame.kind in CREATIONS or not frame.output:
            return None
        function = self.names.find_function(frame)
        if function is None or not function.output_types:
            return None
        values = decode_values(function.output_types, frame.output)
        if values is None:
            return None
        return self._serialize_values(
            function.output_names, function.output_types, values, function.output_members
        )

    def _explain(self, frame: CallFrame) -> str | None:
        """Return the reason of a failed call as text; None if successful."""
        if frame.error != REVERTED:
            return frame.error
        precompiles = {EXECUTOR_ADDRESS, NUMERIC_MODELS_ADDRESS}
        is_contract = frame.kind not in CREATIONS and frame.to not in precompiles
        codes = [self.names.names.get_code(frame.to)] if is_contract else []
        return decode_revert(frame.output, self.names.names.known, codes=codes)

    def _serialize_log(self, entry: TracedLog, frame: CallFrame) -> Json:
        decoded = self.names.decode_log(entry, frame)
        arguments: list[Json] | None = None
        if decoded is not None:
            event, values = decoded
            # A topic of a dynamic type is the hash of the value.
            types = [
                "bytes32" if is_topic and is_hashed_topic(text) else text
                for text, is_topic in zip(event.types, event.indexed, strict=True)
            ]
            arguments = self._serialize_values(
                event.argument_names, types, values, event.argument_members
            )
        return {
            "address": self.encode_address(entry.address),
            "name": None if decoded is None else decoded[0].name,
            "arguments": arguments,
            "topics": [encode_word(topic) for topic in entry.topics],
            "data": encode_data(entry.data),
        }

    # -- values -- #

    def _serialize_values(
        self,
        labels: Sequence[str],
        types: Sequence[str],
        values: Sequence[object],
        members: Sequence[Members] = (),
    ) -> list[Json]:
        return [
            self._serialize_value(label, text, value, own)
            for label, text, value, own in zip(
                labels, types, values, members or [()] * len(types), strict=True
            )
        ]

    def _serialize_value(
        self, label: str, abi_type: str, value: object, members: Members = ()
    ) -> Json:
        kind = parse(abi_type)
        form: Json = {"name": label, "type": abi_type, "value": self._encode(kind, value)}
        components = self._serialize_components(kind, members)
        return form | ({"components": components} if components else {})

    def _serialize_components(self, kind: ABIType, members: Members) -> list[Json]:
        """Return the members of a tuple, or of an array's tuples, as in an ABI."""
        while kind.is_array:
            kind = kind.item_type
        # A hashed topic has the members of its argument, but no tuple.
        if not isinstance(kind, TupleType):
            return []
        forms: list[Json] = []
        for component, (name, own) in zip(kind.components, members, strict=True):
            self.budget.spend(VALUE_BYTES)
            inner = self._serialize_components(component, own)
            form: Json = {"name": name, "type": component.to_type_str()}
            forms.append(form | ({"components": inner} if inner else {}))
        return forms

    def _encode(self, kind: ABIType, value: object) -> str | list[object]:
        """Return a value as a string; an array or a tuple as a list."""
        self.budget.spend(VALUE_BYTES)
        if kind.is_array and isinstance(value, Sequence):
            return [self._encode(kind.item_type, item) for item in value]
        if isinstance(kind, TupleType) and isinstance(value, Sequence):
            parts = zip(kind.components, value, strict=True)
            return [self._encode(component, item) for component, item in parts]
        if isinstance(value, bytes):
            text = encode_data(value)
        elif isinstance(kind, BasicType) and kind.base == "address":
            text = self.encode_address(bytes.fromhex(str(value)[2:]))  # type: ignore[arg-type]
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
        self.budget.spend(len(text))
        return text
