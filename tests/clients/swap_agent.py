"""An agent whose tools are the two functions of a UniswapAccount."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import function_signature_to_4byte_selector, to_checksum_address

from precompiles.abi import ParamType

if TYPE_CHECKING:
    from pyevm_agents.testing import AgentChain
    from tests.clients.uniswap_chain import UniswapChain

EXECUTOR = "0x0000000000000000000000000000000000000019"
ZERO_ADDRESS = "0x" + "00" * 20
BASE_PROMPT = """You are an agent deployed on an EVM blockchain, responsible for managing a \
user's wallet. The wallet's owner will give you instructions in simple terms, and your goal is to \
execute the instructions from the user, given the list of tools you can use.

USDC = {usdc}
WETH = {weth}

A token must be approved before it is swapped."""


def deploy_swap_agent(chain: AgentChain, uniswap: UniswapChain) -> Any:  # noqa: ANN401 - web3's
    """Deploy the tools and the agent on a fork; return the agent."""
    address, amount = int(ParamType.ADDRESS), int(ParamType.UINT)
    target = to_checksum_address(uniswap.account)
    approve_tool = chain.deploy(
        "SimpleSmartContractTool",
        "ApproveTool",
        "Approve tokens for a swap",
        target,
        function_signature_to_4byte_selector("approve(address,uint256)"),
        (
            [
                (address, "asset", "address of the token to approve"),
                (amount, "amount", "amount of tokens to approve"),
            ],
        ),
        True,  # noqa: FBT003 - Solidity has places
        "Successfully approved",
        ZERO_ADDRESS,
    )
    swap_tool = chain.deploy(
        "SimpleSmartContractTool",
        "SwapTool",
        "Swap tokens that are approved",
        target,
        function_signature_to_4byte_selector("swap(address,address,uint256)"),
        (
            [
                (address, "give", "address of the token to give"),
                (address, "get", "address of the token to get"),
                (amount, "amount", "amount of tokens to give"),
            ],
        ),
        False,  # noqa: FBT003 - as above
        "",
        chain.deploy("LastAmountConverter").address,
    )
    tools = [approve_tool, swap_tool]
    account = chain.w3.eth.contract(address=target, abi=uniswap.account_abi)
    for tool in tools:
        account.functions.addTool(tool.address).transact()
    return chain.deploy(
        "SimpleAgent",
        agentExecutorContract=EXECUTOR,
        modelId="default",
        name="Swap Agent",
        description="Swaps tokens",
        inputDescription="What to swap",
        basePrompt=BASE_PROMPT.format(
            usdc=to_checksum_address(uniswap.usdc), weth=to_checksum_address(uniswap.weth)
        ),
        tools=tools,
        agentMaxIterations=5,
    )
