"""An engine process that can trigger an assertion of llama.cpp.

Tests of the engine's faults start it in place of `models/llama/worker.py`.
"""

# ruff: noqa: SLF001 - it does from inside what the outside can't
from __future__ import annotations

from typing import TYPE_CHECKING

import llama_cpp

from pyevm_agents.models.llama import worker
from pyevm_agents.models.llama.build_profile import BATCH_TOKENS

if TYPE_CHECKING:
    from pyevm_agents.models.engine_messages import EngineReply, EngineRequest


def oversized(self: worker.EngineWorker, _request: EngineRequest) -> EngineReply:
    """Hand llama.cpp more tokens at once than its context was made for."""
    context = self._require_context()
    context.forget()
    count = BATCH_TOKENS + 1
    batch = llama_cpp.llama_batch_init(count, 0, 1)
    batch.n_tokens = count
    for index in range(count):
        batch.token[index] = 5
        batch.pos[index] = index
        batch.n_seq_id[index] = 1
        batch.seq_id[index][0] = 0
        batch.logits[index] = False
    llama_cpp.llama_decode(context._context, batch)  # What no method of a context would do.
    return {}


if __name__ == "__main__":
    worker.OPERATIONS = {**worker.OPERATIONS, "oversized": oversized}
    worker.main()
