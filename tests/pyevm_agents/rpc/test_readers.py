"""Parsers of trace parameters: any JSON is parsed, or rejected with its position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.methods.debug_state import parse_row_key, parse_slot_limit, parse_start_key
from pyevm_agents.rpc.methods.eth_call_many import parse_bundles, parse_state_context
from pyevm_agents.rpc.methods.ots import parse_page_size
from pyevm_agents.rpc.methods.trace_execute import parse_trace_types, parse_traced_calls
from pyevm_agents.rpc.methods.trace_mined import parse_call_criteria
from tests.pyevm_agents.rpc.contracts_to_trace import COUNTER, SENDER

if TYPE_CHECKING:
    from collections.abc import Callable

FITTING: list[object] = [
    *(
        "latest",
        "0x1",
        1,
        -1,
        "0x",
        "0x" + "11" * 32,
        "union",
        "trace",
        SENDER,
        [SENDER],
        ["trace"],
    ),
    {"from": SENDER, "to": COUNTER},
    [{"from": SENDER}, ["stateDiff"]],
    {"transactions": [{"to": COUNTER}]},
]
NAMES = st.sampled_from(
    [
        *("transactions", "blockOverride", "blockNumber", "transactionIndex", "fromBlock"),
        *("toBlock", "fromAddress", "toAddress", "after", "count", "mode", "number", "to", "data"),
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=70)
    | st.sampled_from(FITTING),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "read",
    [
        parse_bundles,
        parse_call_criteria,
        parse_page_size,
        parse_row_key,
        parse_slot_limit,
        parse_start_key,
        parse_state_context,
        parse_trace_types,
        parse_traced_calls,
    ],
)
@given(value=JSON)
def test_any_json_is_read_or_refused(read: Callable[[object, str], Any], value: object) -> None:
    refusals = []
    try:
        read(value, "it")
    except RpcError as error:
        refusals.append(error)
    assert all(one.code == -32602 for one in refusals)
    assert all(one.message.startswith("invalid params: it") for one in refusals)
