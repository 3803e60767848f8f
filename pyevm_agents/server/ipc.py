"""IPC connections: JSON-RPC over a Unix socket, as geth's and anvil's.

Messages follow one another with or without a line break. A client may send any JSON value; the
answers are one line each.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.rpc.errors import INVALID_REQUEST, RpcError
from pyevm_agents.rpc.request import encode_error
from pyevm_agents.server.client_socket import MESSAGES_AT_A_TIME, ClientSocket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from pyevm_agents.rpc.dispatcher import Dispatcher
    from pyevm_agents.server.options import ServerOptions
    from pyevm_agents.server.thread_pool import CallThreadPool

READ_BYTES = 1 << 16
OWN_SOCKET = 0o600
"""Mode of the socket: whoever may write to it controls the node."""

STRUCTURE = re.compile(rb'[][{}"\n]')
IN_STRING = re.compile(rb'["\\]')


class JsonSplitter:
    """Splits a stream of bytes into JSON documents."""

    def __init__(self, most_bytes: int) -> None:
        """Start at the beginning of a document. Input: upper bound of a document in bytes."""
        self._most_bytes = most_bytes
        self._buffer = bytearray()
        self._at = self._depth = 0
        self._is_in_string = False

    def split(self, data: bytes) -> list[bytes]:
        """Add bytes; return the completed documents.

        An object or array ends with the last bracket, anything else with the line.
        Raises: ValueError: a document exceeds the limit.
        """
        self._buffer += data
        documents: list[bytes] = []
        while (end := self._find_end()) is not None:
            if document := bytes(self._buffer[:end]).strip():
                documents.append(document)
            del self._buffer[:end]
            self._at = 0
        if len(self._buffer) > self._most_bytes:
            raise ValueError(f"message too large: at most {self._most_bytes:,} bytes")
        return documents

    def _find_end(self) -> int | None:
        """Return the end of the first document; None if incomplete."""
        while True:
            pattern = IN_STRING if self._is_in_string else STRUCTURE
            match = pattern.search(self._buffer, self._at)
            if match is None:
                self._at = len(self._buffer)
                return None
            found, end = match.group(), match.end()
            if found == b"\\":
                if end == len(self._buffer):  # The escaped byte is not there yet.
                    self._at = match.start()
                    return None
                end += 1
            self._at = end
            if self._ends_document(found):
                return end

    def _ends_document(self, found: bytes) -> bool:
        if found == b'"':
            self._is_in_string = not self._is_in_string and self._depth > 0
        elif found in b"[{":
            self._depth += 1
        elif found in b"]}":
            self._depth = max(0, self._depth - 1)
            return not self._depth
        return found == b"\n" and not self._depth


class IpcSocket(ClientSocket):
    """An IPC connection."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        threads: CallThreadPool,
        options: ServerOptions,
        writer: asyncio.StreamWriter,
    ) -> None:
        super().__init__("ipc", dispatcher, threads, options)
        self._writer = writer

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Serve the connection until either side closes."""
        sender = asyncio.create_task(self._write())
        splitter = JsonSplitter(self._options.limits.body_bytes)
        taken = 0
        try:
            while data := await reader.read(READ_BYTES):
                for message in splitter.split(data):
                    self._receive(message)
                    taken += 1
                    if taken % MESSAGES_AT_A_TIME == 0:
                        await asyncio.sleep(0)
        except ConnectionError:
            pass
        except ValueError as error:  # Where the next message begins is unknown.
            await self._transmit(encode_error(None, RpcError(INVALID_REQUEST, str(error))))
        finally:
            self._end()
            sender.cancel()
            self._writer.close()

    async def _transmit(self, data: bytes) -> None:
        self._writer.write(data + b"\n")
        await self._writer.drain()

    async def _close(self) -> None:
        self._writer.close()

    def _drop(self) -> None:
        self._writer.transport.abort()


async def listen_ipc(
    path: Path, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
) -> asyncio.Server:
    """Listen on a Unix socket that only the owner can open.

    Raises: ConfigError: the path is another file, or in use.
    """
    _remove_abandoned(path)
    mask = os.umask(0o777 & ~OWN_SOCKET)
    try:
        return await asyncio.start_unix_server(serve, path)
    except OSError as error:
        raise ConfigError(f"IPC socket {path}: {error.strerror or error}; pass another") from error
    finally:
        os.umask(mask)


def _remove_abandoned(path: Path) -> None:
    """Remove a socket that a killed node left.

    Raises: ConfigError: not a socket, or a process listens there.
    """
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return
    if not is_socket:
        raise ConfigError(f"IPC socket {path}: is another file; pass another path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            raise ConfigError(f"IPC socket {path}: {error.strerror}; pass another") from error
    raise ConfigError(f"IPC socket {path}: another process listens on it; pass another path")
