"""WalletAgent, WalletAccount, LiquidityPool and tokens: money moves, and three doors stay shut."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    Account,
    Contract,
    Evm,
    RevertedError,
    decode_error,
    final_answer,
    reverts,
    text_input,
    use_tool,
)

USDC = 10**6  # base units of one whole token
DEPLOY, WITHDRAW, BALANCE, INFO = range(4)


@dataclass(frozen=True)
class Wallet:
    """A WalletAgent with 1,000 USDC in its account, and all that belongs to it."""

    evm: Evm
    executor: Contract
    agent: Contract
    account: Contract
    pool: Contract
    usdc: Contract
    tools: tuple[Contract, ...]

    def will(self, tool: int, *amount: int) -> None:
        """Script the use of a tool with USDC."""
        types = ["address", *["uint256"] * len(amount)]
        step = use_tool(self.tools[tool].address, types, [self.usdc.address, *amount])
        self.executor("willReturn", step)

    def will_answer(self, text: str) -> None:
        self.executor("willReturn", final_answer(text))

    def balances(self) -> tuple[int, int]:
        """Return the USDC in the account and the account's in the pool, in base units."""
        deposited = self.pool("balanceOf", self.account.address, self.usdc.address)
        return self.usdc("balanceOf", self.account.address), deposited


@pytest.fixture
def wallet(evm: Evm, executor: Contract) -> Wallet:
    usdc = evm.deploy("DemoToken", "USD Coin", "USDC", 6, 5_000 * USDC)
    pool = evm.deploy("LiquidityPool")
    info = evm.deploy("TokenInfoTool")
    agent = evm.deploy(
        "WalletAgent", executor.address, "llama_model_3", pool.address, "", info.address
    )
    account = evm.at("WalletAccount", agent("account"))
    usdc("transfer", account.address, 1_000 * USDC)
    own = tuple(evm.at("AgentOnlyTool", address) for address in agent("getTools")[:3])
    return Wallet(evm, executor, agent, account, pool, usdc, (*own, info))


def test_agent_and_tools_have_the_texts_of_the_erc(wallet: Wallet) -> None:
    agent = wallet.agent
    assert agent("name") == "Wallet Agent"
    assert agent("modelId") == "llama_model_3"
    assert agent("basePrompt").startswith("You are an agent deployed on an EVM blockchain, ")
    assert agent("agentMaxIterations") == 10
    assert agent("owner") == OWNER.address
    assert agent("getTools") == tuple(tool.address for tool in wallet.tools)
    metadata = ("name", "description", "inputDescription")
    assert [tuple(tool(f) for f in metadata) for tool in wallet.tools[:3]] == [
        (
            "DeployTool",
            "Deploy funds into the pool",
            (
                (
                    (1, "asset", "address of the token to deposit"),
                    (4, "amount", "amount of tokens to deposit"),
                ),
            ),
        ),
        (
            "WithdrawTool",
            "Withdraw funds from the pool",
            (
                (
                    (1, "asset", "address of the token to withdraw"),
                    (4, "amount", "amount of tokens to withdraw"),
                ),
            ),
        ),
        (
            "ViewBalanceTool",
            "See user's balance in the pool",
            (((1, "asset", "address of the token to view balance for"),),),
        ),
    ]


def test_own_base_prompt_replaces_that_of_the_erc(wallet: Wallet) -> None:
    existing = wallet.tools[INFO].address
    agent = wallet.evm.deploy(
        "WalletAgent", wallet.executor.address, "m", wallet.pool.address, "Mine.", existing
    )
    assert agent("basePrompt") == "Mine."


def test_deposit_moves_balances(wallet: Wallet) -> None:
    wallet.will(DEPLOY, 10)
    wallet.will_answer("Deposited.")
    assert wallet.agent("instruct", "Deposit 10 USDC") == "Deposited."
    assert wallet.agent.events("AgentRunResult")[0]["requester"] == OWNER.address
    assert wallet.pool.events("Deployed")[0]["amount"] == 10 * USDC
    assert wallet.balances() == (990 * USDC, 10 * USDC)
    assert wallet.usdc("balanceOf", wallet.pool.address) == 10 * USDC
    assert wallet.usdc("allowance", wallet.account.address, wallet.pool.address) == 0


def test_one_tool_sees_what_another_deposited(wallet: Wallet) -> None:
    wallet.will(DEPLOY, 510)
    wallet.will(WITHDRAW, 10)
    wallet.will(BALANCE)
    wallet.will(INFO)
    wallet.will_answer("Done.")
    assert wallet.agent("run", text_input("do it all"), ZERO) == (-1, "Done.")
    assert wallet.executor.events("IterationAsked")[-1]["toolResults"][:4] == (
        "Successfully deployed",
        "Successfully withdrawn",
        "The balance is: 500",
        "USD Coin (USDC), 6 decimals",
    )
    assert wallet.balances() == (500 * USDC, 500 * USDC)


def test_overdraft_says_why_through_every_layer(wallet: Wallet) -> None:
    wallet.will(WITHDRAW, 1)
    with pytest.raises(RevertedError) as caught:
        wallet.agent("instruct", "Withdraw 1 USDC")
    layer, tool, tool_error = caught.value.error
    assert (layer, tool) == ("ToolCallFailed", wallet.tools[WITHDRAW].address)
    assert isinstance(tool_error, bytes)
    layer, target, pool_error = decode_error(tool_error)
    assert (layer, target) == ("ToolCallReverted", wallet.account.address)
    assert isinstance(pool_error, bytes)
    assert decode_error(pool_error) == (
        "InsufficientPoolBalance",
        wallet.account.address,
        wallet.usdc.address,
        0,
        USDC,
    )


def test_agent_runs_for_owner_and_allowed_callers_alone(wallet: Wallet) -> None:
    agent = wallet.agent
    for function, *arguments in (("run", text_input("x"), ZERO), ("instruct", "x")):
        assert not agent("isCaller", STRANGER.address)
        with reverts("CallerNotAllowed", STRANGER.address):
            agent(function, *arguments, sender=STRANGER)

        agent("setCaller", STRANGER.address, True)  # noqa: FBT003 - the contract's signature
        assert agent("isCaller", STRANGER.address)
        wallet.will_answer("Done.")
        agent(function, *arguments, sender=STRANGER)

        agent("setCaller", STRANGER.address, False)  # noqa: FBT003
        assert agent.events("CallerSet") == [
            {"caller": int(STRANGER.address, 16), "allowed": False}
        ]
    assert agent("isCaller", OWNER.address)


def test_callers_are_allowed_by_the_owner_alone(wallet: Wallet) -> None:
    with reverts("NotOwner", STRANGER.address):
        wallet.agent("setCaller", STRANGER.address, True, sender=STRANGER)  # noqa: FBT003


@pytest.mark.parametrize("sender", [OWNER, STRANGER])
@pytest.mark.parametrize("tool", [DEPLOY, WITHDRAW, BALANCE])
def test_tools_run_for_the_agent_alone(wallet: Wallet, tool: int, sender: Account) -> None:
    with reverts("NotAgent", sender.address):
        wallet.tools[tool]("run", ([], b""), ZERO, sender=sender)


@pytest.mark.parametrize("sender", [OWNER, STRANGER])
def test_account_opens_for_its_tools_alone(wallet: Wallet, sender: Account) -> None:
    asset = wallet.usdc.address
    for function, *arguments in (("deploy", asset, 1), ("withdraw", asset, 1), ("balance", asset)):
        with reverts("NotTool", sender.address):
            wallet.account(function, *arguments, sender=sender)
    with reverts("NotAgent", sender.address):
        wallet.account("addTool", sender.address, sender=sender)


def test_account_knows_its_own_three_tools(wallet: Wallet) -> None:
    assert [wallet.account("isTool", tool.address) for tool in wallet.tools] == [
        True,
        True,
        True,
        False,
    ]
    assert wallet.account("agent") == wallet.agent.address
    assert wallet.account("owner") == OWNER.address
    assert wallet.account("pool") == wallet.pool.address


def test_owner_moves_base_units_by_doors_of_its_own(wallet: Wallet) -> None:
    account, asset = wallet.account, wallet.usdc.address
    account("ownerDeposit", asset, 3)
    assert wallet.balances() == (1_000 * USDC - 3, 3)
    assert account("poolBalance", asset, sender=STRANGER) == 3
    account("ownerWithdraw", asset, 2)
    assert wallet.balances() == (1_000 * USDC - 1, 1)
    account("ownerTransfer", asset, STRANGER.address, 5)
    assert wallet.usdc("balanceOf", STRANGER.address) == 5


def test_no_token_goes_to_its_own_contract_or_to_nobody(wallet: Wallet) -> None:
    asset = wallet.usdc.address
    for recipient in (asset, ZERO):
        with reverts("ForbiddenRecipient", "to", recipient):
            wallet.account("ownerTransfer", asset, recipient, 1)


def test_owner_doors_are_the_owners_alone(wallet: Wallet) -> None:
    asset = wallet.usdc.address
    for function, *arguments in (
        ("ownerDeposit", asset, 1),
        ("ownerWithdraw", asset, 1),
        ("ownerTransfer", asset, STRANGER.address, 1),
    ):
        with reverts("NotOwner", STRANGER.address):
            wallet.account(function, *arguments, sender=STRANGER)


@pytest.fixture
def account(evm: Evm) -> tuple[Contract, Contract]:
    """Return an account whose agent and tool is OWNER, and its pool."""
    pool = evm.deploy("LiquidityPool")
    account = evm.deploy("WalletAccount", OWNER.address, pool.address)
    account("addTool", OWNER.address)
    return account, pool


@pytest.mark.parametrize("decimals", [0, 6, 18, 77])
def test_account_converts_whole_tokens(
    evm: Evm, account: tuple[Contract, Contract], decimals: int
) -> None:
    wallet_account, pool = account
    one = 10**decimals
    token = evm.deploy("DemoToken", "Token", "T", decimals, one)
    token("transfer", wallet_account.address, one)
    wallet_account("deploy", token.address, 1)
    assert pool("balanceOf", wallet_account.address, token.address) == one
    assert wallet_account("balance", token.address) == 1
    if one > 1:
        wallet_account("ownerWithdraw", token.address, 1)
        assert wallet_account("balance", token.address) == 0, "rounded down"
        wallet_account("ownerDeposit", token.address, 1)
    wallet_account("withdraw", token.address, 1)
    assert token("balanceOf", wallet_account.address) == one


def test_amounts_beyond_uint256_are_refused(evm: Evm, account: tuple[Contract, Contract]) -> None:
    wallet_account, _ = account
    token = evm.deploy("DemoToken", "Token", "T", 6, 0)
    too_many = 2**256 // USDC + 1
    for function in ("deploy", "withdraw"):
        with reverts("AmountTooLarge", token.address, too_many):
            wallet_account(function, token.address, too_many)
    absurd = evm.deploy("DemoToken", "Token", "T", 78, 0)
    with reverts("AmountTooLarge", absurd.address, 1):
        wallet_account("deploy", absurd.address, 1)


def test_something_that_is_no_token_is_refused(account: tuple[Contract, Contract]) -> None:
    wallet_account, pool = account
    for address in (STRANGER.address, pool.address):
        for function, *amount in (("deploy", 1), ("withdraw", 1), ("balance",)):
            with reverts("TokenCallFailed", address, b""):
                wallet_account(function, address, *amount)
        for function in ("ownerDeposit", "ownerTransfer"):
            middle = [OWNER.address] if function == "ownerTransfer" else []
            with reverts("TokenCallFailed", address, b""):
                wallet_account(function, address, *middle, 1)
        with reverts("TokenCallFailed", address, b""):
            pool("deploy", address, 0)


def test_token_that_returns_nothing_is_handled(
    evm: Evm, account: tuple[Contract, Contract]
) -> None:
    wallet_account, pool = account
    token = evm.deploy("OddToken", 0, 2, 1_000)
    token("transfer", wallet_account.address, 1_000)
    wallet_account("deploy", token.address, 4)
    wallet_account("withdraw", token.address, 1)
    assert pool("balanceOf", wallet_account.address, token.address) == 300
    assert token("balanceOf", pool.address) == 300


def test_token_that_returns_false_is_a_failure(
    evm: Evm, account: tuple[Contract, Contract]
) -> None:
    wallet_account, pool = account
    token = evm.deploy("OddToken", 1, 2, 1_000)
    with reverts("TokenCallFailed", token.address, bytes(32)):
        wallet_account("deploy", token.address, 1)
    with reverts("TokenCallFailed", token.address, bytes(32)):
        pool("deploy", token.address, 1)
    assert pool("balanceOf", OWNER.address, token.address) == 0


def test_pool_refuses_a_token_that_takes_a_fee(evm: Evm) -> None:
    pool = evm.deploy("LiquidityPool")
    token = evm.deploy("OddToken", 2, 0, 1_000)
    with reverts("WrongAmountReceived", token.address, 9, 10):
        pool("deploy", token.address, 10)
    assert pool("balance", token.address) == 0


def test_pool_keeps_depositors_apart(evm: Evm) -> None:
    pool = evm.deploy("LiquidityPool")
    token = evm.deploy("DemoToken", "Token", "T", 0, 100)
    token("transfer", STRANGER.address, 40)
    for sender, amount in ((OWNER, 60), (STRANGER, 40)):
        token("approve", pool.address, amount, sender=sender)
        pool("deploy", token.address, amount, sender=sender)
        assert pool("balance", token.address, sender=sender) == amount
    with reverts("InsufficientPoolBalance", STRANGER.address, token.address, 40, 41):
        pool("withdraw", token.address, 41, sender=STRANGER)
    pool("withdraw", token.address, 40, sender=STRANGER)
    assert pool.events("Withdrawn")[0]["amount"] == 40
    assert token("balanceOf", STRANGER.address) == 40
    assert pool("balanceOf", OWNER.address, token.address) == 60
    assert pool("balanceOf", STRANGER.address, token.address) == 0


def test_deposit_without_allowance_gives_the_reason_of_the_token(evm: Evm) -> None:
    pool = evm.deploy("LiquidityPool")
    token = evm.deploy("DemoToken", "Token", "T", 0, 100)
    with pytest.raises(RevertedError) as caught:
        pool("deploy", token.address, 1)
    name, address, reason = caught.value.error
    assert (name, address) == ("TokenCallFailed", token.address)
    assert isinstance(reason, bytes)
    assert decode_error(reason) == ("ERC20InsufficientAllowance", pool.address, 0, 1)


def test_demo_token(evm: Evm) -> None:
    token = evm.deploy("DemoToken", "Token", "T", 3, 100)
    assert token.events("Transfer") == [{"from": 0, "to": int(OWNER.address, 16), "value": 100}]
    metadata = ("name", "symbol", "decimals", "totalSupply")
    assert [token(f) for f in metadata] == ["Token", "T", 3, 100]
    with reverts("ERC20InsufficientBalance", OWNER.address, 100, 101):
        token("transfer", STRANGER.address, 101)
    with reverts("ERC20InvalidReceiver", ZERO):
        token("transfer", ZERO, 1)
    with reverts("ERC20InvalidSpender", ZERO):
        token("approve", ZERO, 1)

    assert token("approve", STRANGER.address, 10) is True
    assert token("transferFrom", OWNER.address, STRANGER.address, 4, sender=STRANGER) is True
    assert token("allowance", OWNER.address, STRANGER.address) == 6
    with reverts("ERC20InsufficientAllowance", STRANGER.address, 6, 7):
        token("transferFrom", OWNER.address, STRANGER.address, 7, sender=STRANGER)
    token("approve", STRANGER.address, 2**256 - 1)
    token("transferFrom", OWNER.address, STRANGER.address, 4, sender=STRANGER)
    assert token("allowance", OWNER.address, STRANGER.address) == 2**256 - 1
    assert token("balanceOf", OWNER.address) == 92
    assert token("balanceOf", STRANGER.address) == 8


NOT_DONE = "UNSURE: I am not sure which tool to use: DeployTool or none?"


@pytest.mark.parametrize(
    ("function", "arguments"), [("run", (text_input("x"), ZERO)), ("instruct", ("x",))]
)
def test_an_answer_that_is_not_done_undoes_the_run(
    wallet: Wallet, function: str, arguments: tuple[object, ...]
) -> None:
    wallet.will(DEPLOY, 10)
    wallet.will_answer(NOT_DONE)
    with reverts("NotDone", NOT_DONE):
        wallet.agent(function, *arguments)
    assert wallet.balances() == (1_000 * USDC, 0)
    assert wallet.agent("currentRunId") == 0


@pytest.mark.parametrize("answer", ["", "Deposited. UNSURE: no", "UNSURE"])
def test_other_answers_keep_the_run(wallet: Wallet, answer: str) -> None:
    wallet.will(DEPLOY, 10)
    wallet.will_answer(answer)
    assert wallet.agent("instruct", "x") == answer
    assert wallet.balances() == (990 * USDC, 10 * USDC)


def test_a_wallet_that_is_not_done_undoes_the_run_of_the_agent_around_it(wallet: Wallet) -> None:
    parent = wallet.evm.deploy(
        "SimpleAgent", wallet.executor.address, "m", "Parent", "d", "i", "b", [], 3
    )
    wallet.agent("setCaller", parent.address, True)  # noqa: FBT003
    ask = use_tool(wallet.agent.address, ["string"], ["Deposit 10 USDC"])
    wallet.executor("willReturn", ask)
    wallet.will_answer("Deposited.")
    wallet.executor("willReturn", ask)
    wallet.will(DEPLOY, 10)
    wallet.will_answer(NOT_DONE)
    with reverts("NotDone", f"{NOT_DONE}; done before: : Deposited."):
        parent("run", text_input("save money"), ZERO)
    assert wallet.balances() == (1_000 * USDC, 0)


def test_wallet_is_a_tool_of_another_agent(wallet: Wallet) -> None:
    agent = wallet.agent
    parent = wallet.evm.deploy(
        "SimpleAgent", wallet.executor.address, "m", "Parent", "d", "i", "b", [agent.address], 3
    )
    ask = use_tool(agent.address, ["string"], ["Deposit 10 USDC"])
    wallet.executor("willReturn", ask)
    with pytest.raises(RevertedError) as caught:
        parent("run", text_input("save money"), ZERO)
    assert caught.value.error[0] == "ToolCallFailed"
    assert isinstance(caught.value.error[2], bytes)
    assert decode_error(caught.value.error[2]) == ("CallerNotAllowed", parent.address)

    agent("setCaller", parent.address, True)  # noqa: FBT003
    wallet.will(DEPLOY, 10)
    wallet.will_answer("Deposited.")
    wallet.will_answer("Saved.")
    assert parent("run", text_input("save money"), ZERO) == (-1, "Saved.")
    assert wallet.balances() == (990 * USDC, 10 * USDC)
