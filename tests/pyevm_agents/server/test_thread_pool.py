"""The thread pool: fairness among methods, stack size, and no lost threads."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError
from pyevm_agents.server.thread_pool import CallThreadPool
from tests.deadlines import HANG_SECONDS
from tests.serving import until

if TYPE_CHECKING:
    from eth.abc import ComputationAPI


class Held:
    """A call that runs until it is released."""

    def __init__(self, answer: bytes = b"") -> None:
        self.began = threading.Event()
        self.goes_on = threading.Event()
        self.answer = answer

    def __call__(self) -> bytes:
        self.began.set()
        assert self.goes_on.wait(HANG_SECONDS)
        return self.answer

    async def has_begun(self) -> bool:
        return await asyncio.to_thread(self.began.wait, HANG_SECONDS)


def own_name() -> bytes:
    return threading.current_thread().name.encode()


def test_calls_run_in_threads_of_their_own() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=8, waiting=10)
        assert await pool.submit("a", lambda: None) is None
        names = set()
        for _ in range(5):
            names.add(await pool.submit("a", own_name))
        assert names == {b"pyevm-agents-call-0"}
        assert pool.running == 0
        assert pool.close() == 0

    asyncio.run(run())


def test_exceptions_come_back() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=8, waiting=10)
        with pytest.raises(ZeroDivisionError):
            await pool.submit("a", lambda: bytes(1 // 0))
        assert await pool.submit("a", lambda: b"x") == b"x"
        pool.close()

    asyncio.run(run())


def test_a_method_leaves_as_many_threads_as_it_takes() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=8, waiting=100)
        held = {method: [Held() for _ in range(8)] for method in "abcde"}
        futures = [pool.submit(method, call) for method in held for call in held[method]]

        def at_work() -> dict[str, int]:
            return {
                method: sum(call.began.is_set() for call in calls) for method, calls in held.items()
            }

        await until(lambda: sum(at_work().values()) >= 8)
        await asyncio.sleep(0.1)  # Time for more of them to start, which would be wrong.
        # One method gets half of the threads, the next one half of the rest.
        assert at_work() == {"a": 4, "b": 2, "c": 1, "d": 1, "e": 0}
        for calls in held.values():
            for call in calls:
                call.goes_on.set()
        await asyncio.gather(*futures)
        assert pool.running == 0
        pool.close()

    asyncio.run(run())


def test_a_flood_of_long_calls_leaves_room_for_short_ones() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=64, waiting=1_000)
        held = [Held() for _ in range(500)]
        futures = [pool.submit("eth_call", call) for call in held]
        for method in ("eth_getBalance", "eth_getCode", "eth_getLogs"):
            # Behind the held calls it would wait until they fail.
            assert await pool.submit(method, lambda: b"x") == b"x"
        for call in held:
            call.goes_on.set()
        await asyncio.gather(*futures)
        pool.close()

    asyncio.run(run())


def test_too_many_in_the_line() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=2, waiting=2)
        held = [Held() for _ in range(3)]
        futures = [pool.submit("a", call) for call in held]
        with pytest.raises(RpcError, match="too many waiting requests: at most 2") as caught:
            pool.submit("b", Held())
        assert caught.value.code == LIMIT_EXCEEDED
        for call in held:
            call.goes_on.set()
        await asyncio.gather(*futures)
        assert await pool.submit("b", lambda: b"x") == b"x"
        pool.close()

    asyncio.run(run())


def test_what_was_cancelled_in_the_line_does_not_run() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=2, waiting=10)
        first, second, third = Held(), Held(), Held(b"third")
        futures = [pool.submit("a", call) for call in (first, second, third)]
        futures[1].cancel()
        third.goes_on.set()
        first.goes_on.set()
        assert await futures[2] == b"third"
        assert not second.began.is_set()
        pool.close()

    asyncio.run(run())


def test_what_was_cancelled_at_work_goes_to_its_end() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=2, waiting=10)
        held = Held()
        future = pool.submit("a", held)
        assert await held.has_begun()
        future.cancel()
        assert pool.running == 1
        held.goes_on.set()
        assert await pool.submit("a", lambda: b"next") == b"next"
        pool.close()

    asyncio.run(run())


def test_the_end_cancels_the_line_and_counts_the_rest() -> None:
    async def run() -> None:
        pool = CallThreadPool(threads=2, waiting=10)
        held = [Held() for _ in range(3)]
        futures = [pool.submit("a", call) for call in held]
        assert await held[0].has_begun()
        assert pool.close() == 1
        assert [future.cancelled() for future in futures] == [False, True, True]
        held[0].goes_on.set()
        assert await futures[0] == b""

    asyncio.run(run())


def test_a_system_without_threads_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> None:
        pool = CallThreadPool(threads=8, waiting=10)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RpcError, match="can't start new thread"):
                await pool.submit("a", lambda: b"x")
        assert await pool.submit("a", lambda: b"x") == b"x"
        # The existing threads run the rest.
        held = Held()
        first = pool.submit("a", held)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            second = pool.submit("b", lambda: b"y")
        held.goes_on.set()
        assert (await first, await second) == (b"", b"y")
        pool.close()

    asyncio.run(run())


DEEP = Address(b"\xca" * 20)
CALLS_ITSELF = bytes.fromhex("5f5f5f5f5f305af100")
"""CALL(all gas, ADDRESS, nothing else), STOP."""

CREATES_ITSELF = bytes.fromhex("385f5f39385f5ff000")
"""CREATE of the code that runs, STOP."""


@pytest.mark.parametrize(
    "call",
    [Call(to=DEEP, gas=2**59), Call(to=None, data=CREATES_ITSELF, gas=2**59)],
    ids=["call", "create"],
)
def test_stacks_hold_the_deepest_calls_of_the_evm(call: Call) -> None:
    def depth() -> bytes:
        chain = Chain(
            ChainConfig(block_gas_limit=2**60),
            accounts={DEEP: GenesisAccount(code=CALLS_ITSELF, nonce=1)},
        )
        computation: ComputationAPI = chain.call(call).computation
        levels = 0
        while computation.children:
            computation = computation.children[0]
            levels += 1
        return str(levels).encode()

    async def run() -> None:
        pool = CallThreadPool(threads=2, waiting=10)
        assert await pool.submit("eth_call", depth) == b"1024"
        pool.close()

    asyncio.run(run())


def test_endless_recursion_is_an_exception() -> None:
    def through_c(_: int) -> bytes:
        # Each level is several C functions: of all tried, this uses the most stack.
        return b"".join(sorted([b"", b"x"], key=lambda _: through_c(0)))

    async def run() -> None:
        pool = CallThreadPool(threads=2, waiting=10)
        with pytest.raises(RecursionError):
            await pool.submit("a", lambda: through_c(0))
        pool.close()

    asyncio.run(run())
