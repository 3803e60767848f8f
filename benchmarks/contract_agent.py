"""An agent of the swap world: an account, tools made of data, and why it cannot turn the switch.

What its tools derive is what the analysis derives by default: the recipient, the deadline, the
least output, the path, and approvals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address
from eth_utils.abi import get_abi_input_names, get_abi_input_types, get_abi_output_types

from benchmarks.contract_access import select
from benchmarks.contract_scenarios import AgentFunction, SwapAgent
from precompiles.abi import ParamDescription
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.argument_derivation import DEADLINE_SECONDS, SLIPPAGE_BPS
from pyevm_agents.contract_intelligence.capabilities import Source
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.tool_spec import (
    Argument,
    CallValue,
    RequiredAllowance,
    ToolOutput,
    ToolSpec,
)
from pyevm_agents.contracts import load_artifact
from pyevm_agents.devnet.chain import ALIASES
from pyevm_agents.devnet.swap_world import NATIVE, WRAPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import ABIFunction

    from pyevm_agents.chain import Chain
    from pyevm_agents.devnet.chain import DevelopmentAccount
    from pyevm_agents.devnet.swap_world import SwapWorld

BASE_PROMPT = """You act through an account on a blockchain for its owner. Use the tools to do \
what the owner asks. {native} is the native currency.

{addresses}

{refusal}"""

MAX_ITERATIONS = 5
MOST_WEI = 5 * NATIVE


def deploy_swap_agent(
    chain: Chain, sender: DevelopmentAccount, world: SwapWorld
) -> tuple[SwapAgent, str]:
    """Deploy an account with funds, its tools and its agent; return the agent, and a refusal.

    The refusal is the line of the base prompt that says why the account cannot turn the switch.

    Raises: VMError: the chain refuses a contract.
    """
    account = sender.deploy(load_artifact("AgentAccount").encode_creation(sender.address))
    world.fund(account)
    texts = sender.deploy(load_artifact("AbiToolTexts").encode_creation())
    implementation = sender.deploy(load_artifact("AbiTool").encode_creation(texts))
    factory = sender.deploy(load_artifact("AbiToolFactory").encode_creation(implementation))
    functions: dict[Address, AgentFunction] = {}
    for contract, spec in _list_specs(world, account):
        creation = spec.encode_creation()
        output = load_artifact("AbiToolFactory").decode_result(
            "create", sender.read(factory, creation)
        )
        tool = Address(to_canonical_address(output))
        sender.execute(factory, creation)
        sender.execute(account, spec.encode_registration(to_checksum_address(tool)))
        functions[tool] = _describe(contract, spec)
    refusal = find_refusal(chain, world, account)
    prompt = BASE_PROMPT.format(
        native=world.native_symbol, addresses=_list_addresses(world, account), refusal=refusal
    )
    metadata = ("Swap agent", "Acts through an account", "what to do", prompt)
    agent = sender.deploy(
        load_artifact("OwnedAgent").encode_creation(
            sender.address, EXECUTOR_ADDRESS, ALIASES[0], *metadata, [*functions], MAX_ITERATIONS
        )
    )
    sender.execute(account, load_artifact("AgentAccount").encode_call("setAgent", agent))
    swap_agent = SwapAgent(
        address=agent,
        account=account,
        functions=functions,
        slippage_bps=SLIPPAGE_BPS,
        deadline_seconds=DEADLINE_SECONDS,
    )
    return swap_agent, refusal


def find_refusal(chain: Chain, world: SwapWorld, account: Address) -> str:
    """Return why an account cannot turn the switch, as the analysis says it.

    Raises: ValueError: the analysis says that it can.
    """
    interface = read_interface(
        [*world.contracts["switch"].artifact.abi], name="AdminSwitch", source="file"
    )
    functions = () if interface is None else interface.functions
    found = analyse_functions(
        chain,
        world.switch,
        functions,
        account,
        known_accounts={to_checksum_address(world.owner.address): "the owner"},
    )
    reason = next(function.reason for function in found if function.name == "adminFunction")
    if not reason:
        raise ValueError("adminFunction: the analysis says that the account can call it")
    return reason


def _list_addresses(world: SwapWorld, account: Address) -> str:
    names = {symbol: place for symbol, place in world.tokens.items() if symbol != WRAPPED}
    names |= {f"W{world.native_symbol}": world.tokens[WRAPPED], "ROUTER": world.router}
    names |= {"SWITCH": world.switch, "ACCOUNT": account, "OWNER": world.owner.address}
    return "\n".join(f"{name} = {to_checksum_address(place)}" for name, place in names.items())


def _list_specs(world: SwapWorld, account: Address) -> Iterator[tuple[str, ToolSpec]]:
    """Return the tools with their contracts' names."""
    native = world.native_symbol
    usdt, wrapped = (to_checksum_address(world.tokens[symbol]) for symbol in ("USDT", WRAPPED))
    router = to_checksum_address(world.router)
    to_usdt, to_native = (wrapped, usdt), (usdt, wrapped)
    give_native = f"{native} to give, 18 decimals"
    give_usdt = "USDT to give, 6 decimals"
    recipient = {
        "to": Argument(name="to", abi_type="address", source=Source.ACCOUNT),
        "deadline": Argument(
            name="deadline", abi_type="uint256", source=Source.DEADLINE, seconds=DEADLINE_SECONDS
        ),
        "amountOutMin": Argument(
            name="amountOutMin", abi_type="uint256", source=Source.MINIMUM,
            slippage_bps=SLIPPAGE_BPS,
        ),
    }  # fmt: skip
    yield "USDT", _build_spec(
        world, account, "USDT", "balanceOf", "Shows the USDT balance of ACCOUNT",
        {"account": Argument(name="account", abi_type="address", source=Source.ACCOUNT)},
        outputs=(ToolOutput(name="balance", symbol="USDT", decimals=6),),
    )  # fmt: skip
    yield "router", _build_spec(
        world, account, "router", "getAmountsOut",
        f"Quotes how much USDT a swap of {native} would give; swaps nothing",
        {"amountIn": _choose("amountIn", give_native), "path": _fix(to_usdt)},
        outputs=(ToolOutput(name="amounts", unit_argument="path"),),
    )  # fmt: skip
    yield "router", _build_spec(
        world, account, "router", "swapExactETHForTokens", f"Swaps {native} for USDT",
        {**recipient, "path": _fix(to_usdt)},
        outputs=(ToolOutput(name="amounts", unit_argument="path"),),
        value=CallValue(is_chosen=True, most_wei=MOST_WEI, description=give_native),
    )  # fmt: skip
    yield "router", _build_spec(
        world, account, "router", "swapExactTokensForETH",
        f"Swaps USDT for {native}; approves the USDT first",
        {**recipient, "amountIn": _choose("amountIn", give_usdt), "path": _fix(to_native)},
        outputs=(ToolOutput(name="amounts", unit_argument="path"),),
        allowances=(
            RequiredAllowance(token=usdt, spender=router, amount_argument="amountIn"),
        ),
    )  # fmt: skip


def _choose(name: str, description: str) -> Argument:
    return Argument(name=name, abi_type="uint256", description=description)


def _fix(path: tuple[str, str]) -> Argument:
    return Argument(name="path", abi_type="address[]", source=Source.FIXED, value=path)


def _build_spec(  # noqa: PLR0913, PLR0917 - the parts of a tool
    world: SwapWorld,
    account: Address,
    contract: str,
    function: str,
    description: str,
    arguments: dict[str, Argument],
    *,
    outputs: tuple[ToolOutput, ...],
    value: CallValue | None = None,
    allowances: tuple[RequiredAllowance, ...] = (),
) -> ToolSpec:
    abi = _find_abi(world, contract, function)
    # OpenZeppelin and Uniswap name parameters; WETH9 does not.
    names = [name for name in get_abi_input_names(abi) if name]
    types = get_abi_input_types(abi)
    return ToolSpec(
        name=function,
        description=description,
        account=to_checksum_address(account),
        target=to_checksum_address(world.address(contract)),
        selector=select(f"{function}({','.join(types)})"),
        input_types=f"({','.join(types)})",
        output_types=f"({','.join(get_abi_output_types(abi))})",
        arguments=tuple(arguments[name] for name in names),
        value=value or CallValue(),
        allowances=allowances,
        outputs=outputs,
    )


def _find_abi(world: SwapWorld, contract: str, function: str) -> ABIFunction:
    for element in world.contracts[contract].artifact.abi:
        if element["type"] == "function" and element["name"] == function:
            return element
    raise ValueError(f"{contract}: has no function {function}")


def _describe(contract: str, spec: ToolSpec) -> AgentFunction:
    return AgentFunction(
        name=spec.name,
        contract=contract,
        signature=f"{spec.name}{spec.input_types}",
        argument_names=tuple(argument.name for argument in spec.arguments),
        parameters=tuple(
            ParamDescription(param_type=kind, name=name, description=text)
            for kind, name, text in spec.model_parameters
        ),
        gives_approvals=any(allowance.is_derived for allowance in spec.allowances),
    )
