"""Round trip of messages over a pipe, for all splits of the data."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.models.engine_messages import (
    EngineReply,
    EngineRequest,
    read_reply,
    read_request,
    write_message,
)


@pytest.mark.parametrize("buffering", [0, -1])
@given(text=st.text(), tokens=st.lists(st.integers(0, 2**31 - 1)), gap=st.floats(0, 1e9))
def test_messages_come_back(buffering: int, text: str, tokens: list[int], gap: float) -> None:
    reply = EngineReply(
        text=text,
        tokens=tokens,
        margin={"gap": gap, "token_index": 3, "chosen": text, "other": "b"},
    )
    reading, writing = os.pipe()
    with open(reading, "rb", buffering) as replies, open(writing, "wb", buffering) as stream:  # noqa: PTH123 - no paths
        write_message(stream, reply)
        write_message(stream, EngineReply(text="next"))
        assert read_reply(replies) == reply
        assert read_reply(replies) == {"text": "next"}


def test_a_message_larger_than_a_pipe_comes_in_pieces() -> None:
    request = EngineRequest(operation="text", tokens=list(range(200_000)))
    reading, writing = os.pipe()
    with open(reading, "rb", 0) as requests, open(writing, "wb", 0) as stream:  # noqa: PTH123 - no paths
        sender = threading.Thread(target=write_message, args=(stream, request))
        sender.start()
        assert read_request(requests) == request
        sender.join()


@pytest.mark.parametrize("count", [0, 3, 4, 10])
def test_a_message_that_breaks_off_is_none(count: int) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", 0) as replies:  # noqa: PTH123 - no path
        os.write(writing, b"\0\0\0\x20" + b'{"text": "a"}'[: max(0, count - 4)] if count else b"")
        os.close(writing)
        assert read_reply(replies) is None
