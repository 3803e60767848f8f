"""Tasks of agents that act through an account with tools made of contracts' functions.

Requests are balances of the account, quotes, swaps of the native currency and of tokens, deposits
and stakes, some of which need an approval first, and functions that the account cannot call. Why
not is a line of the base prompt, and the right answer is this line. Recipients, deadlines and
minimums are derived, so the tools do not have them as parameters.

For the short format. Tokens, contracts and wordings are others than those of
`benchmarks/contract_wordings.toml`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.abi import ParamDescription, ParamType
from training.agents import to_camel, to_snake, to_tool_name
from training.slots import address_of
from training.tasks import Task, TaskStep, TaskTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from training.tasks import Argument, Category

NATIVES = ("AVAX", "POL", "CELO", "xDAI", "FTM", "S", "MNT", "GLMR")
TOKENS = (
    ("LINK", 18), ("EURC", 6), ("AAVE", 18), ("WBTC", 8), ("GHO", 18), ("PYUSD", 6), ("CRV", 18),
    ("GUSD", 2), ("stETH", 18), ("UNI", 18), ("cbBTC", 8), ("FRAX", 18), ("ENS", 18), ("TUSD", 18),
)  # fmt: skip
"""Symbols and decimals."""

NATIVE_DECIMALS = 18

EXCHANGES = (
    "Sushi",
    "Pangolin",
    "Camelot",
    "Aerodrome",
    "QuickExchange",
    "Velodrome",
    "Trisolaris",
)
TRADE_FUNCTIONS = ("tradeExactIn", "sellExactInput", "exchangeTokens", "convertExactAmount")
QUOTE_FUNCTIONS = ("previewOutput", "computeAmountOut", "estimateReceived", "getReturn")
"""Names of functions that become one tool a route, with the route in the tool's name."""

HOLDERS = ("vault", "farm", "savings", "gauge", "staker", "moneyMarket")

ROLES = (
    "You act for the owner of an account with the functions below.",
    "You are an agent with an account on a blockchain. Use a tool only if it does what is asked.",
    "You carry out what the owner of the account says.",
    "Each tool is a function of a contract. The account is the caller.",
    "You look after an account. Answer with a reason if something is not possible.",
)
DERIVED = (
    "to: the agent's account; deadline: 20 minutes",
    "recipient: the agent's account",
    "to: the agent's account; least output: 1% less than a simulation gives",
    "minimum and deadline are set",
    "",
)

READS = (
    "how much {x} do I own", "how much {x} is in the account", "show what I hold of {x}",
    "read my holdings of {x}", "tell me the amount of {x} that we have", "look up our {x}",
    "say how many {x} the account has", "what does my account hold in {x}", "count my {x}",
    "find out how rich I am in {x}", "report the {x} that is left", "is there any {x} in my account",
)  # fmt: skip
QUOTES = (
    "what would {n} {x} bring in {y}", "estimate the {y} for {n} {x}", "what are {n} {x} worth in {y}",
    "preview trading {n} {x} into {y}", "check the rate of {n} {x} against {y}",
    "tell me what I would get in {y} if I gave {n} {x}", "price {n} {x} in {y}",
    "work out the {y} that {n} {x} would buy", "calculate {n} {x} in {y}",
    "show the output in {y} of {n} {x}", "give me an offer in {y} on {n} {x}",
    "say how many {y} {n} {x} would make",
)  # fmt: skip
SWAPS = (
    "trade {n} {x} for {y}", "exchange {n} {x} for {y}", "turn {n} {x} into {y}", "sell {n} {x} for {y}",
    "convert {n} {x} to {y}", "change {n} of our {x} into {y}", "use {n} {x} to buy {y}",
    "give {n} {x} and take {y}", "buy {y} with {n} {x}", "move {n} from {x} to {y}",
    "get {y} for {n} {x}", "spend {n} {x} on {y}",
)  # fmt: skip
PUTS = (
    "put {n} {x} into the {h}", "deposit {n} {x} in the {h}", "lock {n} {x} in the {h}",
    "stake {n} {x} with the {h}", "add {n} {x} to the {h}", "place {n} {x} in the {h}",
    "let the {h} have {n} {x}", "invest {n} {x} through the {h}",
)  # fmt: skip
APPROVALS = (
    "allow the {h} to take {n} {x}", "approve {n} {x} for the {h}", "permit the {h} to spend {n} {x}",
    "give the {h} an allowance of {n} {x}", "let the {h} draw {n} {x}",
    "set the allowance of the {h} to {n} {x}", "authorize the {h} for {n} {x}",
    "clear {n} {x} for the {h}",
)  # fmt: skip

CALLS = (
    "call {f}", "run {f}", "execute {f}", "use the function {f}", "try {f}", "invoke {f}",
    "make the account call {f}", "send a transaction to {f}",
)  # fmt: skip
"""Of functions by name; the others are by what they do."""

WRAPS = (
    "{C}", "{C}.", "Please {c}.", "please {c}", "Could you {c}?", "Now {c}.", "{C}, thanks.",
    "I'd like you to {c}.", "Can you {c}?", "Hello, {c}.", "{C} now.",
)  # fmt: skip

IDLE = (
    "tell me a joke", "paint the fence", "book a table for 4", "play a song", "feed the cat",
    "translate this into Spanish", "order 2 pizzas", "write a letter to my landlord",
)  # fmt: skip
"""Requests for which there is neither a tool nor a reason: `I can't do that.`"""


@dataclass(frozen=True, slots=True)
class ClosedFunction:
    """A function that the account cannot call, and what it does in users' words."""

    name: str
    effects: tuple[str, ...]


CLOSED = (
    ClosedFunction(
        "setFeeRecipient", ("send the fees somewhere else", "redirect the protocol fees")
    ),
    ClosedFunction("freezeAccount", ("freeze an account", "block somebody's account")),
    ClosedFunction("addValidator", ("add a validator", "let another validator in")),
    ClosedFunction("updateOracle", ("replace the price oracle", "switch to another oracle")),
    ClosedFunction("rescueTokens", ("rescue the stuck tokens", "pull out tokens sent by mistake")),
    ClosedFunction("setInterestRate", ("change the interest rate", "make borrowing cheaper")),
    ClosedFunction("shutdown", ("shut the contract down", "switch everything off")),
    ClosedFunction("harvest", ("harvest the strategy", "collect the strategy's profit")),
    ClosedFunction("migrateVault", ("migrate the vault", "move the vault to a new version")),
    ClosedFunction("whitelistAsset", ("whitelist an asset", "accept a new asset")),
    ClosedFunction("setGuardian", ("appoint a guardian", "name another guardian")),
    ClosedFunction("increaseSupply", ("increase the supply", "create more of the token")),
    ClosedFunction("emergencyExit", ("start an emergency exit", "pull the emergency brake")),
    ClosedFunction(
        "setCollateralFactor", ("raise the collateral factor", "lend more per collateral")
    ),
    ClosedFunction("grantAllowlist", ("put somebody on the allowlist", "admit a new member")),
    ClosedFunction("configureBridge", ("configure the bridge", "set the bridge up again")),
)
REASONS = (
    "only {who} can execute it, and my account is not {who}",
    "it is reserved for {who}",
    "it reverts for my account: {who} could call it",
    "my account does not have the role of {who}",
    "the contract lets {who} alone call it",
    "only {who} may, and my account is not it",
    "only {address} may, and my account is not it",
    "only {address} ({who}) may, and my account is not it",
    "only accounts with a role in the contract may, such as {address}, and my account is not one",
    "only accounts with a role in the contract may, and my account is not one",
    "only the owner may, and there is none at present",
)
"""`{address}` is written in full in the base prompt: its handle is in the model's."""

CALLERS = (
    "the owner", "the guardian", "the admin", "the keeper", "the governor", "the timelock",
    "the multisig", "the manager of the contract", "alice", "ops-wallet",
)  # fmt: skip

FUNCTION_NAMES_SHARE = 0.5
"""Share of tokens whose quotes and swaps are named as functions of a router, and their route."""

MEASURED_OF = 4
"""One of this number of wordings is for measuring only."""


def account_groups(
    seed: int, *, requests: int, measures: bool = False
) -> Iterator[tuple[Task, ...]]:
    """Generate tasks endlessly, in groups with the same agent.

    Input:
        requests: maximum number of tasks in a group.
        measures: whether the tasks are for measuring, with wordings that training never has.
    """
    rng = random.Random(f"account tools {seed} {measures}")
    while True:
        yield _Agent(rng, measures=measures).make_tasks(requests)


class _Agent:
    """An agent with an account, and its tools."""

    def __init__(self, rng: random.Random, *, measures: bool) -> None:
        self._rng = rng
        self._measures = measures
        self._native = rng.choice(NATIVES)
        self._tokens = rng.sample(TOKENS, rng.randint(1, 3))
        self._exchange = rng.choice(EXCHANGES)
        self._holder = rng.choice(HOLDERS)
        self._style = rng.choice((to_camel, to_camel, to_snake, to_tool_name))
        names = [symbol for symbol, _ in self._tokens]
        self._places = {
            name: address_of(rng) for name in (*names, self._exchange, self._holder, "ACCOUNT")
        }
        if rng.random() < 0.5:
            self._places[rng.choice(("OWNER", "ADMIN", "TREASURER", "dao-council"))] = address_of(
                rng
            )
        self._closed = {
            function: self._write_refusal(function)
            for function in rng.sample(CLOSED, rng.randint(1, 4))
        }
        self._needs_approval = rng.random() < 0.4
        """Whether approvals are steps of their own; otherwise a tool gives them by itself."""

        self._tools: dict[str, TaskTool] = {}
        """By use and tokens, such as `read LINK`."""

        for symbol, decimals in self._tokens:
            self._add_token(symbol, decimals)
        self._prompt = self._write_prompt()

    def make_tasks(self, count: int) -> tuple[Task, ...]:
        """Generate tasks with different questions."""
        makers = [self._read, self._quote, self._swap, self._put, self._refuse, self._refuse]
        makers += [self._approve] if self._needs_approval else []
        weighted = [*makers, *makers, self._idle]
        tasks = [self._rng.choice(weighted)() for _ in range(count)]
        return tuple({task.question: task for task in tasks}.values())

    def _add_token(self, symbol: str, decimals: int) -> None:
        rng, native, holder = self._rng, self._native, self._holder
        derived = rng.choice(DERIVED)
        more = f" ({derived})" if derived else ""
        needs = f"; {symbol} must be approved for it first" if self._needs_approval else ""
        read = rng.choice(("balance of", "holdings", "balance in"))
        amount = (_state_units("amount in", symbol, decimals, rng),)
        native_amount = (_state_units("amount in", native, NATIVE_DECIMALS, rng),)
        trade = rng.choice(("exchange", "trade", "sell"))
        quote = rng.choice(("quote", "preview", "amount out"))
        names_functions = rng.random() < FUNCTION_NAMES_SHARE
        trade_function, quote_function = rng.choice(TRADE_FUNCTIONS), rng.choice(QUOTE_FUNCTIONS)
        put = rng.choice(("deposit", "stake", "supply"))
        self._add("read", symbol, f"{read} {symbol}", f"{symbol} of the agent's account")
        for give, get, units in ((native, symbol, native_amount), (symbol, native, amount)):
            pair, route = f"{give} {get}", f"{give}_for_{get}"
            self._add(
                "quote", pair, f"{quote} {pair}",
                f"What {self._exchange} would give in {get} for {give}; changes nothing", units,
                full_name=f"{quote_function}_{route}" if names_functions else "",
            )  # fmt: skip
            first = needs if give == symbol else ""
            self._add(
                "swap", pair, f"{trade} {pair}",
                f"Gives {give} to {self._exchange} for {get}{first}{more}", units, is_action=True,
                full_name=f"{trade_function}_{route}" if names_functions else "",
            )  # fmt: skip
        self._add(
            "put", symbol, f"{put} {symbol}", f"Puts {symbol} of the account into {holder}{needs}",
            amount, is_action=True,
        )  # fmt: skip
        if self._needs_approval:
            for spender in (self._exchange, holder):
                self._add(
                    "approve", f"{symbol} {spender}", f"approve {symbol} {spender}",
                    f"Lets {spender} take {symbol} of the account", amount, is_action=True,
                )  # fmt: skip

    def _add(
        self,
        use: str,
        of: str,
        name: str,
        description: str,
        parameters: tuple[ParamDescription, ...] = (),
        *,
        is_action: bool = False,
        full_name: str = "",
    ) -> None:
        """Add a tool. Input: full_name: its name as it is; by default its words in a style."""
        words = " ".join(word[0].lower() + word[1:] for word in name.split())
        self._tools[f"{use} {of}"] = TaskTool(
            name=full_name or self._style(words),
            description=description,
            parameters=parameters,
            is_action=is_action,
            default_reply="Done" if is_action else "0",
        )

    def _write_refusal(self, function: ClosedFunction) -> str:
        address = self._rng.choice((*self._places.values(), address_of(self._rng)))
        reason = self._rng.choice(REASONS).format(who=self._rng.choice(CALLERS), address=address)
        place = self._rng.choice(("", "", f" of {self._exchange}", f" of {self._holder}"))
        return f"I cannot call {function.name}{place} because {reason}."

    def _write_prompt(self) -> str:
        rng = self._rng
        lines = [f"{name} = {address}" for name, address in self._places.items()]
        parts = [rng.choice(ROLES), "\n".join(lines)]
        refusals = "\n".join(self._closed.values())
        parts.insert(rng.randint(1, len(parts)), refusals)
        return "\n\n".join(parts)

    def _read(self) -> Task:
        symbol, decimals = self._rng.choice(self._tokens)
        clause = self._word(READS, x=symbol)
        amount = self._amount(decimals)
        reply = f"{amount} {symbol}"
        return self._task("one step", clause, [(f"read {symbol}", None, reply)], fact=reply)

    def _quote(self) -> Task:
        give, get, decimals, other = self._pair()
        given, got = self._amount(decimals), self._amount(other)
        clause = self._word(QUOTES, n=given, x=give, y=get)
        reply = self._rng.choice((f"{got} {get}", f"amounts: {given} {give}, {got} {get}"))
        step = (f"quote {give} {get}", _scale(given, decimals), reply)
        return self._task("one step", clause, [step], fact=f"{got} {get}")

    def _swap(self) -> Task:
        give, get, decimals, other = self._pair()
        given = self._amount(decimals)
        clause = self._word(SWAPS, n=given, x=give, y=get)
        reply = self._rng.choice(("Done", f"amounts: {given} {give}, {self._amount(other)} {get}"))
        value = _scale(given, decimals)
        steps = [(f"swap {give} {get}", value, reply)]
        if self._needs_approval and give != self._native:
            steps.insert(0, (f"approve {give} {self._exchange}", value, "Done"))
        return self._task("several steps" if len(steps) > 1 else "one step", clause, steps)

    def _put(self) -> Task:
        symbol, decimals = self._rng.choice(self._tokens)
        given = self._amount(decimals)
        clause = self._word(PUTS, n=given, x=symbol, h=self._holder)
        value = _scale(given, decimals)
        steps = [(f"put {symbol}", value, self._rng.choice(("Done", f"shares: {given}")))]
        if self._needs_approval:
            steps.insert(0, (f"approve {symbol} {self._holder}", value, "Done"))
        return self._task("several steps" if len(steps) > 1 else "one step", clause, steps)

    def _approve(self) -> Task:
        symbol, decimals = self._rng.choice(self._tokens)
        spender = self._rng.choice((self._exchange, self._holder))
        given = self._amount(decimals)
        clause = self._word(APPROVALS, n=given, x=symbol, h=spender)
        step = (f"approve {symbol} {spender}", _scale(given, decimals), "Done")
        return self._task("one step", clause, [step])

    def _refuse(self) -> Task:
        function, line = self._rng.choice([*self._closed.items()])
        by_name = self._choose(CALLS).format(f=function.name)
        by_effect = self._choose(function.effects, share=2)
        clause = by_name if self._rng.random() < 0.5 else by_effect
        return self._task("no tool", clause, [], answer=line)

    def _idle(self) -> Task:
        return self._task("no tool", self._choose(IDLE), [], answer="I can't do that.")

    def _pair(self) -> tuple[str, str, int, int]:
        """Choose what is given and got, with their decimals."""
        symbol, decimals = self._rng.choice(self._tokens)
        if self._rng.random() < 0.5:
            return self._native, symbol, NATIVE_DECIMALS, decimals
        return symbol, self._native, decimals, NATIVE_DECIMALS

    def _amount(self, decimals: int) -> str:
        """Return a number of whole tokens that has at most as many decimals as the token."""
        rng = self._rng
        whole = rng.choice((0, rng.randint(1, 9), rng.randint(1, 100), rng.randint(1, 5_000)))
        if whole and rng.random() < 0.5:
            return str(whole)
        places = rng.randint(1, min(decimals, 3))
        return f"{whole}.{rng.randint(1, 10**places - 1):0{places}d}"

    def _word(self, wordings: Sequence[str], **slots: str) -> str:
        return self._choose(wordings).format(**slots)

    def _choose(self, wordings: Sequence[str], *, share: int = MEASURED_OF) -> str:
        """Choose a wording: of those for measuring, every `share`-th, or of the others."""
        measured = wordings[share - 1 :: share]
        others = [one for one in wordings if one not in measured]
        return self._rng.choice(measured if self._measures else others)

    def _task(
        self,
        category: Category,
        clause: str,
        uses: Sequence[tuple[str, int | None, str]],
        *,
        fact: str = "",
        answer: str = "",
    ) -> Task:
        """Build a task: uses of tools with an amount in base units, and their results."""
        said = self._rng.choice(WRAPS).format(c=clause, C=clause[0].upper() + clause[1:])
        steps = []
        for key, value, reply in uses:
            tool = self._tools[key]
            arguments: dict[str, Argument] = {}
            if value is not None:
                arguments[tool.parameters[0].name] = value
            steps.append(
                TaskStep(
                    thought=f"{clause[0].upper()}{clause[1:]}.",
                    tool=tool.name,
                    arguments=arguments,
                    observation=reply,
                    clause=clause,
                )
            )
        return Task(
            category=category,
            kind="account tools",
            is_held_out=False,
            base_prompt=self._prompt,
            tools=tuple(self._tools.values()),
            question=said,
            steps=tuple(steps),
            thought=clause,
            answer=answer or f"Done. {fact}".strip(),
            facts=(fact,) if fact else (),
        )


def _scale(amount: str, decimals: int) -> int:
    """Return an amount of whole tokens in base units."""
    whole, _, fraction = amount.partition(".")
    return int(whole + fraction + "0" * (decimals - len(fraction)))


def _state_units(name: str, symbol: str, decimals: int, rng: random.Random) -> ParamDescription:
    """Return a parameter whose description states the token and its decimals."""
    text = rng.choice(
        (f"{symbol} to give, {decimals} decimals", f"amount of {symbol} with {decimals} decimals")
    )
    return ParamDescription(param_type=ParamType.UINT, name=to_camel(name), description=text)
