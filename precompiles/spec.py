"""Every address, limit and price of the executor precompile, with its unit and its reason.

Prices of tokens are per model and live in the chain's configuration (`ports.ModelProfile`);
the default ones are at the foot of this file. Gas is charged in this order, each before the work
it pays for: base and calldata bytes, metadata reads, metadata bytes, tools and parameters, prompt
tokens, output tokens.

Source: `architecture.md`, decisions 2, 6, 7 and 8; EIP-150, EIP-2929, EIP-1153.
"""

from __future__ import annotations

from eth_typing import Address

EXECUTOR_ADDRESS = Address(bytes(19) + b"\x19")
"""Where the precompile lives: the address that the ERC's own `WalletAgent` uses."""

EXECUTOR_CODE = bytes.fromhex("63a792438560e01b5f5260045ffd")
"""Code in the executor's account: reverts with `ExecutorUnavailable()`.

On a chain with the executor it never runs. It makes `extcodesize` checks pass, and where a tool
executes locally without the precompile (a fork of our chain, forge script) it says why nothing
answers. PUSH4 selector, PUSH1 224, SHL, PUSH0, MSTORE, PUSH1 4, PUSH0, REVERT.
"""

# -- limits: checked before anything is parsed or charged for -- #

MAX_CALLDATA_BYTES = 65_536
"""Calldata of one call, in bytes. Some eight times the context of the default model."""

MAX_METADATA_BYTES = 16_384
"""Return data of one metadata read, in bytes: room for a long description, no more."""

MAX_TOOLS = 64
"""Tools of one call. More would not fit a small model's context, nor its attention."""

MAX_PARAMETERS = 32
"""Parameters of one tool. Solidity functions end at 16 stack slots."""

MAX_NAME_BYTES = 64
"""A tool's or a parameter's name, in bytes of UTF-8: a name is short and meaningful."""

MAX_NAME_CHARACTER = "\U0003ffff"
"""Last character a name may have. Beyond it none is assigned up to U+DFFFF, and the default model's
vocabulary lacks bytes of their UTF-8: it could not say such a name where the grammar wants it."""

MAX_ADDRESSES = 64
"""Addresses that one prompt gives handles to; later ones stay text."""

MAX_HANDLE_CHARACTERS = 32
"""Length of a name that the base prompt gives an address."""

MAX_ARRAY_ITEMS = 64
"""Items of an array that a model writes."""

MAX_THOUGHT_CHARACTERS = 240
"""Length of a thought. It ends a rambling thought well before `max_output_tokens` does."""

MAX_TEXT_CHARACTERS = 1_024
"""Length of a final answer, or of one string argument."""

MAX_REASON_BYTES = 1_024
"""Bytes of a failed read's own revert data that `ToolMetadataFailed` passes on."""

# -- gas -- #

EXECUTOR_BASE_GAS = 3_000
"""Gas of any call that is not refused for its kind or size: that of `ecrecover`."""

INPUT_BYTE_GAS = 16
"""Gas a byte of calldata or of metadata: decoding, escaping, tokenising. Calldata's own price."""

METADATA_READ_GAS = 2_000_000
"""Gas that one metadata read may burn. 16 KiB read from cold storage cost 1.1 million."""

TOOL_GAS = 5_000
"""Gas a tool: its lines in the prompt and its alternative in the grammar, compiled."""

PARAMETER_GAS = 2_000
"""Gas a parameter: the same for its line and its rule."""

# -- warm prompt tokens -- #

PROMPT_BLOCK_TOKENS = 32
"""Prompt tokens are marked warm in blocks of this many, from the start of the prompt."""

WARM_PREFIXES = 4
"""Prefixes that are warm at once in a transaction: an agent, and agents nested three deep."""

# -- defaults of a model's configuration -- #

DEFAULT_COLD_PROMPT_TOKEN_GAS = 6_000
"""Gas a cold prompt token: 0.6 of an output token, as measured (`determinism.md`)."""

DEFAULT_WARM_PROMPT_TOKEN_GAS = 100
"""Gas a warm prompt token: the price of a warm access (EIP-2929)."""

DEFAULT_OUTPUT_TOKEN_GAS = 10_000
"""Gas an output token: a five-step wallet run then fits a block of 30 million gas."""

DEFAULT_MAX_OUTPUT_TOKENS = 512
"""Output tokens of one generation: the longest thought and the longest answer, tokenised."""


def calldata_gas(size_bytes: int) -> int:
    """Return the gas of taking in a call of `size_bytes` bytes of calldata."""
    return EXECUTOR_BASE_GAS + INPUT_BYTE_GAS * size_bytes


def grammar_gas(tool_count: int, parameter_count: int) -> int:
    """Return the gas of putting tools with that many parameters in all into prompt and grammar."""
    return TOOL_GAS * tool_count + PARAMETER_GAS * parameter_count
