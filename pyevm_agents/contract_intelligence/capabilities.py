"""Capabilities of an account at a contract: the result of the analysis, as data.

Source: Autonomify Agent Architecture v2, `ContractIntelligence`; docs/tools.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ContractKind(StrEnum):
    """Kind of a contract. Each needs the functions that `primitives.toml` lists."""

    ERC20 = "erc20"
    ERC721 = "erc721"
    ERC4626 = "erc4626"
    DEX_ROUTER = "dex-router"
    DEX_PAIR = "dex-pair"
    DEX_FACTORY = "dex-factory"
    GOVERNANCE = "governance"
    CUSTOM = "custom"


NATIVE_UNIT = "native"
"""Stands for the chain's own token where a token's address may stand, such as in
`Parameter.token`."""


class Source(StrEnum):
    """Where the value of a parameter comes from."""

    MODEL = "model"
    """The model chooses it."""

    ACCOUNT = "account"
    """The agent's account."""

    DEADLINE = "deadline"
    """The block's time plus `Derivation.seconds`."""

    MINIMUM = "minimum"
    """What a simulation of the call pays out, less `Derivation.slippage_bps`."""

    FIXED = "fixed"
    """`Derivation.value`."""


class ParameterRole(StrEnum):
    """Purpose of a parameter, as proposed by `primitives.toml`."""

    UNKNOWN = ""
    AMOUNT = "amount"
    """An amount that the call spends, moves or asks for."""

    MINIMUM = "minimum"
    """The least that the call has to pay out."""

    MAXIMUM = "maximum"
    """The most that the call may spend."""

    RECIPIENT = "recipient"
    """Who gets what the call pays: the agent's account, unless the user says otherwise."""

    ACCOUNT = "account"
    """An account that has to be the caller."""

    OWNER = "owner"
    """The account whose tokens the call moves."""

    SPENDER = "spender"
    DEADLINE = "deadline"
    PATH = "path"
    """Tokens, from the one that is paid to the one that is bought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """Source of the value of a parameter that the model does not choose."""

    source: Source
    seconds: int = 0
    slippage_bps: int = 0
    """Basis points, 0 to 10,000."""

    value: object = None
    """A value as eth_abi encodes it. Addresses are checksummed."""

    sentence: str = ""
    """For the tool's description, such as `to: the agent's account`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter or an output of a function."""

    name: str
    """A clean name of printable ASCII; `arg0` for one that has none."""

    abi_type: str
    """The canonical Solidity type, such as `(address,uint256)[]`."""

    description: str = ""
    """NatSpec's, or one from `primitives.toml`; data of strangers, cleaned."""

    components: tuple[Parameter, ...] = ()
    """The members of a tuple, or of the tuples of an array."""

    token: str = ""
    """The token whose base units an integer counts: an address, `native`, or the parameter that
    holds the address, such as `path[0]`; empty if unknown."""

    role: ParameterRole = ParameterRole.UNKNOWN

    enum: str = ""
    """The name of the enum that an integer, or an item, is of."""

    members: int = 0
    """How many members that enum has, as executions show it; 0 if they don't."""

    is_recipient: bool = False
    """Whether an execution shows that an address gets what a call moves."""

    tokens: tuple[str, ...] = ()
    """The tokens that an address may be, as executions show, if it names the token of an amount."""

    derivation: Derivation | None = None
    """None: the model chooses the value."""


class ApprovalKind(StrEnum):
    """Extent of an approval: the assets that the spender may take."""

    AMOUNT = "amount"
    """An amount of an ERC-20 token: `approve(spender, amount)`."""

    ITEM = "item"
    """One item of an ERC-721 token: `approve(spender, id)`."""

    ALL = "all"
    """All items of an ERC-1155 token: `setApprovalForAll(spender, true)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An approval that a call needs first."""

    token: str
    spender: str
    amount: int | None
    """Base units that the example call needs; None for items, and if no example tells it."""

    parameter: str = ""
    """The path of the parameter that sets the amount or the item; empty if none does alone."""

    kind: ApprovalKind = ApprovalKind.AMOUNT
    item: int | None = None
    """The ID of the item that the example call needs; None for another kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleCall:
    """A call that ran in the snapshot."""

    args: tuple[object, ...]
    value_wei: int = 0
    caller: str = ""
    gas_used: int = 0
    output: tuple[object, ...] = ()


class Access(StrEnum):
    """Whether an account may call a function."""

    OPEN = "open"
    """A call of the account succeeded, or failed for a reason other than who called."""

    FORBIDDEN = "forbidden"
    """The same call reverts for the account and not for another one, or the caller's address
    decides the revert; or a call of anybody reverts."""

    UNKNOWN = "unknown"
    """No call succeeded, and nothing shows why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCapability:
    """A function, and whether and how the agent's account can make a call."""

    name: str
    signature: str
    """Name and types, such as `transfer(address,uint256)`; a bare selector `0x…` without an ABI."""

    selector: bytes
    parameters: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...] = ()
    description: str = ""
    quote: str = ""
    """The signature of the function that tells what this one would pay or cost; empty if none."""

    is_read_only: bool = False
    is_payable: bool = False
    access: Access = Access.UNKNOWN
    reason: str = ""
    """Why a call of the account reverts, as a sentence; empty if it does not."""

    callers: tuple[str, ...] = ()
    """Accounts whose call succeeded where the agent's did not, or whom the revert compares with."""

    role: str = ""
    """The role that a caller needs, such as `MINTER_ROLE`; empty for none. `callers` have it."""

    approvals: tuple[Approval, ...] = ()
    needs_balance_of: tuple[str, ...] = ()
    """Tokens, or `native`, of which the account had too little for a call."""

    example: ExampleCall | None = None
    delegates: tuple[str, ...] = ()
    """Contracts whose code ran where the address delegated the whole call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFacts:
    """How a token's amounts are shown."""

    address: str
    symbol: str
    """A clean label; empty if the token has none. A number distinguishes it from others."""

    decimals: int | None = None
    name: str = ""
    """A clean label of what the token calls itself; empty if it has no name."""
    told_symbol: str = ""
    """The symbol as the token tells it: a stranger's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPair:
    """Two tokens that a pool exchanges."""

    token_a: str
    token_b: str
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedPath:
    """A path of tokens through pools, and the output that a router quotes."""

    tokens: tuple[str, ...]
    """From the one that is paid to the one that is bought."""

    amount_in: int
    """Base units of the first token."""

    amount_out: int
    """Base units of the last token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationships:
    """Other contracts that a contract's functions need."""

    tokens: tuple[TokenFacts, ...] = ()
    """The wrapped native token, those of the pairs, and those that functions count or pull."""

    token_pairs: tuple[TokenPair, ...] = ()
    paths: tuple[QuotedPath, ...] = ()
    """For one whole token of each kind, the best path to each other one first."""

    required_approvals: tuple[Approval, ...] = ()
    """Each token and spender once, without amounts."""

    admin_address: str = ""
    wrapped_native: str = ""
    named_contracts: tuple[str, ...] = ()
    """Contracts that this one names: its factory, its asset, the tokens of its pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractIntelligence:
    """A contract, with the functions as seen from one account, at one block."""

    address: str
    name: str
    kind: ContractKind
    account: str
    """The account for which the contract was analysed."""

    block_number: int
    abi_source: str
    """Where the functions come from: `file`, `project`, `explorer`, `sourcify` or `bytecode`."""

    chain_id: int = 0
    implementation: str = ""
    """The contract that a proxy delegates to; empty if the contract is no proxy."""

    proxy_kind: str = ""
    """The standard of a proxy, such as `EIP-1967`; empty if the contract is no proxy."""

    is_upgradeable: bool | None = False
    """Whether the implementation of a proxy, or the facets of a diamond, can change; None if that
    is not known."""

    symbol: str = ""
    decimals: int | None = None
    token_name: str = ""
    """What a token calls itself; empty for other contracts."""

    functions: tuple[FunctionCapability, ...] = ()
    relationships: Relationships = Relationships()
    warnings: tuple[str, ...] = ()

    @property
    def can_read(self) -> tuple[FunctionCapability, ...]:
        """Functions without effects that the account can call."""
        return tuple(f for f in self.functions if f.is_read_only and f.access is Access.OPEN)

    @property
    def can_write(self) -> tuple[FunctionCapability, ...]:
        """Functions with effects that the account can call."""
        return tuple(f for f in self.functions if not f.is_read_only and f.access is Access.OPEN)

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """Roles that functions need, with the accounts known to have each."""
        found: dict[str, dict[str, None]] = {}
        for function in self.functions:
            if function.role:
                found.setdefault(function.role, {}).update(dict.fromkeys(function.callers))
        return {role: tuple(holders) for role, holders in found.items()}

    @property
    def cannot_call(self) -> tuple[FunctionCapability, ...]:
        """Functions that would revert for the account with any arguments."""
        return tuple(f for f in self.functions if f.access is not Access.OPEN)
