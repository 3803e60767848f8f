"""Families of DeFi tools: pools, exchanges, wallets, staking, lending, insurance, vesting."""

from __future__ import annotations

from training.patterns import (
    ADDRESS,
    ADDRESS_ARRAY,
    STRING,
    UINT,
    Chain,
    Kind,
    action,
    look,
    parameter,
)

TOKEN = parameter(
    "token",
    ADDRESS,
    "asset / token / token address / erc20 / currency / coin",
    "address of the token",
    "the token",
    "address of the token contract",
    "which token to use",
    "the ERC-20 token's address",
)
AMOUNT = parameter(
    "amount",
    UINT,
    "amount / value / quantity / qty / token amount",
    "amount of tokens",
    "how much",
    "the amount, in whole tokens",
    "amount in whole tokens",
    "number of tokens",
)
WHO = parameter(
    "who",
    ADDRESS,
    "recipient / to / receiver / account / beneficiary / destination",
    "who gets it",
    "address of the recipient",
    "the receiving account",
    "account",
)
HOLDER = parameter(
    "who",
    ADDRESS,
    "account / owner / holder / user / wallet / address",
    "whose",
    "address of the account",
    "the account to look at",
    "holder's address",
)

POOL = Kind(
    "pool",
    (
        "You manage a user's position in a liquidity pool.",
        (
            "You are an agent deployed on an EVM blockchain, responsible for managing a user's "
            "wallet. The wallet's owner will give you instructions in simple terms, and your goal "
            "is to execute the instructions from the user, given the list of tools you can use."
        ),
        "You look after a pool deposit. Do exactly what the owner asks.",
    ),
    (
        action(
            "deposit",
            "DeployTool / deposit / deposit funds / supply / pool deposit / add liquidity / provide",
            (
                "Deploy funds into the pool",
                "Deposit tokens into the pool",
                "Puts an amount of a token into the liquidity pool.",
                "Adds liquidity",
                "Moves tokens from the wallet to the pool, where they earn fees",
            ),
            (
                parameter(
                    "token",
                    ADDRESS,
                    "asset / token / token address",
                    "address of the token to deploy",
                    "token to deposit",
                    "the token's address",
                ),
                parameter(
                    "amount",
                    UINT,
                    "amount / value / qty",
                    "amount of tokens to deploy",
                    "how much to deposit",
                    "amount in whole tokens",
                ),
            ),
            (
                "deposit {amount} {token}",
                "deposit {amount} {token} into the pool",
                "put {amount} {token} into the pool",
                "add {amount} {token} to the pool",
                "deploy {amount} {token} into the pool",
                "supply {amount} {token} to the pool",
                "send {amount} {token} to the pool",
                "move {amount} {token} from my wallet to the pool",
                "provide {amount} {token} of liquidity",
                "increase my deposit by {amount} {token}",
                "store {amount} {token} in the pool",
                "invest {amount} {token} in the pool",
                "{token}: deposit {amount}",
                "add {amount} more {token}",
            ),
            replies=(
                "Successfully deployed",
                "Deposited",
                "Deposit accepted",
                "{amount} deposited",
            ),
            failures=("Error: insufficient balance", "Failed: deposits are closed"),
        ),
        action(
            "withdraw",
            "WithdrawTool / withdraw / withdraw funds / redeem / remove liquidity / pool withdraw / pull",
            (
                "Withdraw funds from the pool",
                "Takes tokens out of the pool, back to the wallet",
                "Removes liquidity",
                "Moves an amount of a token from the pool to the wallet.",
                "Redeem a deposit",
            ),
            (
                parameter(
                    "token",
                    ADDRESS,
                    "asset / token / token address",
                    "address of the token to withdraw",
                    "token to take out",
                    "the token's address",
                ),
                parameter(
                    "amount",
                    UINT,
                    "amount / value / qty",
                    "amount of tokens to withdraw",
                    "how much to withdraw",
                    "amount in whole tokens",
                ),
            ),
            (
                "withdraw {amount} {token}",
                "withdraw {amount} {token} from the pool",
                "take {amount} {token} out of the pool",
                "remove {amount} {token} from the pool",
                "pull {amount} {token} out of the pool",
                "get {amount} {token} back from the pool",
                "get my {amount} {token} back from the pool",
                "move {amount} {token} from the pool to my wallet",
                "return {amount} {token} to my wallet",
                "send {amount} {token} from the pool back to me",
                "redeem {amount} {token}",
                "take out {amount} {token}",
                "reduce my deposit by {amount} {token}",
                "cash out {amount} {token}",
            ),
            replies=("Successfully withdrawn", "Withdrawn", "Withdrawal complete"),
            failures=("Error: insufficient pool balance", "Failed: funds are locked"),
        ),
        look(
            "balance",
            "ViewBalanceTool / balance / get balance / pool balance / deposited amount / view deposit",
            (
                "View the balance in the pool",
                "Shows how many tokens are in the pool",
                "Returns the deposit of the wallet",
                "View balance of a token in the pool",
                "Reads a balance; changes nothing",
            ),
            (
                parameter(
                    "token",
                    ADDRESS,
                    "asset / token / token address",
                    "address of the token",
                    "token to look at",
                    "the token's address",
                ),
            ),
            (
                "show my {token} balance",
                "check the balance of {token}",
                "tell me my {token} balance",
                "view the {token} balance in the pool",
                "report the balance of {token}",
                "look up how much {token} I have in the pool",
                "What is my {token} balance?",
                "How much {token} do I have in the pool?",
                "How much {token} is in the pool?",
                "What's the {token} balance in the pool?",
                "How many {token} did I deposit?",
                "{token} balance?",
                "What do I have in {token}?",
            ),
            fact="n",
            replies=("The balance is: {n}", "Balance: {n}", "{n}", "{n} {token}", "You have {n}"),
        ),
        look(
            "info",
            "TokenInfoTool / token info / describe token / token name / lookup token",
            (
                "Get information about a token",
                "Returns symbol and name of a token",
                "Tells what a token contract is called",
            ),
            (
                parameter(
                    "token",
                    ADDRESS,
                    "token / token address / contract",
                    "address of the token",
                    "the token contract",
                ),
            ),
            (
                "tell me what token {token} is",
                "describe the token {token}",
                "look up the token {token}",
                "What is the name of the token {token}?",
                "What kind of token is {token}?",
            ),
            fact="name",
            replies=("It is called {name}", "Name: {name}", "symbol and name: {name}", "{name}"),
        ),
    ),
    (
        Chain(
            "balance",
            "withdraw",
            "withdraw all my {token} from the pool, after looking up how much it is",
            ("First, look up how much {token} is in the pool.", "Next, withdraw all {n} {token}."),
        ),
        Chain(
            "balance",
            "withdraw",
            "check my {token} balance in the pool and withdraw all of it",
            ("First, check the {token} balance in the pool.", "Next, withdraw all {n} {token}."),
        ),
    ),
)

EXCHANGE = Kind(
    "exchange",
    (
        "You trade tokens for the owner of this account.",
        "You are a trading agent on a decentralised exchange.",
        "You execute swaps. Never trade more than you are told to.",
    ),
    (
        action(
            "swap",
            "swap / swap tokens / exchange / trade / swap exact tokens / SwapTool / convert",
            (
                "Swaps one token for another",
                "Trade an exact amount of one token for as much of another as the pool gives",
                "Exchanges tokens on the DEX",
                "sells token in, buys token out",
            ),
            (
                parameter(
                    "amount",
                    UINT,
                    "amount in / amount / amount to sell",
                    "how much to sell",
                    "exact amount of the token in",
                    "amount sold",
                ),
                parameter(
                    "token",
                    ADDRESS,
                    "token in / from / sell token / from token",
                    "token to sell",
                    "the token you give",
                    "token in",
                ),
                parameter(
                    "token2",
                    ADDRESS,
                    "token out / to / buy token / to token",
                    "token to buy",
                    "the token you get",
                    "token out",
                ),
            ),
            (
                "swap {amount} {token} for {token2}",
                "swap {amount} {token} to {token2}",
                "exchange {amount} {token} for {token2}",
                "trade {amount} {token} for {token2}",
                "convert {amount} {token} into {token2}",
                "sell {amount} {token} for {token2}",
                "buy {token2} with {amount} {token}",
                "turn {amount} {token} into {token2}",
                "change {amount} {token} to {token2}",
            ),
            replies=("Swapped", "Swap executed", "Trade done"),
            failures=("Error: slippage too high", "Error: insufficient liquidity"),
        ),
        look(
            "quote",
            "quote / get quote / get amounts out / estimate / QuoteTool / preview swap",
            (
                "Tells how much of a token a swap would give, without swapping",
                "Quotes a trade",
                "Price of a swap; changes nothing",
                "Returns the amount out for an amount in",
            ),
            (
                parameter("amount", UINT, "amount in / amount", "how much to sell", "amount in"),
                parameter("token", ADDRESS, "token in / from", "token to sell", "token in"),
                parameter("token2", ADDRESS, "token out / to", "token to buy", "token out"),
            ),
            (
                "quote {amount} {token} in {token2}",
                "tell me how much {token2} I would get for {amount} {token}",
                "estimate a swap of {amount} {token} to {token2}",
                "How much {token2} would I get for {amount} {token}?",
                "How many {token2} are {amount} {token} worth?",
                "What do I get in {token2} for {amount} {token}?",
                "How much {token2} for {amount} {token}?",
            ),
            fact="n",
            replies=("{n}", "Quote: {n}", "amount out: {n}", "You would get {n} {token2}"),
        ),
        action(
            "approve",
            "approve / approve router / allow spending / set allowance / ApproveTool",
            (
                "Allows the router to spend a token",
                "Approves an amount of a token for trading",
                "Must be called before a token is sold for the first time",
                "sets the router's allowance",
            ),
            (TOKEN, AMOUNT),
            (
                "approve {amount} {token}",
                "approve {amount} {token} for the router",
                "allow the router to spend {amount} {token}",
                "let the router use {amount} {token}",
                "set the router's allowance to {amount} {token}",
                "give the exchange an allowance of {amount} {token}",
            ),
            replies=("Approved", "Allowance set"),
        ),
        look(
            "price",
            "price / get price / spot price / token price / PriceTool",
            ("Current price of a token", "Returns the price in dollars", "reads the market price"),
            (TOKEN,),
            (
                "check the price of {token}",
                "tell me the {token} price",
                "look up what {token} costs",
                "What is the price of {token}?",
                "How much does {token} cost?",
                "What's {token} trading at?",
                "{token} price?",
            ),
            fact="n",
            replies=("{n}", "Price: {n}", "The price is {n}", "{n} USD"),
        ),
    ),
)

WALLET = Kind(
    "wallet",
    (
        "You manage a wallet.",
        "You are the assistant of a smart account. Follow the owner's instructions to the letter.",
        "You pay people on behalf of the owner.",
    ),
    (
        action(
            "transfer",
            "transfer / send / pay / transfer tokens / send tokens / TransferTool / make payment",
            (
                "Sends tokens to somebody",
                "Transfers an amount of a token to an account",
                "Pay someone",
                "Moves tokens out of the wallet, to a recipient",
            ),
            (TOKEN, WHO, AMOUNT),
            (
                "send {amount} {token} to {who}",
                "transfer {amount} {token} to {who}",
                "pay {who} {amount} {token}",
                "pay {amount} {token} to {who}",
                "give {who} {amount} {token}",
                "send {who} {amount} {token}",
                "move {amount} {token} to {who}",
                "forward {amount} {token} to {who}",
                "I owe {who} {amount} {token}, please pay.",
                "{who} gets {amount} {token}.",
            ),
            replies=("Sent", "Transferred", "Payment made", "{amount} sent"),
            failures=("Error: insufficient balance", "Error: recipient is blocked"),
        ),
        look(
            "balance of",
            "balance of / get balance / check balance / BalanceTool / token balance",
            (
                "Balance of an account",
                "Tells how many tokens somebody has",
                "Reads the token balance of any account",
            ),
            (TOKEN, HOLDER),
            (
                "check how much {token} {who} has",
                "look up the {token} balance of {who}",
                "tell me the {token} balance of {who}",
                "How much {token} does {who} have?",
                "What is the {token} balance of {who}?",
                "How many {token} does {who} hold?",
            ),
            fact="n",
            replies=("{n}", "Balance: {n}", "The balance is {n}", "{n} {token}"),
        ),
        action(
            "approve",
            "approve / approve spender / set allowance / grant allowance / permit",
            (
                "Lets an account spend tokens of the wallet",
                "Sets a spender's allowance",
                "Approves somebody to take up to an amount of a token",
            ),
            (
                TOKEN,
                parameter(
                    "who", ADDRESS, "spender / account / delegate", "who may spend", "the spender"
                ),
                AMOUNT,
            ),
            (
                "allow {who} to spend {amount} {token}",
                "approve {who} for {amount} {token}",
                "let {who} spend up to {amount} {token}",
                "give {who} an allowance of {amount} {token}",
                "set the allowance of {who} to {amount} {token}",
            ),
            replies=("Approved", "Allowance set"),
        ),
        look(
            "allowance",
            "allowance / get allowance / spending limit / AllowanceTool",
            (
                "What a spender may still spend",
                "Reads an allowance",
                "Remaining allowance of a spender",
            ),
            (
                TOKEN,
                parameter("who", ADDRESS, "spender / account", "the spender", "whose allowance"),
            ),
            (
                "check the {token} allowance of {who}",
                "tell me how much {token} {who} may spend",
                "How much {token} may {who} spend?",
                "What is the {token} allowance of {who}?",
            ),
            fact="n",
            replies=("{n}", "Allowance: {n}", "{n} left"),
        ),
        action(
            "batch",
            "batch transfer / send to many / pay all / MultiSend",
            (
                "Sends the same amount of a token to each of several accounts",
                "Pays several people at once",
            ),
            (
                TOKEN,
                parameter(
                    "whos",
                    ADDRESS_ARRAY,
                    "recipients / accounts / receivers",
                    "who gets it",
                    "list of recipients",
                ),
                parameter(
                    "amount", UINT, "amount each / amount", "how much each gets", "amount for each"
                ),
            ),
            (
                "send {amount} {token} each to {whos}",
                "pay {whos} {amount} {token} each",
                "give {amount} {token} to each of {whos}",
            ),
            replies=("All paid", "Sent to all"),
        ),
    ),
)

STAKING = Kind(
    "staking",
    (
        "You run a staking position.",
        "You are a staking assistant. Act only when asked to.",
        "You help a token holder to earn staking rewards.",
    ),
    (
        action(
            "stake",
            "stake / stake tokens / lock / bond / StakeTool / deposit stake",
            ("Stakes tokens", "Locks tokens to earn rewards", "Adds to the stake", "bonds tokens"),
            (AMOUNT,),
            (
                "stake {amount}",
                "stake {amount} tokens",
                "lock {amount} tokens",
                "add {amount} to my stake",
                "bond {amount} tokens",
                "put {amount} tokens to work",
                "start earning rewards with {amount} tokens",
            ),
            replies=("Staked", "Stake increased"),
            failures=("Error: below the minimum stake",),
        ),
        action(
            "unstake",
            "unstake / unstake tokens / unlock / unbond / UnstakeTool / withdraw stake",
            (
                "Unstakes tokens",
                "Unlocks staked tokens",
                "Takes tokens out of the stake",
                "unbonds",
            ),
            (AMOUNT,),
            (
                "unstake {amount}",
                "unstake {amount} tokens",
                "unlock {amount} tokens",
                "take {amount} out of my stake",
                "unbond {amount} tokens",
                "reduce my stake by {amount}",
                "stop staking {amount} tokens",
            ),
            replies=("Unstaked", "Stake reduced", "Unlocked"),
            failures=("Error: still locked",),
        ),
        action(
            "claim",
            "claim rewards / claim / harvest / collect rewards / ClaimTool",
            ("Claims the rewards", "Pays out what the stake has earned", "collects rewards"),
            (),
            (
                "claim my rewards",
                "collect my staking rewards",
                "harvest the rewards",
                "pay out what I earned",
                "get my rewards",
            ),
            replies=("Claimed", "Rewards paid"),
            failures=("Error: nothing to claim",),
        ),
        look(
            "pending",
            "pending rewards / earned / rewards / get rewards / RewardsTool",
            (
                "Rewards that can be claimed",
                "How much the stake has earned so far",
                "unclaimed rewards",
            ),
            (),
            (
                "check my pending rewards",
                "tell me how much I have earned",
                "show the unclaimed rewards",
                "How much did I earn?",
                "How many rewards can I claim?",
                "What are my pending rewards?",
            ),
            fact="n",
            replies=("{n}", "Pending: {n}", "You earned {n}", "{n} tokens"),
        ),
        action(
            "delegate",
            "delegate / delegate stake / choose validator / set validator",
            ("Delegates the stake to a validator", "Chooses who validates with the stake"),
            (
                parameter(
                    "who",
                    ADDRESS,
                    "validator / operator / to",
                    "the validator",
                    "whom to delegate to",
                ),
            ),
            (
                "delegate my stake to {who}",
                "choose {who} as my validator",
                "switch to the validator {who}",
                "let {who} validate for me",
            ),
            replies=("Delegated", "Validator set"),
        ),
    ),
    (
        Chain(
            "pending",
            "stake",
            "look up my pending rewards and stake as many tokens",
            ("First, look up the pending rewards.", "Next, stake {n} tokens."),
        ),
    ),
)

LENDING = Kind(
    "lending",
    (
        "You manage a loan on a lending market.",
        "You help a borrower to stay safe.",
        "You operate an account of a money market.",
    ),
    (
        action(
            "borrow",
            "borrow / take loan / BorrowTool / open loan / draw",
            ("Borrows tokens", "Takes a loan against the collateral", "Draws an amount of a token"),
            (TOKEN, AMOUNT),
            (
                "borrow {amount} {token}",
                "take a loan of {amount} {token}",
                "lend me {amount} {token}",
                "draw {amount} {token} against my collateral",
                "I need a loan of {amount} {token}.",
            ),
            replies=("Borrowed", "Loan paid out"),
            failures=("Error: not enough collateral",),
        ),
        action(
            "repay",
            "repay / repay loan / pay back / RepayTool / close loan",
            ("Repays a loan", "Pays borrowed tokens back", "Reduces the debt"),
            (TOKEN, AMOUNT),
            (
                "repay {amount} {token}",
                "pay back {amount} {token}",
                "pay {amount} {token} of my debt back",
                "reduce my debt by {amount} {token}",
                "return {amount} {token} to the lender",
            ),
            replies=("Repaid", "Debt reduced"),
        ),
        action(
            "collateral",
            "supply collateral / add collateral / post collateral / pledge / CollateralTool",
            (
                "Adds collateral",
                "Pledges tokens as security for a loan",
                "Posts a token as collateral",
            ),
            (TOKEN, AMOUNT),
            (
                "add {amount} {token} as collateral",
                "post {amount} {token} as collateral",
                "pledge {amount} {token}",
                "use {amount} {token} as security",
                "top up my collateral with {amount} {token}",
            ),
            replies=("Collateral added", "Pledged"),
        ),
        look(
            "health",
            "health factor / get health / loan health / HealthTool / is safe",
            (
                "Health factor of the loan in percent",
                "How safe the loan is",
                "reads the loan's health",
            ),
            (),
            (
                "check the health of my loan",
                "tell me my health factor",
                "look up how safe my loan is",
                "What is my health factor?",
                "How healthy is my loan?",
                "How safe is my position?",
            ),
            fact="percent",
            replies=("{percent}", "Health: {percent} %", "health factor {percent}"),
        ),
        look(
            "debt",
            "debt / get debt / borrowed / DebtTool / amount owed",
            ("What is owed in a token", "Outstanding debt", "Returns the borrowed amount"),
            (TOKEN,),
            (
                "check my {token} debt",
                "tell me how much {token} I owe",
                "How much {token} do I owe?",
                "What is my {token} debt?",
                "How much {token} did I borrow?",
            ),
            fact="n",
            replies=("{n}", "Debt: {n}", "You owe {n}", "{n} {token}"),
        ),
    ),
    (
        Chain(
            "debt",
            "repay",
            "look up my {token} debt and repay all of it",
            ("First, look up the {token} debt.", "Next, repay all {n} {token}."),
        ),
        Chain(
            "debt",
            "repay",
            "check how much {token} I owe, then pay everything back",
            ("First, check how much {token} is owed.", "Next, pay back {n} {token}."),
        ),
    ),
)

INSURANCE = Kind(
    "insurance",
    ("You handle insurance policies.", "You are a broker for an on-chain insurance."),
    (
        action(
            "cover",
            "buy cover / insure / BuyPolicy / purchase cover",
            ("Buys cover for some days", "Takes out a policy", "Insures an amount for a time"),
            (
                AMOUNT,
                parameter(
                    "days", UINT, "days / duration / period", "for how many days", "days of cover"
                ),
            ),
            (
                "buy cover of {amount} for {days} days",
                "insure {amount} for {days} days",
                "take out a policy over {amount} for {days} days",
                "get me {days} days of cover for {amount}",
            ),
            replies=("Cover bought", "Policy active"),
        ),
        action(
            "claim",
            "file claim / submit claim / ClaimTool / report damage",
            ("Files a claim", "Reports a damage to the insurer", "Submits a claim with a reason"),
            (
                parameter(
                    "message", STRING, "reason / description / text", "what happened", "the reason"
                ),
            ),
            (
                'file a claim: "{message}"',
                'submit a claim with the reason "{message}"',
                'report the damage "{message}"',
                'tell the insurer "{message}"',
            ),
            replies=("Claim filed", "Claim received"),
        ),
        look(
            "status",
            "claim status / get claim / ClaimStatus / check claim",
            ("Status of a claim", "Tells how far a claim is"),
            (
                parameter(
                    "id", UINT, "claim id / id / claim number", "number of the claim", "which claim"
                ),
            ),
            (
                "check claim {id}",
                "tell me the status of claim {id}",
                "What is the status of claim {id}?",
                "How far is claim number {id}?",
            ),
            fact="state",
            replies=("{state}", "Status: {state}", "The claim is {state}"),
        ),
        action(
            "cancel",
            "cancel policy / cancel cover / end policy / CancelTool",
            ("Cancels a policy", "Ends the cover"),
            (
                parameter(
                    "id", UINT, "policy id / id / policy", "number of the policy", "which policy"
                ),
            ),
            (
                "cancel policy {id}",
                "end policy number {id}",
                "terminate my policy {id}",
                "I no longer need policy {id}, cancel it.",
            ),
            replies=("Cancelled",),
        ),
    ),
)

PAYROLL = Kind(
    "payroll",
    ("You run the payroll of a small DAO.", "You manage token streams and vesting plans."),
    (
        action(
            "stream",
            "create stream / open stream / start stream / StreamTool / new vesting",
            (
                "Starts paying somebody over some days",
                "Creates a stream of tokens",
                "Opens a vesting plan",
            ),
            (
                WHO,
                AMOUNT,
                parameter(
                    "days", UINT, "days / duration / period", "over how many days", "length in days"
                ),
            ),
            (
                "stream {amount} to {who} over {days} days",
                "start a stream of {amount} to {who} for {days} days",
                "pay {who} {amount} over {days} days",
                "open a vesting plan of {amount} for {who}, {days} days long",
                "vest {amount} to {who} over {days} days",
            ),
            replies=("Stream created", "Stream started"),
        ),
        action(
            "cancel",
            "cancel stream / stop stream / end stream / close stream",
            ("Stops a stream", "Cancels a vesting plan", "Ends payments of a stream"),
            (
                parameter(
                    "id", UINT, "stream id / id / stream", "number of the stream", "which stream"
                ),
            ),
            (
                "cancel stream {id}",
                "stop stream {id}",
                "end stream number {id}",
                "close the stream {id}",
            ),
            replies=("Cancelled", "Stream stopped"),
        ),
        action(
            "release",
            "release / release vested / withdraw from stream / pay out",
            ("Pays out what has vested", "Releases the vested tokens of a stream"),
            (
                parameter(
                    "id", UINT, "stream id / id / stream", "number of the stream", "which stream"
                ),
            ),
            (
                "release stream {id}",
                "pay out what has vested in stream {id}",
                "release the vested tokens of stream {id}",
                "withdraw from stream {id}",
            ),
            replies=("Released", "Paid out"),
        ),
        look(
            "vested",
            "vested amount / get vested / stream balance / VestedTool",
            ("How much has vested in a stream", "Reads the vested amount"),
            (
                parameter(
                    "id", UINT, "stream id / id / stream", "number of the stream", "which stream"
                ),
            ),
            (
                "check how much has vested in stream {id}",
                "tell me the vested amount of stream {id}",
                "How much has vested in stream {id}?",
                "What is the vested amount of stream {id}?",
            ),
            fact="n",
            replies=("{n}", "Vested: {n}", "{n} tokens have vested"),
        ),
    ),
)

DEFI = (POOL, EXCHANGE, WALLET, STAKING, LENDING, INSURANCE, PAYROLL)
