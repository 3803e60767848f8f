"""Families of plain contracts: counters, notes, oracles, tickets, settings, messages."""

from __future__ import annotations

from training.patterns import BOOL, INT, STRING, UINT, Kind, action, look, parameter

ID = parameter("id", UINT, "id / number / index", "the number", "which one", "id")

COUNTER = Kind(
    "counter",
    ("You operate a counter.", "You keep the score of a game."),
    (
        action(
            "add",
            "increment / add / increase / CounterTool / count up / add points",
            ("Increases the counter", "Adds to the counter", "Adds points to the score"),
            (
                parameter(
                    "amount", UINT, "amount / by / points / steps", "by how much", "how many to add"
                ),
            ),
            (
                "add {amount}",
                "increase the counter by {amount}",
                "count {amount} up",
                "add {amount} to the counter",
                "raise it by {amount}",
            ),
            replies=("Counted", "Increased"),
        ),
        action(
            "subtract",
            "decrement / subtract / decrease / count down / remove points",
            ("Decreases the counter", "Subtracts from the counter", "Takes points off the score"),
            (
                parameter(
                    "amount",
                    UINT,
                    "amount / by / points / steps",
                    "by how much",
                    "how many to subtract",
                ),
            ),
            (
                "subtract {amount}",
                "decrease the counter by {amount}",
                "count {amount} down",
                "take {amount} off the counter",
                "lower it by {amount}",
            ),
            replies=("Decreased",),
        ),
        action(
            "reset",
            "reset / clear / set to zero / ResetTool / start over",
            ("Sets the counter to zero", "Resets everything", "starts over"),
            (),
            ("reset the counter", "set the counter to zero", "start over", "clear the counter"),
            replies=("Reset",),
        ),
        look(
            "value",
            "value / get value / current / ReadTool / read counter",
            ("Reads the counter", "The counter's current value", "Tells the score"),
            (),
            (
                "read the counter",
                "tell me the counter's value",
                "check the counter",
                "What is the counter at?",
                "How high is the counter?",
            ),
            fact="n",
            replies=("{n}", "Value: {n}", "The counter is at {n}"),
        ),
    ),
)

NOTES = Kind(
    "note board",
    ("You keep notes on a blockchain.", "You are a message board."),
    (
        action(
            "write",
            "write note / post / save note / PostTool / publish / add message",
            ("Writes a note", "Posts a message", "Stores a text for ever"),
            (
                parameter(
                    "message",
                    STRING,
                    "text / message / note / content",
                    "the text",
                    "what to write",
                ),
            ),
            (
                'write "{message}"',
                'post the message "{message}"',
                'note down "{message}"',
                'save the note "{message}"',
                'publish "{message}"',
            ),
            replies=("Posted", "Saved"),
        ),
        action(
            "delete",
            "delete note / remove note / erase / DeleteTool / unpublish",
            ("Deletes a note", "Removes a message from the board"),
            (ID,),
            (
                "delete note {id}",
                "remove note number {id}",
                "erase note {id}",
                "take note {id} down",
            ),
            replies=("Deleted",),
        ),
        look(
            "read",
            "read note / get note / show / ReadTool / fetch message",
            ("Reads a note", "Shows the text of a note"),
            (ID,),
            (
                "read note {id}",
                "show me note {id}",
                "open note number {id}",
                "What does note {id} say?",
                "What is written in note {id}?",
            ),
            fact="message",
            replies=("{message}", "Note: {message}", '"{message}"'),
        ),
        look(
            "count",
            "note count / count notes / how many notes / CountTool",
            ("How many notes there are", "Number of messages"),
            (),
            ("count the notes", "tell me how many notes there are", "How many notes are there?"),
            fact="n",
            replies=("{n}", "Notes: {n}", "{n} notes"),
        ),
    ),
)

ORACLE = Kind(
    "oracle",
    ("You report prices to an oracle.", "You are an oracle's reporter and reader."),
    (
        action(
            "report",
            "report price / submit price / update price / ReportTool / set price",
            ("Reports a price", "Submits the price of an asset", "Updates the feed"),
            (
                parameter(
                    "symbol", STRING, "symbol / asset / feed", "symbol of the asset", "which asset"
                ),
                parameter("price", UINT, "price / value / answer", "the price in dollars", "price"),
            ),
            (
                "report {symbol} at {price}",
                "submit a price of {price} for {symbol}",
                "update the {symbol} price to {price}",
                "set the {symbol} feed to {price}",
            ),
            replies=("Reported", "Feed updated"),
        ),
        look(
            "latest",
            "latest price / read price / get price / FeedTool / latest answer",
            ("Latest price of an asset", "Reads the feed", "What an asset costs"),
            (
                parameter(
                    "symbol", STRING, "symbol / asset / feed", "symbol of the asset", "which asset"
                ),
            ),
            (
                "read the {symbol} feed",
                "tell me the latest {symbol} price",
                "look up {symbol}",
                "What is {symbol} at?",
                "What is the latest price of {symbol}?",
            ),
            fact="n",
            replies=("{n}", "Latest: {n}", "{symbol} is at {n}"),
        ),
        action(
            "offset",
            "set offset / adjust / correct / OffsetTool / calibrate",
            ("Sets the offset, which may be negative", "Adjusts what the sensor reports"),
            (
                parameter(
                    "signed",
                    INT,
                    "offset / adjustment / delta",
                    "the offset",
                    "by how much, may be negative",
                ),
            ),
            (
                "set the offset to {signed}",
                "adjust the feed by {signed}",
                "use an offset of {signed}",
                "calibrate with {signed}",
            ),
            replies=("Offset set",),
        ),
    ),
)

TICKETS = Kind(
    "tickets",
    ("You sell tickets.", "You manage seats at events."),
    (
        action(
            "buy",
            "buy tickets / book / reserve / BookTool / purchase",
            ("Buys tickets for an event", "Books seats", "Reserves places"),
            (
                parameter(
                    "id", UINT, "event id / event / id", "number of the event", "which event"
                ),
                parameter(
                    "small", UINT, "count / seats / quantity", "how many tickets", "number of seats"
                ),
            ),
            (
                "buy {small} tickets for event {id}",
                "book {small} seats at event {id}",
                "reserve {small} places for event {id}",
                "get me {small} tickets to event {id}",
            ),
            replies=("Booked", "Tickets bought"),
            failures=("Error: sold out",),
        ),
        action(
            "cancel",
            "cancel booking / cancel / return tickets / CancelTool",
            ("Cancels a booking", "Returns the tickets of a booking"),
            (
                parameter(
                    "id",
                    UINT,
                    "booking id / booking / id",
                    "number of the booking",
                    "which booking",
                ),
            ),
            (
                "cancel booking {id}",
                "return the tickets of booking {id}",
                "call off booking number {id}",
                "I can't come, cancel booking {id}.",
            ),
            replies=("Cancelled", "Money returned"),
        ),
        look(
            "seats",
            "seats left / available seats / SeatsTool / free places",
            ("How many seats are left at an event", "Free places"),
            (parameter("id", UINT, "event id / event / id", "number of the event", "which event"),),
            (
                "check how many seats are left at event {id}",
                "look up the free seats of event {id}",
                "How many seats are left at event {id}?",
                "How many places are free at event {id}?",
            ),
            fact="n",
            replies=("{n}", "Seats left: {n}", "{n} free"),
        ),
    ),
)

SETTINGS = Kind(
    "settings",
    ("You configure a device over a contract.", "You look after a smart home."),
    (
        action(
            "light",
            "switch light / set light / LightTool / toggle light",
            ("Switches the light", "true is on, false is off"),
            (parameter("on", BOOL, "on / is on / state", "true for on", "on or off"),),
            (
                ("switch the light on", {"on": True}),
                ("switch the light off", {"on": False}),
                ("turn on the light", {"on": True}),
                ("turn off the light", {"on": False}),
                ("It is too dark in here.", {"on": True}),
                ("light off", {"on": False}),
                ("light on", {"on": True}),
            ),
            replies=("Switched",),
        ),
        action(
            "temperature",
            "set temperature / heat / thermostat / HeatTool",
            ("Sets the temperature in degrees", "Controls the heating"),
            (
                parameter(
                    "signed", INT, "degrees / temperature / celsius", "degrees Celsius", "how warm"
                ),
            ),
            (
                "set the temperature to {signed} degrees",
                "heat to {signed} degrees",
                "make it {signed} degrees",
                "set the thermostat to {signed}",
            ),
            replies=("Set", "Heating"),
        ),
        action(
            "lock",
            "lock door / lock / LockTool / close door",
            ("Locks the door", "locks up"),
            (),
            ("lock the door", "lock up", "make sure that the door is locked", "bolt the door"),
            replies=("Locked",),
        ),
        action(
            "unlock",
            "unlock door / unlock / UnlockTool / open door",
            ("Unlocks the door", "opens up"),
            (),
            ("unlock the door", "open the door", "let them in", "unbolt the door"),
            replies=("Unlocked",),
        ),
        look(
            "sensor",
            "read temperature / get temperature / SensorTool / thermometer",
            ("Reads the temperature", "How warm it is"),
            (),
            (
                "read the temperature",
                "tell me how warm it is",
                "How warm is it?",
                "What is the temperature?",
            ),
            fact="n",
            replies=("{n}", "{n} degrees", "Temperature: {n}"),
        ),
    ),
)

QUESTION = parameter(
    "job",
    STRING,
    "prompt / question / task / message",
    "what to ask",
    "the task",
    "what to do, in words",
    "the instruction for the agent",
)


def _told(who: str) -> tuple[str, ...]:
    return (
        f'tell {who} "{{job}}"',
        f"ask {who} to {{job}}",
        f"have {who} {{job}}",
        f"let {who} {{job}}",
        f'pass "{{job}}" on to {who}',
        f"get {who} to {{job}}",
        f"tell {who} to {{job}}",
        f"I want {who} to {{job}}.",
    )


AGENTS = Kind(
    "agents",
    (
        "You direct other agents.",
        "You are the head of a team of agents. Pass tasks on word for word.",
    ),
    (
        action(
            "treasurer",
            "treasurer / treasury agent / AccountantAgent / finance agent",
            ("An agent that looks after money", "Use this for payments and accounts"),
            (QUESTION,),
            _told("the treasurer"),
            replies=("The treasurer has seen to it",),
        ),
        action(
            "researcher",
            "researcher / research agent / AnalystAgent / scout",
            ("An agent that finds things out", "Use this for research"),
            (QUESTION,),
            _told("the researcher"),
            replies=("The researcher is on it",),
        ),
        action(
            "writer",
            "writer / writing agent / EditorAgent / press officer",
            ("An agent that writes texts", "Use this for anything to be published"),
            (QUESTION,),
            _told("the writer"),
            replies=("The writer has done it",),
        ),
    ),
)

DELEGATE = Kind(
    "delegate",
    (
        "You ask another agent. Pass on what you are asked, word for word.",
        "All work is done by another agent. Tell it what to do.",
        "You have a helper. Let it do what the user wants.",
    ),
    (
        action(
            "helper",
            "helper / HelperAgent / Working Agent / assistant / Counting Agent / second agent",
            (
                "Another agent, which does the work",
                "An agent: takes a prompt, answers in words",
                "Does what it is told",
                "Asks an agent",
            ),
            (QUESTION,),
            (
                "{job}",
                "ask the other agent to {job}",
                "{job} (ask the helper)",
                "have it done by the agent: {job}",
                'say "{job}" to the other agent',
                "let the helper {job}",
                "tell the agent to {job}",
                "get this done: {job}",
            ),
            replies=("All done", "I have done that", "Finished", "Done: as you said"),
            failures=("I can't do that", "Failed: I have no tool for that"),
        ),
        look(
            "log",
            "jobs done / helper log / job count / LogTool",
            ("How many jobs the helper has done", "Counts finished jobs"),
            (),
            (
                "look up how many jobs were done",
                "How many jobs did the helper do?",
                "How many jobs are done?",
                "count the finished jobs",
            ),
            fact="n",
            replies=("{n}", "Jobs: {n}", "{n} jobs done"),
        ),
    ),
)

CONTRACTS = (COUNTER, NOTES, ORACLE, TICKETS, SETTINGS, AGENTS, DELEGATE)
