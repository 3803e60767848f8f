"""Every address and limit of the executor precompile, with its unit and its reason.

Prices are a chain's own: those of the executor's work in its `gas.GasSchedule`, those of tokens
in its models (`ModelProfile`), whose default ones are at the foot of this file. Gas is
charged in this order, each before the work it pays for: base and calldata bytes, metadata reads,
metadata bytes, tools and parameters, prompt tokens, output tokens.

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
"""Calldata of one call, in bytes. Some eight times the context of the default model.

Measured (`benchmarks/reports`, times a gas of an ERC-20 transfer by default prices): of 18 texts
the one that tokenises slowest is refused, at 64 KiB, at 5 to 8 times; addresses with wrong
checksums at 2. Calls with a byte too much, refused before they are charged, take 20 to 60 times,
more than half of it for the EVM's own copying. A whole context that is read takes 70 times as long
a gas, calls with 1 MiB of memory 100 to 120."""

MAX_METADATA_BYTES = 16_384
"""Return data of one metadata read, in bytes: room for a long description, no more.

Measured (`large-reads`): four reads of this size, of control characters, are refused at 3 to 4
times the time a gas of an ERC-20 transfer."""

MAX_TOOLS = 64
"""Tools of one call. More would not fit a small model's context, nor its attention.

Measured (`small-reads`, `tools`): reading this many that say nothing takes 0.7 to 0.9 times the
time a gas of an ERC-20 transfer, decoding 2,000 that are refused 0.7 to 1.2 times."""

MAX_PARAMETERS = 32
"""Parameters of one tool. Solidity functions end at 16 stack slots.

Measured: a list adds 0.1 ms (0.06 to 0.16) to a call, a number less than can be told; nothing to
a token's mask."""

MAX_NAME_BYTES = 64
"""A tool's or a parameter's name, in bytes of UTF-8: a name is short and meaningful.

Measured (`benchmarks/choices.py`): where 64 tools' names share all but their ends a choice of token
takes 0.4 ms and 4 at most, as with short ones; a token's evaluation takes 10 or more."""

MAX_NAME_CHARACTER = "\U0003ffff"
"""Last character a name may have. Beyond it none is assigned up to U+DFFFF, and the default model's
vocabulary lacks bytes of their UTF-8: it could not say such a name where the grammar wants it."""

MAX_ADDRESSES = 64
"""Addresses that one prompt gives handles to; later ones stay text.

Measured (`benchmarks/choices.py`): where this many branch at each letter a choice of token takes
0.5 ms and 5 at most, in free text 0.2. Only so many are looked for: a call with 1,500 whose
checksums are wrong is refused within 60 ms (`benchmarks/reports`)."""

MAX_HANDLE_CHARACTERS = 32
"""Length of a name that the base prompt gives an address."""

MAX_ARRAY_ITEMS = 64
"""Items of an array that a model writes.

Measured (`benchmarks/choices.py`): a choice of token within one takes 0.4 ms, 7 at most."""

MAX_THOUGHT_CHARACTERS = 240
"""Length of a thought. It ends a rambling thought well before `max_output_tokens` does."""

MAX_TEXT_CHARACTERS = 1_024
"""Length of a final answer, or of one string argument.

Measured (`benchmarks/choices.py`): where nothing but spaces is said, each token is held against all
of them, which takes up to 9 ms, about as long as its evaluation, and is paid as a token."""

MAX_REASON_BYTES = 1_024
"""Bytes of a failed read's own revert data that `ToolMetadataFailed` passes on."""

# -- warm prompt tokens -- #

PROMPT_BLOCK_TOKENS = 32
"""Prompt tokens are marked warm in blocks of this many, from the start of the prompt."""

WARM_PREFIXES = 4
"""Prefixes that are warm at once in a transaction: an agent, and agents nested three deep.

Measured (`warm`): asked in turn they take 0.3 times as long a gas as prompts that are read anew. A
host that keeps fewer in memory reads them again, at 60 times what they pay."""

# -- defaults of a model's configuration -- #

DEFAULT_COLD_PROMPT_TOKEN_GAS = 6_000
"""Gas a cold prompt token: 0.6 of an output token, as measured (`determinism.md`)."""

DEFAULT_WARM_PROMPT_TOKEN_GAS = 100
"""Gas a warm prompt token: the price of a warm access (EIP-2929)."""

DEFAULT_OUTPUT_TOKEN_GAS = 10_000
"""Gas an output token: a five-step wallet run then fits a block of 30 million gas."""

DEFAULT_MAX_OUTPUT_TOKENS = 512
"""Output tokens of one generation: the longest thought and the longest answer, tokenised."""
