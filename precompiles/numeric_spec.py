"""The address and the limits of the numeric models' precompile, with units and reasons.

Prices are part of the chain config: `numeric_gas.NumericGasSchedule`. Gas is charged in this order,
each before the work paid for: base and calldata bytes, then operations and output bytes.

Source: docs/architecture.md#executor-address, #gas-before-work.
"""

from __future__ import annotations

from eth_typing import Address

NUMERIC_MODELS_ADDRESS = Address(bytes(19) + b"\x1a")
"""The precompile's address, the one after the executor's."""

NUMERIC_MODELS_CODE = bytes.fromhex("63e7e23a9960e01b5f5260045ffd")
"""Code in the precompile's account: reverts with `ModelsUnavailable()`.

On a chain with numeric models it never runs. It makes `extcodesize` checks pass, and gives a reason
to contracts that execute locally without the precompile (a fork of the chain, forge script).
PUSH4 selector, PUSH1 224, SHL, PUSH0, MSTORE, PUSH1 4, PUSH0, REVERT.
"""

# -- limits: checked before parsing and charging -- #

MAX_NUMERIC_CALLDATA_BYTES = 65_536
"""Upper bound of the calldata of one call, in bytes, as the executor's: room for the most inputs.
A call with one byte more reverts before any charge, and takes as long at either precompile."""

# -- limits of a model: checked when a chain config is built -- #

MAX_NUMERIC_INPUTS = 1_024
"""Upper bound of the input numbers of a model. Their calldata, at most 33 KiB, is within
`MAX_NUMERIC_CALLDATA_BYTES` under each model ID, so that every model can be called."""

MAX_NUMERIC_OUTPUTS = 1_024
"""Upper bound of the output numbers of a model. `describeModel` returns a word for the decimals of
each input and output: at most 66 KiB, which 1.1 million gas pay for."""
