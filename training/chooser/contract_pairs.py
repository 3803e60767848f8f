"""Pairs for tools as `tools deploy` writes them: functions of contracts, with units and lists.

    Send Ann 5 USDC and Ben 7.50          transfer: to = Ann, Ben; value = 5 usdc, 7.5 usdc
    Lock booths 2, 3 and 6, please        lock booth: booth (its number, 1 to 12) = 2, 3, 6
    Book room 4 on Thursday at 3 pm       book room: day (1 is Monday, …) = thursday; hour = 15

Descriptions are those of known standards and of NatSpec, or a name with its contract alone. Wrong
calls are of another tool, another value, exchanged values, or a list that lacks one. Sentences
stand in templates (`templates.py`), or beside a sentence that gives a reason, and may say `him`
or `her` for a person that it names.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.short_format.call_text import CallArgument, shorten_quotations, write_call
from training.chooser.pairs import UNTOLD, Pair, fill_nested

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from training.chooser.templates import Template

FAMILY = "contracts"
PEOPLE = (
    "Ann", "Ben", "Cleo", "Dario", "Edda", "Finn", "Gwen", "Hana", "Ilya", "Joan", "Kian", "Lola",
    "Marek", "Nils", "Orla", "Pia", "Quentin", "Ravi", "Sofie", "Tom", "Ulla", "Vito", "Wanda",
    "Yara", "Zeno", "addr1", "addr2", "addr3", "Plumber", "Landlord", "Treasury",
)  # fmt: skip
SYMBOLS = (
    ("USDC", "USD Coin", 6), ("DAI", "Dai Stablecoin", 18), ("WETH", "Wrapped Ether", 18),
    ("EURC", "Euro Coin", 6), ("LINK", "ChainLink Token", 18), ("ARC", "Arcade Points", 0),
    ("HERB", "Herb Token", 18), ("TIDE", "Tide Credit", 8), ("OAK", "Oak Shares", 0),
    ("GUSD", "Gemini dollar", 2), ("FERN", "Fern Coin", 4), ("ROOK", "Rook", 9),
)  # fmt: skip
NOUNS = (
    "booth", "locker", "silo", "tram", "hangar", "cabin", "field", "lane", "pump", "turbine",
    "counter", "bed", "screen", "elevator", "workbench", "greenhouse", "antenna", "desk", "barrel",
    "container", "parcel", "ticket", "loan", "invoice", "petition", "order", "member card",
)  # fmt: skip
ACTS = (
    ("lock", "unlock"), ("open", "close"), ("reserve", "release"), ("start", "stop"),
    ("enable", "disable"), ("clean", ""), ("inspect", ""), ("cancel", ""), ("archive", "restore"),
    ("fill", "empty"), ("approve", "reject"), ("pause", "resume"), ("renew", ""), ("repair", ""),
    ("freeze", "unfreeze"), ("list", "delist"), ("assign", ""), ("hide", "show"),
)  # fmt: skip
ASIDES = (
    "{who} helped a lot yesterday.", "{who} did a great job.", "{who} paid for the taxi.",
    "It's {who}'s birthday.", "{who} has been waiting for this.", "I promised it to {who}.",
    "{who} worked late again this week.", "I spoke to {who} this morning.",
)  # fmt: skip
CHATS = (
    "The weather is lovely today.", "Sorry for the late message.", "We talked about it at lunch.",
    "The board has agreed.", "It was a long week.", "I'm just back from holiday.",
    "The auditors come on Friday.", "Everybody is happy with it.", "The old one is broken.",
    "No rush, but today would be good.", "I hope that all is well.", "Good news from the office.",
)  # fmt: skip
TAILS = (
    " for the train", " as a thank you", " for her trouble", " for his work", " for the materials",
    " as agreed", " for lunch", ", it's for the roof", " - she has earned it", ", they need it",
    " because it's broken", " so that we're ready", ", thanks", " please", "!", " :)", "",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)  # fmt: skip
TEENS = {20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 90: "ninety"}
JOINS = (" and ", " and ", ", ", " & ", ", and ")
OPENINGS = ("", "", "", "", "then ", "and then ", "after that ", "also ", "1) ", "2. ", "- ")
KINDS = (
    "right", "right", "right", "several", "several", "person", "rejected", "rejected", "tool",
    "tool", "value", "swapped", "lacking", "two",
)  # fmt: skip
TRIES = 20
MOST_ID = 40
HALF = 0.5


@dataclass(frozen=True, slots=True)
class Said:
    """A value as a sentence says it, and as a call shows it."""

    text: str
    value: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter: name, description, and what fills it."""

    name: str
    about: str
    kind: str


@dataclass(frozen=True, slots=True)
class ContractTool:
    """A tool, and the orders that ask for it, with `{slot}` for values."""

    name: str
    about: str
    slots: tuple[Slot, ...]
    orders: tuple[str, ...]
    listed: tuple[str, ...] = ()
    """Orders with a list in the place of one slot."""


def make_contract_pairs(templates: Sequence[Template], count: int, seed: int) -> Iterator[Pair]:
    """Generate pairs; a function of the templates, the number and the seed."""
    rng = random.Random(f"contract pairs {seed}")
    accepting = [one for one in templates if one.accepts]
    rejecting = [one for one in templates if not one.accepts and not one.is_plain]
    made = 0
    while made < count:
        found = _Scene(rng, accepting, rejecting).make(rng.choice(KINDS))
        if found is not None:
            made += 1
            yield found


class _Scene:
    """A contract's tools, and one order to one of them."""

    def __init__(
        self, rng: random.Random, accepting: Sequence[Template], rejecting: Sequence[Template]
    ) -> None:
        self._rng, self._accepting, self._rejecting = rng, accepting, rejecting
        self._symbol, self._token, _ = rng.choice(SYMBOLS)
        self._people = rng.sample(PEOPLE, 4)
        self._tools = rng.choice((_list_token_tools, _list_thing_tools, _list_thing_tools))(
            rng, self._symbol, self._token
        )
        self._tool = rng.choice(self._tools)

    def make(self, kind: str) -> Pair | None:
        """Return a pair of a kind; None if the tool allows none."""
        rng, tool = self._rng, self._tool
        values = {slot.kind: self._say(slot.kind) for slot in tool.slots}
        if kind in {"several", "lacking"}:
            return self._list(values, is_lacking=kind == "lacking")
        order = rng.choice(tool.orders).format(**{k: v.text for k, v in values.items()})
        call = self._call(tool, {k: v.value for k, v in values.items()})
        match kind:
            case "right":
                return self._pair(self._wrap(order), call, kind, accepts=True, orders=True)
            case "person":
                return self._refer(values, call)
            case "rejected":
                template = rng.choice(self._rejecting)
                sentence = fill_nested(template, order, self._accepting, rng)
                orders = None if template.kind in UNTOLD else False
                if sentence is None:
                    return None
                return self._pair(sentence, call, template.kind, accepts=False, orders=orders)
            case "tool":
                others = [one for one in self._tools if one.name != tool.name]
                if not others:
                    return None
                other = rng.choice(others)
                shown = {
                    slot.kind: values.get(slot.kind, self._say(slot.kind)).value
                    for slot in other.slots
                }
                return self._pair(self._wrap(order), self._call(other, shown), kind, accepts=False)
            case "two":
                second = rng.choice(self._tools)
                said = {slot.kind: self._say(slot.kind).text for slot in second.slots}
                more = rng.choice(second.orders).format(**said)
                sentence = self._wrap(order + rng.choice((" and ", ", then ", ". ")) + more)
                return self._pair(sentence, call, "two orders", accepts=False, orders=True)
        return self._change(values, order, kind)

    def _change(self, values: dict[str, Said], order: str, kind: str) -> Pair | None:
        """Return a pair whose call has another value, or two values exchanged."""
        shown = {one: said.value for one, said in values.items()}
        said = [one for one in shown if values[one].text and values[one].text in order]
        if kind == "swapped":
            pairs = [
                (one, other)
                for one in said
                for other in said
                if one < other and (one == "who") == (other == "who") and shown[one] != shown[other]
            ]
            if not pairs:
                return None
            one, other = self._rng.choice(pairs)
            shown[one], shown[other] = shown[other], shown[one]
        elif said:
            place = self._rng.choice(said)
            shown[place] = self._say(place).value
        if shown == {one: each.value for one, each in values.items()}:
            return None
        return self._pair(self._wrap(order), self._call(self._tool, shown), kind, accepts=False)

    def _list(self, values: dict[str, Said], *, is_lacking: bool) -> Pair | None:
        """Return a pair of an order with a list: of one value, or of a person and an amount."""
        if not self._tool.listed:
            return None
        rng = self._rng
        template = rng.choice(self._tool.listed)
        count = rng.randint(2, 4)
        shown = {one: said.value for one, said in values.items()}
        if "{pairs}" in template:
            people = self._people[:count]
            amounts = [self._say("amount") for _ in people]
            form = rng.choice(("{who} {n}", "{n} to {who}", "{who}: {n}", "{who} gets {n}"))
            parts = [
                form.format(who=who, n=said.text) for who, said in zip(people, amounts, strict=True)
            ]
            said = _join(parts, rng) if rng.random() < HALF else "\n- ".join(["", *parts])
            shown["who"] = _unique(people)
            shown["amount"] = _unique([one.value for one in amounts])
            if is_lacking:
                shown["who"], shown["amount"] = people[0], amounts[0].value
            order = template.format(pairs=said, **{k: v.text for k, v in values.items()})
        else:
            slot = "who" if "{whos}" in template else "id"
            some = (
                list(self._people[:count])
                if slot == "who"
                else [str(one) for one in sorted(rng.sample(range(1, MOST_ID), count))]
            )
            shown[slot] = ", ".join(some[:-1] if is_lacking else some)
            texts = {k: v.text for k, v in values.items()}
            order = template.format(whos=_join(some, rng), ids=_join(some, rng), **texts)
        kind = "lacking" if is_lacking else "several"
        orders = None if is_lacking else True
        call = self._call(self._tool, shown)
        return self._pair(self._wrap(order), call, kind, accepts=not is_lacking, orders=orders)

    def _refer(self, values: dict[str, Said], call: str) -> Pair | None:
        """Return a pair of an order that says `him` or `her` of a person named before, or not."""
        with_who = [one for one in self._tool.orders if "{who}" in one and "{who}'s" not in one]
        if not with_who:
            return None
        rng, who = self._rng, values["who"].text
        said = {one: each.text for one, each in values.items()}
        order = rng.choice(with_who).format(**said | {"who": rng.choice(("him", "her", "them"))})
        order = rng.choice(OPENINGS) + order + rng.choice(TAILS)
        if rng.random() < HALF:
            order = rng.choice(ASIDES).format(who=who) + " " + order[0].upper() + order[1:]
        return self._pair(order, call, "person", accepts=True, orders=True)

    def _wrap(self, order: str) -> str:
        """Return an order in a template, beside a reason, or alone."""
        rng = self._rng
        choice = rng.random()
        if choice < HALF / 2:
            for _ in range(TRIES):
                found = fill_nested(rng.choice(self._accepting), order, self._accepting, rng)
                if found is not None:
                    return found
        if choice < HALF:
            chat = rng.choice((*CHATS, *(one.format(who=self._people[3]) for one in ASIDES)))
            order = order[0].upper() + order[1:] + "."
            return f"{chat} {order}" if rng.random() < HALF else f"{order} {chat}"
        order = rng.choice(OPENINGS) + order + rng.choice(TAILS)
        return order[0].upper() + order[1:] if rng.random() < HALF else order

    def _say(self, kind: str) -> Said:
        rng = self._rng
        match kind:
            case "who":
                person = rng.choice(self._people[:3])
                return Said(person, person)
            case "amount":
                return _say_amount(rng, self._symbol)
            case "id":
                number = rng.randint(1, MOST_ID)
                word = NUMBERS[number] if number < len(NUMBERS) and rng.random() < HALF / 2 else ""
                return Said(word or str(number), str(number))
            case "hour":
                return _say_hour(rng)
            case "weekday":
                day = rng.choice(DAYS)
                return Said(day, day.lower())
            case "day":
                date = rng.randint(1, 31)
                is_plain = date % 10 not in {1, 2, 3} or date in {11, 12, 13}
                ending = "th" if is_plain else ("st", "nd", "rd")[date % 10 - 1]
                return Said(f"{date}{ending}", str(date))
            case "time":
                count, unit = rng.randint(2, 12), rng.choice(("hours", "days", "weeks", "minutes"))
                said = NUMBERS[count] if rng.random() < HALF else str(count)
                return Said(f"{said} {unit}", f"{count} {unit}")
        text = rng.choice(
            ("fog until nine", "bring gloves", "closed on Sunday", "new filter fitted", "rent May")
        )
        return Said(f'"{text}"', f'"{text}"')

    def _call(self, tool: ContractTool, shown: dict[str, str]) -> str:
        arguments = [CallArgument(one.name, one.about, shown[one.kind]) for one in tool.slots]
        return write_call(tool.name, tool.about, arguments)

    def _pair(
        self, sentence: str, call: str, kind: str, *, accepts: bool, orders: bool | None = None
    ) -> Pair:
        return Pair(
            sentence=shorten_quotations(sentence),
            call=call,
            kind=kind,
            accepts=accepts,
            orders=orders,
            family=FAMILY,
        )


def _unique(texts: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _join(texts: Sequence[str], rng: random.Random) -> str:
    return ", ".join(texts[:-1]) + rng.choice(JOINS) + texts[-1]


def _say_amount(rng: random.Random, symbol: str) -> Said:
    shown = symbol.lower()
    said = rng.choice((symbol, shown))
    choice = rng.random()
    if choice < HALF / 4:
        number = rng.choice([*TEENS])
        return Said(f"{TEENS[number]} {said}", f"{number} {shown}")
    if choice < HALF / 2:
        number = rng.randint(2, 12)
        return Said(f"{NUMBERS[number]} {said}", f"{number} {shown}")
    if choice < HALF:
        cents = rng.randint(5, 9_999)
        whole = f"{cents // 100}.{cents % 100:02}"
        return Said(f"{whole} {said}", f"{whole.rstrip('0').rstrip('.')} {shown}")
    number = rng.choice((rng.randint(1, 99), rng.randint(1, 99), rng.randint(100, 9_999)))
    return Said(
        f"{number:,} {said}" if rng.random() < HALF else f"{number} {said}", f"{number} {shown}"
    )


def _say_hour(rng: random.Random) -> Said:
    hour = rng.randint(7, 21)
    twelve = (hour - 1) % 12 + 1
    half = "am" if hour < 12 else "pm"
    return Said(
        rng.choice((f"{hour}", f"{twelve} {half}", f"{twelve}{half}", f"{hour}:00")), str(hour)
    )


def _list_token_tools(rng: random.Random, symbol: str, token: str) -> tuple[ContractTool, ...]:
    amount = Slot(
        rng.choice(("value", "amount", "assets")),
        rng.choice((
            f"amount of {symbol} ({token}), 6 decimals", f"amount of {symbol}, 18 decimals",
            f"in {symbol}", f"how much {symbol}", f"how many {symbol} to pay",
        )),
        "amount",
    )  # fmt: skip
    who = Slot(
        rng.choice(("to", "recipient", "payee", "beneficiary")),
        rng.choice(("who gets the tokens", "who is paid", "who gets it", "address of the payee")),
        "who",
    )
    house = rng.choice(("vault", "jar", "pool", "fund", "savings", "till", "kitty"))
    contract = house.capitalize()
    suffix = f" {symbol.lower()}" if rng.random() < HALF else ""
    approves = f" It approves {symbol} by itself." if rng.random() < HALF else ""
    pays = rng.choice(
        (
            f"Send tokens to an address ({symbol}).",
            f"Pays somebody in {symbol}.",
            f"Pay ({symbol}).",
        )
    )
    puts = rng.choice((
        f"Put tokens into the {house}, for shares (sv{symbol}).{approves}",
        f"Puts {symbol} into the {house} ({contract}).{approves}",
        f"Deposit ({contract}).{approves}",
        f"Adds money to the {house}.{approves}",
    ))  # fmt: skip
    takes = rng.choice((
        f"Take tokens out of the {house} (sv{symbol}).", f"Takes {symbol} out of the {house}.",
        f"Withdraw ({contract}).",
    ))  # fmt: skip
    return (
        ContractTool(
            f"{rng.choice(('transfer', 'pay', 'send'))}{suffix}", pays, (who, amount),
            (
                "send {amount} to {who}", "send {who} {amount}", "pay {who} {amount}",
                "transfer {amount} to {who}", "give {who} {amount}", "wire {amount} to {who}",
                "tip {who} {amount}", "{amount} to {who}", "{who} gets {amount}",
                "{amount} for {who}", "let {who} have {amount}", "remit {amount} to {who}",
                "pay out {amount} to {who}", "hand {who} {amount}", "reimburse {who} {amount}",
                "{who} is owed {amount}, pay it", "please pay {amount} to {who}",
                "move {amount} over to {who}", "pay the sum of {amount} to {who}",
            ),
            (
                "send {amount} to {whos}", "send {amount} each to {whos}",
                "pay {whos} {amount} each",
                "give each of {whos} {amount}", "{whos} get {amount} each", "pay these: {pairs}",
                "send {pairs}", "payments: {pairs}", "{pairs}", "pay {pairs}", "transfer {pairs}",
                "{amount} each for {whos}",
            ),
        ),
        ContractTool(
            f"deposit{suffix}", puts, (amount,),
            (
                "deposit {amount}", f"put {{amount}} into the {house}",
                f"add {{amount}} to the {house}",
                f"{{amount}} into the {house}", f"move {{amount}} into the {house}",
                f"top up the {house} with {{amount}}", f"pay {{amount}} into the {house}",
                f"drop {{amount}} in the {house}", f"put {{amount}} in our {house}",
            ),
        ),
        ContractTool(
            f"withdraw{suffix}", takes, (amount,),
            (
                "withdraw {amount}", f"take {{amount}} out of the {house}",
                f"get {{amount}} back from the {house}", f"{{amount}} out of the {house}",
                f"pull {{amount}} out of the {house}", f"take {{amount}} back out of the {house}",
            ),
        ),
        ContractTool(
            rng.choice(("approve", "allow")), f"Lets an address spend tokens ({symbol}).",
            (Slot("spender", "who may spend", "who"), amount),
            (
                "approve {amount} for {who}", "let {who} spend {amount}", "allow {who} {amount}",
                "give {who} an allowance of {amount}", "allow {who} to spend {amount}",
            ),
        ),
        ContractTool(
            rng.choice(("burn", "retire")), f"Destroys tokens ({symbol}).", (amount,),
            ("burn {amount}", "destroy {amount}", "retire {amount}"),
        ),
    )  # fmt: skip


def _list_thing_tools(rng: random.Random, _symbol: str, _token: str) -> tuple[ContractTool, ...]:
    noun = rng.choice(NOUNS)
    plural = f"{noun}s"
    contract = f"{noun.title().replace(' ', '')}s"
    number = rng.choice((noun, f"{noun} id", "number", "id"))
    about = rng.choice(
        (f"number of the {noun}", "its number, 1 to 40", f"which {noun}", "1 to 40", "")
    )
    place = Slot(number, about, "id")
    tools: list[ContractTool] = []
    for pair in rng.sample(ACTS, 3):
        for verb in filter(None, pair):
            orders = (
                f"{verb} {noun} {{id}}", f"{verb} the {noun} number {{id}}",
                f"{verb} {noun} no. {{id}}",
                f"{verb} number {{id}}", f"{noun} {{id}}: {verb} it", f"{verb} {{id}}",
                f"{noun} {{id}} is next, {verb} it",
            )  # fmt: skip
            listed = (
                f"{verb} {plural} {{ids}}", f"{verb} {noun} {{ids}}",
                f"{plural} {{ids}}: {verb} them",
                f"{verb} numbers {{ids}}", f"{verb} {{ids}}", f"{verb} the {plural} {{ids}}",
            )  # fmt: skip
            what = _describe(rng, verb, noun, contract)
            name = rng.choice((f"{verb} {noun}", verb, f"{verb} {noun}"))
            tools.append(ContractTool(name, what, (place,), orders, listed))
    person = Slot(rng.choice(("user", "member", "guest", "holder")), "who it is for", "who")
    tools += (
        ContractTool(
            f"book {noun}", _describe(rng, "book", noun, contract),
            (place, Slot("day", "of the week: 1 is Monday", "weekday"), Slot("hour", "0 to 23",
            "hour")),
            (
                f"book {noun} {{id}} on {{weekday}} at {{hour}}",
                f"{noun} {{id}} for {{weekday}}, {{hour}}, book it",
                f"reserve {noun} {{id}} at {{hour}} on {{weekday}}",
                f"get us {noun} {{id}} on {{weekday}} at {{hour}}",
                f"on {{weekday}} at {{hour}} we need {noun} {{id}}, book it",
            ),
        ),
        ContractTool(
            f"lend {noun}", _describe(rng, "lend", noun, contract),
            (place, person, Slot("duration", "how long", "time")),
            (
                f"lend {noun} {{id}} to {{who}} for {{time}}",
                f"give {{who}} {noun} {{id}} for {{time}}",
                f"{{who}} takes {noun} {{id}} for {{time}}, enter it",
                f"hand {noun} {{id}} to {{who}} for {{time}}",
            ),
        ),
        ContractTool(
            f"move {noun}", _describe(rng, "move", noun, contract),
            (place, Slot("day", "day of the month, 1 to 31", "day"), Slot("hour", "7 to 21",
            "hour")),
            (
                f"move {noun} {{id}} to the {{day}} at {{hour}}",
                f"reschedule {noun} {{id}} to the {{day}}, {{hour}}",
                f"{noun} {{id}} has to move to the {{day}}, {{hour}}. Change it",
            ),
        ),
        ContractTool(
            "set note", rng.choice((f"Writes a note to a {noun}.", f"Set note ({contract}).")),
            (place, Slot("text", "the note", "text")),
            (
                f"set the note of {noun} {{id}} to {{text}}", f"note for {noun} {{id}}: {{text}}",
                f"write on {noun} {{id}}: {{text}}", f"add the note {{text}} to {noun} {{id}}",
            ),
        ),
        ContractTool(
            f"give {noun}", rng.choice((f"Gives a {noun} to a person.",
            f"Give {noun} ({contract}).")),
            (place, person),
            (
                f"give {noun} {{id}} to {{who}}", f"{noun} {{id}} goes to {{who}}",
                f"hand {noun} {{id}} over to {{who}}", f"{{who}} gets {noun} {{id}}",
                f"put {{who}} down for {noun} {{id}}", f"give {{who}} {noun} {{id}}",
            ),
        ),
        ContractTool(
            "release member", "Takes a person off.", (place, person),
            (f"take {{who}} off {noun} {{id}}", f"remove {{who}} from {noun} {{id}}"),
        ),
    )  # fmt: skip
    return tuple(rng.sample(tools, min(len(tools), rng.randint(3, 6))))


def _describe(rng: random.Random, verb: str, noun: str, contract: str) -> str:
    """Return a description: NatSpec, or the words of the name with the contract."""
    third = f"{verb}es" if verb.endswith(("sh", "ch")) else f"{verb}s"
    return rng.choice((
        f"{third.capitalize()} a {noun}.", f"{third.capitalize()} a {noun} ({contract}).",
        f"{verb.capitalize()} {noun} ({contract}).",
        f"{third.capitalize()} a {noun} until it is undone.",
        "",
    ))  # fmt: skip
