"""Consensus of the numeric models at 0x1a: reverts, results, prices, limits and addresses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eth.vm.message import Message
from eth_utils import to_checksum_address

from precompiles import numeric_abi, numeric_spec
from precompiles.errors import NUMERIC_REFUSALS, error_selector
from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE
from pyevm_agents.config import ChainConfig
from tests.chain_bench import OWNER
from tests.numeric_model import (
    MODELS,
    RUN_MODEL,
    SumModel,
    describe_call,
    make_numeric_bench,
    profile_of,
    run_call,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.models import Vocabulary

GAS = 100_000
DIGEST = "0x" + SumModel().digest.hex()
CALLS = {
    "run by name": run_call((50, 7, -3)),
    "run by digest": run_call((50, 7, -3), DIGEST),
    "run with bytes after": run_call((50, 7, -3)) + b"after",
    "describe by name": describe_call(),
    "describe by digest": describe_call(DIGEST),
    "empty": b"",
    "unknown selector": b"\x01\x02\x03",
    "selector alone": RUN_MODEL,
    "cut": run_call((50, 7, -3))[:-1],
    "shared bytes": RUN_MODEL + (64).to_bytes(32, "big") * 2 + bytes(32),
    "padding": run_call((50, 7, -3)).replace(b"sum\0", b"sum!"),
    "not UTF-8": run_call((50, 7, -3)).replace(b"sum", b"su\xff"),
    "unknown model": run_call((50, 7, -3), "other"),
    "two inputs": run_call((50, 7)),
    "out of range": run_call((50, 7, 2**63)),
    "over 64 KiB": bytes(65_537),
}


def collect_numeric(_vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return everything of the rules of numeric models that decides about blocks."""
    config = ChainConfig(numeric_models=(profile_of(SumModel()),))
    return {
        "address": to_checksum_address(numeric_spec.NUMERIC_MODELS_ADDRESS),
        "code of its account": "0x" + numeric_spec.NUMERIC_MODELS_CODE.hex(),
        "errors": {
            name: {
                "signature": f"{name}({','.join(types)})",
                "selector": "0x" + error_selector(name).hex(),
            }
            for name, types in NUMERIC_REFUSALS.items()
        },
        "selectors": {
            "runModel": "0x" + numeric_abi.RUN_MODEL_SELECTOR.hex(),
            "describeModel": "0x" + numeric_abi.DESCRIBE_MODEL_SELECTOR.hex(),
        },
        "genesis": {
            "form": json.loads(config.to_json()),
            "digest": "0x" + config.digest.hex(),
            "hash": "0x" + make_numeric_bench().chain.head.hash.hex(),
        },
        "schedule": {
            "gas of 1000 bytes of calldata": DEFAULT_NUMERIC_SCHEDULE.calldata_gas(1_000),
            "gas of 1000 bytes of output": DEFAULT_NUMERIC_SCHEDULE.output_gas(1_000),
            "gas of 1001 operations": DEFAULT_NUMERIC_SCHEDULE.operation_gas(1_001),
        },
        "calls": {name: _call(data) for name, data in CALLS.items()},
    }


def _call(data: bytes) -> Mapping[str, object]:
    """Return the outcome of a call in a frame of its own, without intrinsic gas."""
    state = make_numeric_bench().chain.state()
    message = Message(gas=GAS, to=MODELS, sender=OWNER, value=0, data=data, code=b"")
    context = state.get_transaction_context_class()(gas_price=0, origin=OWNER)
    computation = state.computation_class.apply_message(state, message, context)
    error = computation.error if computation.is_error else None
    return {
        "outcome": "success" if error is None else type(error).__name__,
        "output": "0x" + computation.output.hex(),
        "gas": computation.get_gas_used(),
    }
