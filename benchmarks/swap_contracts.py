"""A swap pool with its tokens, a trading account, and their functions as tools of an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import function_signature_to_4byte_selector

from precompiles.abi import ParamDescription, ParamType
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.devnet.local_account import LocalAccount

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.chain import Chain

USDT, BNB = 10**6, 10**18
"""Base units of one USDT and one BNB."""

POOL_USDT, POOL_BNB = 60_000 * USDT, 100 * BNB
WALLET_USDT, WALLET_BNB = 257 * USDT, 5 * BNB

SOMEBODY = b"\x5a" * 20
"""Owner of the switch: neither the wallet nor one of the tools."""

ZERO = bytes(20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The contracts' final balances."""

    wallet_usdt: int
    wallet_bnb: int
    approved_usdt: int
    pool_usdt: int
    pool_bnb: int
    is_on: bool


@dataclass(frozen=True, slots=True)
class Function:
    """A contract's function as a tool."""

    contract: str
    signature: str
    description: str
    parameters: tuple[ParamDescription, ...]
    converter: str | None
    is_action: bool

    @property
    def name(self) -> str:
        """The function's name, which is the tool's."""
        return self.signature.partition("(")[0]


def _parameter(param_type: ParamType, name: str, description: str) -> ParamDescription:
    return ParamDescription(param_type=param_type, name=name, description=description)


_PATH = _parameter(ParamType.ADDRESS_ARRAY, "path", "token to give, token to get")
_AMOUNT_IN = _parameter(ParamType.UINT, "amountIn", "amount to give, in base units")
_SWAP = (
    _AMOUNT_IN,
    _parameter(ParamType.UINT, "amountOutMin", "least amount to get"),
    _PATH,
    _parameter(ParamType.ADDRESS, "to", "who gets it"),
    _parameter(ParamType.UINT, "deadline", "time until which it may happen"),
)

FUNCTIONS = (
    Function(
        "token",
        "balanceOf(address)",
        "Shows a USDT balance in base units",
        (_parameter(ParamType.ADDRESS, "account", "whose balance"),),
        "ViewBalanceResultConverter",
        is_action=False,
    ),
    Function(
        "pool",
        "getAmountsOut(uint256,address[])",
        "Quotes how much a swap would give; swaps nothing",
        (_AMOUNT_IN, _PATH),
        "LastAmountConverter",
        is_action=False,
    ),
    Function(
        "account",
        "swapExactETHForTokens(uint256,uint256,address[],address,uint256)",
        "Swaps BNB for USDT",
        _SWAP,
        "LastAmountConverter",
        is_action=True,
    ),
    Function(
        "account",
        "approve(address,uint256)",
        "Allows a spender to take USDT of WALLET",
        (
            _parameter(ParamType.ADDRESS, "spender", "who may take it"),
            _parameter(ParamType.UINT, "amount", "how much, in base units"),
        ),
        None,
        is_action=True,
    ),
    Function(
        "account",
        "swapExactTokensForETH(uint256,uint256,address[],address,uint256)",
        "Swaps USDT for BNB",
        _SWAP,
        "LastAmountConverter",
        is_action=True,
    ),
    Function(
        "switch",
        "adminFunction()",
        "Turns the switch of OWNER; only OWNER may call it",
        (),
        None,
        is_action=True,
    ),
)

STATIC_RESULT = "Success"


class SwapContracts:
    """The contracts on a chain, and their functions as tools."""

    def __init__(self, chain: Chain) -> None:
        """Deploy everything onto a chain whose development account has ether."""
        self._chain = chain
        self._account = LocalAccount(chain)
        self.addresses = self._deploy_contracts()
        self.tools = tuple(self._deploy_tool(function) for function in FUNCTIONS)

    def _deploy_contracts(self) -> dict[str, Address]:
        deploy = self._account.deploy
        token = deploy(load_artifact("DemoToken").encode_creation("Tether USD", "USDT", 6, 10**30))
        weth = deploy(load_artifact("DemoToken").encode_creation("Wrapped BNB", "WBNB", 18, 10**30))
        pool = self._deploy_with(POOL_BNB, load_artifact("SwapPool").encode_creation(token, weth))
        account = self._deploy_with(
            WALLET_BNB, load_artifact("TradingAccount").encode_creation(pool)
        )
        switch = deploy(load_artifact("OwnedSwitch").encode_creation(SOMEBODY))
        for holder, amount in ((pool, POOL_USDT), (account, WALLET_USDT)):
            sent = self._account.send(
                token, load_artifact("DemoToken").encode_call("transfer", holder, amount)
            )
            sent.computation.raise_if_error()
        return {"token": token, "weth": weth, "pool": pool, "account": account, "switch": switch}

    def _deploy_with(self, value_wei: int, creation: bytes) -> Address:
        computation = self._account.send(None, creation, value_wei=value_wei).computation
        computation.raise_if_error()
        return computation.msg.storage_address

    def _deploy_tool(self, function: Function) -> Address:
        converter = (
            self._account.deploy(load_artifact(function.converter).encode_creation())
            if function.converter
            else ZERO
        )
        parameters = [(int(it.param_type), it.name, it.description) for it in function.parameters]
        tool = self._account.deploy(
            load_artifact("SimpleSmartContractTool").encode_creation(
                function.name,
                function.description,
                self.addresses[function.contract],
                function_signature_to_4byte_selector(function.signature),
                (parameters,),
                function.converter is None,
                STATIC_RESULT if function.converter is None else "",
                converter,
            )
        )
        add = load_artifact("TradingAccount").encode_call("addTool", tool)
        self._account.send(self.addresses["account"], add).computation.raise_if_error()
        return tool

    def holdings(self) -> Holdings:
        """Read the state."""
        account, pool = self.addresses["account"], self.addresses["pool"]
        return Holdings(
            wallet_usdt=self._read("DemoToken", "token", "balanceOf", account),
            wallet_bnb=self._chain.balance(account),
            approved_usdt=self._read("DemoToken", "token", "allowance", account, pool),
            pool_usdt=self._read("DemoToken", "token", "balanceOf", pool),
            pool_bnb=self._chain.balance(pool),
            is_on=bool(self._read("OwnedSwitch", "switch", "isOn")),
        )

    def _read(self, contract: str, place: str, function: str, *arguments: object) -> int:
        abi = load_artifact(contract)
        output = self._account.read(self.addresses[place], abi.encode_call(function, *arguments))
        return int(abi.decode_result(function, output))


def given_for(amount_in: int, reserve_in: int, reserve_out: int) -> int:
    """Return the output of a constant-product pool at a fee of 0.3 %."""
    less_fee = amount_in * 997
    return less_fee * reserve_out // (reserve_in * 1000 + less_fee)
