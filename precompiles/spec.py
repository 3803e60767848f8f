"""Every address and limit of the executor precompile, with unit and reason.

Prices are part of the chain config: of the executor's work in `gas.GasSchedule`, of tokens in
`ModelProfile`. The defaults of token prices are at the end of this file. Gas is charged in this
order, each before the work paid for: base and calldata bytes, metadata reads, metadata bytes, tools
and parameters, prompt tokens, output tokens.

Source: docs/architecture.md#executor-address, #gas-before-work, #warm-prompt-tokens,
#constrained-output; EIP-150, EIP-2929, EIP-1153.
"""

from __future__ import annotations

from eth_typing import Address

EXECUTOR_ADDRESS = Address(bytes(19) + b"\x19")
"""The precompile's address, as in the ERC's own `WalletAgent`."""

EXECUTOR_CODE = bytes.fromhex("63a792438560e01b5f5260045ffd")
"""Code in the executor's account: reverts with `ExecutorUnavailable()`.

On a chain with the executor it never runs. It makes `extcodesize` checks pass, and gives a reason
to tools that execute locally without the precompile (a fork of the chain, forge script).
PUSH4 selector, PUSH1 224, SHL, PUSH0, MSTORE, PUSH1 4, PUSH0, REVERT.
"""

# -- widths of the EVM, in bytes -- #

WORD_BYTES = 32
SELECTOR_BYTES = 4
"""The first bytes of calldata, which name a function. Source: the Solidity ABI."""

ADDRESS_BYTES = 20
HASH_BYTES = 32
FIRST_V = 27
"""`v` of a signature of a message with parity 0. Source: yellow paper, appendix F."""

# -- limits: checked before parsing and charging -- #

MAX_CALLDATA_BYTES = 65_536
"""Upper bound of the calldata of one call, in bytes: some eight contexts of the default model.

Measured (`benchmarks/reports`), as multiples of the time per gas of an ERC-20 transfer at default
prices: the slowest of 18 texts to tokenize, 64 KiB of it, 5 to 8; addresses with wrong checksums 2;
calls with one byte too many, which revert before any charge, 20 to 60, of which the EVM's own
copying is more than half. For comparison: reading a full context 70, calls with 1 MiB of memory
100 to 120."""

MAX_METADATA_BYTES = 16_384
"""Upper bound of the return data of one metadata read, in bytes: room for a long description.

Measured (`large-reads`): four reads of this size, all control characters, take 3 to 4 times the
time per gas of an ERC-20 transfer."""

MAX_TOOLS = 64
"""Upper bound of the tools of one call. More would not fit a small model's context.

Measured (`small-reads`, `tools`): reading this many tools with empty metadata takes 0.7 to 0.9
times the time per gas of an ERC-20 transfer, decoding a call with 2,000 tools 0.7 to 1.2 times."""

MAX_PARAMETERS = 32
"""Upper bound of the parameters of one tool. Solidity functions end at 16 stack slots.

Measured: a list adds 0.1 ms (0.06 to 0.16) to a call, an integer less than can be resolved;
neither adds to a token's mask."""

MAX_NAME_BYTES = 64
"""Upper bound of the name of a tool or a parameter, in bytes of ASCII.

Measured (`benchmarks/choices.py`): with 64 tool names that differ in their last letters alone, a
choice of token takes 0.4 ms and at most 4 ms, as with short names. Evaluating a token takes 10 ms
or more."""

MAX_ADDRESSES = 64
"""Upper bound of the addresses that get handles in one prompt; later ones stay text.

Measured (`benchmarks/choices.py`): with this many handles that branch at each letter, a choice of
token takes 0.5 ms and at most 5 ms, in free text 0.2 ms. The search stops at the bound: a call with
1,500 addresses of wrong checksums takes at most 60 ms (`benchmarks/reports`)."""

MAX_HANDLE_CHARACTERS = 32
"""Upper bound of the length of a name in a line `NAME = 0x…` of the base prompt."""

MAX_ARRAY_ITEMS = 64
"""Upper bound of the items of a generated array.

Measured (`benchmarks/choices.py`): a choice of token within one takes 0.4 ms and at most 7 ms."""

MAX_TYPE_CHARACTERS = 256
"""Upper bound of the type in a parameter's marker `[abi:TYPE]`, in characters."""

MAX_TYPE_LEAVES = 32
"""Upper bound of the elementary types in such a type, each of which costs as much gas as a
parameter. Seaport's `AdvancedOrder` has 24."""

MAX_TOOL_PARTS = 64
"""Upper bound of the parts of a tool's parameters up to a marker; with more, the marker is plain
text. Elementary types, arrays and tuples are parts, and a parameter without a type is one.

llguidance fails on grammars of 65,535 symbols. Measured (`benchmarks/choices.py`): 448 types of 8
lists each, the most, take 0.1 to 0.5 s to build and compile on two busy cores, 80 to 440 ns a gas
of the tools alone, without the gas of their descriptions. A choice of token within a typed text
takes 0.4 to 2 ms, as within a list of handles."""

MAX_TYPE_DEPTH = 8
"""Upper bound of arrays and tuples within each other in such a type. A list of Seaport's
`AdvancedOrder` has 5."""

MAX_TYPED_BYTES = 512
"""Upper bound of a value of `bytes` in a typed text, in bytes: as many digits as a text has
characters. A typed text has no other bound than those of its parts."""

MAX_THOUGHT_CHARACTERS = 240
"""Upper bound of a thought. It ends a rambling thought well before `max_output_tokens` does."""

MAX_COPIES = 64
"""Upper bound of the values among which an argument is chosen in the short format."""

MAX_CHOSEN_NUMBERS = 1_024
"""Upper bound of the numbers of a stated range from which a model chooses in the short format:
scores and percentages, no amounts. They are one terminal of the grammar, and no branches."""

BRANCH_TOKENS = 64
"""Words, numbers and signs of an order in the short format that are read once more for each tool at
the price of a pair: an order of 2,048 characters has a thousand."""

BRANCH_PARAMETERS = 4
"""Parameters of a tool that are part of one rule in the short format, whose gas is charged for each
clause."""

MAX_REFUSAL_SENTENCES = 64
"""Upper bound of the lines `I cannot …` of the base prompt that an answer can copy in the short
format, each of at most `MAX_TEXT_CHARACTERS`. They are in the prompt, whose tokens are paid for."""

MAX_QUOTED_RESULT_CHARACTERS = 200
"""Upper bound of a tool result that an answer in the short format quotes."""

MAX_TEXT_CHARACTERS = 1_024
"""Upper bound of a final answer, and of one string argument.

Measured (`benchmarks/choices.py`): in a text of spaces alone, a choice of token takes up to 9 ms,
about as long as evaluating the token, whose price pays for both."""

MAX_REASON_BYTES = 1_024
"""Upper bound of the revert data that `ToolMetadataFailed` quotes from a failed read."""

# -- warm prompt tokens -- #

PROMPT_BLOCK_TOKENS = 32
"""Prompt tokens per block. Blocks are marked warm from the start of the prompt."""

WARM_PREFIXES = 4
"""Prefixes that are warm at once in a transaction: an agent and agents nested three deep.

Measured (`warm`): inferences that alternate between them take 0.3 times the time per gas of cold
prompts. A host that caches fewer prefixes evaluates them again, at 60 times their gas."""

# -- defaults of a model's profile -- #

DEFAULT_COLD_PROMPT_TOKEN_GAS = 6_000
"""Gas per cold prompt token: 0.6 of an output token, the measured ratio of time."""

DEFAULT_WARM_PROMPT_TOKEN_GAS = 100
"""Gas per warm prompt token: the price of a warm access (EIP-2929)."""

DEFAULT_OUTPUT_TOKEN_GAS = 10_000
"""Gas per output token: a wallet run of five steps then fits a block of 30 million gas."""

DEFAULT_CHOOSER_TOKEN_GAS = 1_000
"""Gas per token that a chooser reads: 0.5 to 1 ms, a tenth of an output token's time. A sentence
with a call has 34 tokens on average."""

DEFAULT_MAX_OUTPUT_TOKENS = 512
"""Output tokens of one generation: the longest thought and the longest answer, tokenized."""
