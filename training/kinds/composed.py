"""Kinds of tools composed of nouns and generic operations: hundreds, for variety."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from training.patterns import (
    ADDRESS,
    BOOL,
    STRING,
    UINT,
    Chain,
    Kind,
    Pattern,
    action,
    look,
    parameter,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Sequence

THINGS = (
    "invoice", "car", "meter", "license", "sensor", "farm", "plot", "ship", "bottle", "song",
    "course", "exam", "record", "recipe", "satellite", "drone", "pump", "charger", "permit",
    "warehouse", "shelf", "badge", "team", "league", "tournament", "poll", "survey", "coupon",
    "voucher", "gift", "locker", "bike", "scooter", "parking spot", "room", "table", "container",
    "contract", "report", "bug", "job", "grant", "campaign", "tree", "cow", "hive", "vineyard",
    "barrel", "painting", "statue", "photo", "film", "podcast", "server", "domain", "mailbox",
    "account", "market", "pair", "position", "order", "order book", "vault", "bond", "share",
    "coin", "card", "mine", "rig", "oven", "gate", "camera", "elevator", "turbine", "panel",
)  # fmt: skip

ROLES = (
    "You manage {thing}s.",
    "You are in charge of the {thing}s.",
    "You help with a {thing} registry on chain.",
    "You are an agent. Each {thing} has a number.",
)

CHAINED = ("delete", "activate", "deactivate", "approve", "reject")
"""Operations on the newest item, once its number is known."""

COMPOSED_SHARE = 0.12
"""Share of training agents of a composed kind."""


def composed(
    rng: random.Random,
    *,
    things: Sequence[str] = THINGS,
    operations: Collection[str] | None = None,
) -> Kind:
    """Compose a kind of a noun and some operations.

    Input:  nouns to choose from, and keys of operations (at least two); None for all operations.
    """
    thing = rng.choice(things)
    free = [maker for maker in _MAKERS if operations is None or maker[0] in operations]
    makers = rng.sample(free, min(6, len(free)))
    keys = {maker[0] for maker in makers}
    return Kind(
        f"composed: {thing}",
        tuple(role.format(thing=thing) for role in ROLES),
        tuple(_pattern(thing, maker) for maker in makers),
        tuple(
            Chain(
                "last",
                key,
                f"look up the newest {thing} and {key} it",
                (f"First, look up the newest {thing}.", f"Next, {key} {thing} {{id}}."),
            )
            for key in CHAINED
            if {"last", key} <= keys
        ),
    )


_Words: TypeAlias = "tuple[str | tuple[str, dict[str, bool]], ...]"
_Maker: TypeAlias = "tuple[str, bool, str, tuple[str, ...], tuple[str, ...], _Words, str]"
"""Key, is_action, names, descriptions, slots, wordings, fact: see `patterns.Pattern`."""


def _pattern(thing: str, maker: _Maker) -> Pattern:
    key, is_action, names, descriptions, extras, wordings, fact = maker

    def put(text: str) -> str:
        return text.replace("THING", thing)

    parameters = tuple(
        parameter(
            "id",
            UINT,
            put("THING id / id / THING number"),
            put("number of the THING"),
            put("which THING"),
        )
        if slot == "id"
        else _EXTRA[slot]
        for slot in extras
    )
    told = tuple(put(one) if isinstance(one, str) else (put(one[0]), one[1]) for one in wordings)
    described = tuple(map(put, descriptions))
    if is_action:
        return action(key, put(names), described, parameters, told)
    replies = (f"{{{fact}}}", f"Result: {{{fact}}}", f"{thing}: {{{fact}}}", f"It is {{{fact}}}")
    return look(key, put(names), described, parameters, told, fact=fact, replies=replies)


_EXTRA = {
    "who": parameter("who", ADDRESS, "to / account / user / person", "the account", "who"),
    "name": parameter("name", STRING, "name / label / title", "the name", "text"),
    "message": parameter("message", STRING, "text / comment / note", "the text", "what to say"),
    "amount": parameter("amount", UINT, "amount / value", "how much", "the amount"),
    "price": parameter("price", UINT, "price / cost", "the price", "in tokens"),
    "small": parameter("small", UINT, "count / number / stars", "how many", "a small number"),
    "days": parameter("days", UINT, "days / duration", "how many days", "days"),
    "city": parameter("city", STRING, "city / place / location", "the city", "where"),
    "flag": parameter("flag", BOOL, "enabled / value / state", "true or false", "true for yes"),
}

_MAKERS: tuple[_Maker, ...] = (
    ("create", True, "create THING / add THING / new THING / register THING",
     ("Creates a THING with a name", "Registers a new THING", "adds a THING"), ("name",),
     ('create a THING called "{name}"', 'add a THING named "{name}"',
      'register the THING "{name}"', 'set up a new THING, "{name}"', 'make a THING "{name}"'), ""),
    ("delete", True, "delete THING / remove THING / drop THING",
     ("Deletes a THING", "Removes a THING for good"), ("id",),
     ("delete THING {id}", "remove THING {id}", "drop THING number {id}", "get rid of THING {id}",
      "throw THING {id} away"), ""),
    ("activate", True, "activate THING / enable THING / start THING",
     ("Activates a THING", "Switches a THING on", "Puts a THING into operation"), ("id",),
     ("activate THING {id}", "switch THING {id} on", "turn on THING {id}", "enable THING {id}",
      "start THING {id}"), ""),
    ("deactivate", True, "deactivate THING / disable THING / stop THING",
     ("Deactivates a THING", "Switches a THING off", "Takes a THING out of operation"), ("id",),
     ("deactivate THING {id}", "switch THING {id} off", "turn off THING {id}",
      "disable THING {id}", "stop THING {id}"), ""),
    ("assign", True, "assign THING / give THING / hand over THING",
     ("Assigns a THING to an account", "Gives a THING to somebody"), ("id", "who"),
     ("assign THING {id} to {who}", "give THING {id} to {who}", "hand THING {id} over to {who}",
      "let {who} have THING {id}", "{who} shall get THING {id}"), ""),
    ("rename", True, "rename THING / set name / label THING",
     ("Renames a THING", "Gives a THING another name"), ("id", "name"),
     ('rename THING {id} to "{name}"', 'call THING {id} "{name}"', 'name THING {id} "{name}"',
      'label THING {id} "{name}"'), ""),
    ("rate", True, "rate THING / review THING / give stars",
     ("Rates a THING with stars", "Reviews a THING"), ("id", "small"),
     ("rate THING {id} with {small} stars", "give THING {id} {small} stars",
      "review THING {id}: {small} stars"), ""),
    ("price", True, "set price / price THING / set THING price",
     ("Sets the price of a THING", "Changes what a THING costs"), ("id", "price"),
     ("set the price of THING {id} to {price}", "make THING {id} cost {price}",
      "price THING {id} at {price}", "sell THING {id} for {price}"), ""),
    ("rent", True, "rent THING / lease THING / borrow THING",
     ("Rents a THING for some days", "Leases a THING"), ("id", "days"),
     ("rent THING {id} for {days} days", "lease THING {id} for {days} days",
      "take THING {id} for {days} days", "I want THING {id} for {days} days."), ""),
    ("move", True, "move THING / relocate THING / send THING",
     ("Moves a THING to a city", "Relocates a THING"), ("id", "city"),
     ("move THING {id} to {city}", "relocate THING {id} to {city}", "send THING {id} to {city}",
      "bring THING {id} to {city}"), ""),
    ("comment", True, "comment THING / add note / annotate THING",
     ("Adds a note to a THING", "Comments on a THING"), ("id", "message"),
     ('add the note "{message}" to THING {id}', 'comment "{message}" on THING {id}',
      'note on THING {id}: "{message}"'), ""),
    ("fund", True, "fund THING / top up THING / pay into THING",
     ("Pays an amount into a THING", "Funds a THING"), ("id", "amount"),
     ("fund THING {id} with {amount}", "top up THING {id} by {amount}",
      "pay {amount} into THING {id}", "put {amount} into THING {id}"), ""),
    ("drain", True, "withdraw from THING / drain THING / take from THING",
     ("Takes an amount out of a THING", "Withdraws from a THING"), ("id", "amount"),
     ("withdraw {amount} from THING {id}", "take {amount} out of THING {id}",
      "get {amount} from THING {id}"), ""),
    ("flag", True, "set public / publish THING / set visible",
     ("Makes a THING public (true) or private (false)", "Sets whether others see a THING"),
     ("id", "flag"),
     (("make THING {id} public", {"flag": True}), ("make THING {id} private", {"flag": False}),
      ("hide THING {id}", {"flag": False}), ("show THING {id} to everybody", {"flag": True})), ""),
    ("approve", True, "approve THING / accept THING / confirm THING",
     ("Approves a THING", "Accepts a THING"), ("id",),
     ("approve THING {id}", "accept THING {id}", "confirm THING number {id}",
      "THING {id} is fine, approve it"), ""),
    ("reject", True, "reject THING / refuse THING / decline THING",
     ("Rejects a THING", "Declines a THING"), ("id",),
     ("reject THING {id}", "refuse THING {id}", "decline THING number {id}",
      "turn THING {id} down"), ""),
    ("all", True, "close all / reset all THINGs / clear THINGs",
     ("Closes all THINGs at once", "Clears the list of THINGs"), (),
     ("close all THINGs", "clear the list of THINGs", "reset all THINGs"), ""),
    ("status", False, "THING status / get status / check THING",
     ("Status of a THING", "Tells how a THING is doing"), ("id",),
     ("check THING {id}", "look up the status of THING {id}", "What is the status of THING {id}?",
      "How is THING {id} doing?", "tell me the state of THING {id}"), "state"),
    ("owner", False, "THING owner / get owner / owner of",
     ("Owner of a THING", "Tells whose a THING is"), ("id",),
     ("look up the owner of THING {id}", "Who owns THING {id}?", "Whose is THING {id}?",
      "find out who has THING {id}"), "found"),
    ("count", False, "THING count / count THINGs / total THINGs",
     ("How many THINGs there are", "Number of THINGs"), (),
     ("count the THINGs", "How many THINGs are there?", "tell me how many THINGs we have"), "n"),
    ("cost", False, "get price / THING price / price of",
     ("What a THING costs", "Reads the price of a THING"), ("id",),
     ("look up the price of THING {id}", "What does THING {id} cost?",
      "How much is THING {id}?", "tell me what THING {id} costs"), "n"),
    ("place", False, "locate THING / THING location / where is",
     ("City in which a THING is", "Where a THING is"), ("id",),
     ("find THING {id}", "Where is THING {id}?", "In which city is THING {id}?",
      "tell me where THING {id} is"), "city"),
    ("last", False, "last THING / newest THING / latest THING id",
     ("Number of the newest THING", "Returns the id of the last THING"), (),
     ("look up the newest THING", "Which THING is the newest?",
      "tell me the number of the last THING"), "id"),
    ("balance", False, "THING balance / funds of THING / get balance",
     ("How much is in a THING", "Balance of a THING"), ("id",),
     ("check the balance of THING {id}", "How much is in THING {id}?",
      "tell me the balance of THING {id}"), "n"),
)  # fmt: skip

OPERATIONS = tuple(maker[0] for maker in _MAKERS)
"""Keys of the operations."""
