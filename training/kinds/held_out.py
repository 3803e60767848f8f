"""Families that never occur in training, to measure generalisation."""

from __future__ import annotations

from training.patterns import ADDRESS, STRING, UINT, Chain, Kind, action, look, parameter

WHO = parameter("who", ADDRESS, "subject / person / account", "the account", "whom it is about")
PARCEL = parameter("id", UINT, "parcel id / parcel / id", "number of the parcel", "which parcel")
HERO = parameter("id", UINT, "hero id / hero / id", "number of the hero", "which hero")
AMOUNT = parameter("amount", UINT, "amount / value", "how much", "amount of tokens")
TOKEN = parameter("token", ADDRESS, "token / asset", "address of the token", "which token")
CHAIN = parameter(
    "chain", STRING, "chain / network / destination chain", "name of the network", "to where"
)

CREDENTIALS = Kind(
    "credentials",
    ("You issue credentials.", "You run an identity registry."),
    (
        action(
            "issue",
            "issue credential / attest / IssueTool / certify",
            ("Issues a credential to somebody", "Attests something about an account"),
            (
                WHO,
                parameter(
                    "title",
                    STRING,
                    "claim / statement / credential",
                    "what is attested",
                    "the claim",
                ),
            ),
            (
                'issue the credential "{title}" to {who}',
                'attest "{title}" for {who}',
                'certify {who} with "{title}"',
                'give {who} the credential "{title}"',
            ),
            replies=("Issued", "Attested"),
        ),
        action(
            "revoke",
            "revoke credential / withdraw attestation / RevokeTool / invalidate",
            ("Revokes a credential", "Makes a credential invalid"),
            (
                parameter(
                    "id", UINT, "credential id / id", "number of the credential", "which credential"
                ),
            ),
            (
                "revoke credential {id}",
                "invalidate credential {id}",
                "withdraw credential number {id}",
                "make credential {id} invalid",
            ),
            replies=("Revoked",),
        ),
        look(
            "verified",
            "is verified / verify / check identity / VerifyTool",
            ("Whether an account is verified", "Checks an identity"),
            (WHO,),
            (
                "check whether {who} is verified",
                "verify {who}",
                "Is {who} verified?",
                "Has {who} been verified?",
            ),
            fact="yes",
            replies=("{yes}", "Verified: {yes}"),
        ),
        look(
            "expiry",
            "credential expiry / days left / ExpiryTool",
            ("In how many days a credential ends", "Days left of a credential"),
            (
                parameter(
                    "id", UINT, "credential id / id", "number of the credential", "which credential"
                ),
            ),
            (
                "look up when credential {id} ends",
                "tell me the days left of credential {id}",
                "How many days are left of credential {id}?",
            ),
            fact="days",
            replies=("{days}", "{days} days", "Days left: {days}"),
        ),
    ),
    is_held_out=True,
)

BRIDGE = Kind(
    "bridge",
    ("You move tokens between networks.", "You operate a bridge for the owner."),
    (
        action(
            "bridge",
            "bridge / bridge tokens / send cross chain / BridgeTool",
            ("Moves tokens to another network", "Bridges an amount of a token"),
            (TOKEN, AMOUNT, CHAIN),
            (
                "bridge {amount} {token} to {chain}",
                "move {amount} {token} over to {chain}",
                "send {amount} {token} across to {chain}",
                "get {amount} {token} onto {chain}",
            ),
            replies=("Bridged", "On its way"),
        ),
        look(
            "fee",
            "bridge fee / estimate fee / FeeTool / cost",
            ("What bridging to a network costs", "Fee of a transfer to a network"),
            (CHAIN,),
            (
                "check the bridge fee to {chain}",
                "tell me what bridging to {chain} costs",
                "What does bridging to {chain} cost?",
                "How high is the fee to {chain}?",
            ),
            fact="n",
            replies=("{n}", "Fee: {n}", "It costs {n}"),
        ),
        look(
            "arrived",
            "transfer status / track / TrackTool / message status",
            ("Status of a transfer", "Tells whether a transfer has arrived"),
            (
                parameter(
                    "id", UINT, "transfer id / id", "number of the transfer", "which transfer"
                ),
            ),
            (
                "track transfer {id}",
                "check transfer {id}",
                "Has transfer {id} arrived?",
                "What is the status of transfer {id}?",
            ),
            fact="state",
            replies=("{state}", "Status: {state}"),
        ),
        action(
            "retry",
            "retry transfer / retry / resend / RetryTool",
            ("Tries a stuck transfer again", "Sends a failed transfer once more"),
            (
                parameter(
                    "id", UINT, "transfer id / id", "number of the transfer", "which transfer"
                ),
            ),
            (
                "retry transfer {id}",
                "try transfer {id} again",
                "resend transfer number {id}",
                "transfer {id} is stuck, send it again",
            ),
            replies=("Retried",),
        ),
    ),
    is_held_out=True,
)

SUBSCRIPTION = Kind(
    "subscription",
    ("You manage subscriptions.", "You look after what the owner pays for every month."),
    (
        action(
            "subscribe",
            "subscribe / start plan / SubscribeTool / sign up",
            ("Starts a subscription", "Signs up for a plan"),
            (
                parameter(
                    "plan", STRING, "plan / tier / plan name", "name of the plan", "which plan"
                ),
            ),
            (
                "subscribe to the {plan} plan",
                "sign me up for the {plan} plan",
                "start the {plan} plan",
                "get me the {plan} subscription",
            ),
            replies=("Subscribed",),
        ),
        action(
            "unsubscribe",
            "unsubscribe / end plan / UnsubscribeTool / quit",
            ("Ends a subscription", "Quits a plan"),
            (
                parameter(
                    "plan", STRING, "plan / tier / plan name", "name of the plan", "which plan"
                ),
            ),
            (
                "unsubscribe from the {plan} plan",
                "end the {plan} plan",
                "quit the {plan} plan",
                "I no longer want the {plan} plan.",
            ),
            replies=("Unsubscribed",),
        ),
        action(
            "extend",
            "extend / extend months / ExtendTool / prolong",
            ("Extends the subscription by months", "Pays months in advance"),
            (parameter("small", UINT, "months / count", "how many months", "number of months"),),
            (
                "extend my subscription by {small} months",
                "pay {small} months in advance",
                "prolong it by {small} months",
                "add {small} months",
            ),
            replies=("Extended",),
        ),
        look(
            "expiry",
            "days remaining / expiry / remaining / ExpiryTool",
            ("Days until the subscription ends", "How long the plan runs"),
            (),
            (
                "check how long my subscription runs",
                "tell me when the plan ends",
                "How many days are left?",
                "How long does my plan run?",
            ),
            fact="days",
            replies=("{days}", "{days} days left", "Ends in {days} days"),
        ),
    ),
    is_held_out=True,
)

LOGISTICS = Kind(
    "logistics",
    ("You track parcels.", "You dispatch goods for a warehouse."),
    (
        action(
            "dispatch",
            "dispatch / ship parcel / DispatchTool / send off",
            ("Sends a parcel to a city", "Ships a parcel"),
            (PARCEL, parameter("city", STRING, "city / destination", "where it goes", "city")),
            (
                "dispatch parcel {id} to {city}",
                "ship parcel {id} to {city}",
                "send parcel {id} off to {city}",
                "parcel {id} goes to {city}",
            ),
            replies=("Dispatched",),
        ),
        action(
            "confirm",
            "confirm receipt / receive / ReceiptTool / sign for",
            ("Confirms that a parcel has come", "Signs for a parcel"),
            (PARCEL,),
            (
                "confirm the receipt of parcel {id}",
                "sign for parcel {id}",
                "parcel {id} is here, confirm it",
                "mark parcel {id} as received",
            ),
            replies=("Confirmed",),
        ),
        look(
            "where",
            "parcel location / where is / LocateTool / track parcel",
            ("Where a parcel is", "City in which a parcel was seen last"),
            (PARCEL,),
            (
                "locate parcel {id}",
                "find out where parcel {id} is",
                "Where is parcel {id}?",
                "In which city is parcel {id}?",
            ),
            fact="city",
            replies=("{city}", "In {city}", "Last seen in {city}"),
        ),
        look(
            "stock",
            "stock / items in stock / StockTool / inventory count",
            ("How many pieces of an item are in the warehouse", "Stock of an item"),
            (parameter("item", STRING, "item / product / name", "the item", "which product"),),
            (
                "check the stock of the {item}",
                "count the pieces of the {item} in stock",
                "How many pieces of the {item} are in stock?",
            ),
            fact="count",
            replies=("{count}", "In stock: {count}", "{count} pieces"),
        ),
    ),
    is_held_out=True,
)

GAME = Kind(
    "game",
    ("You play a game for its player.", "You command heroes."),
    (
        action(
            "attack",
            "attack / fight / AttackTool / battle",
            ("A hero attacks a rival", "Starts a fight"),
            (
                HERO,
                parameter("who", ADDRESS, "rival / enemy / target", "who is attacked", "the rival"),
            ),
            (
                "attack {who} with hero {id}",
                "let hero {id} fight {who}",
                "send hero {id} against {who}",
                "hero {id} shall attack {who}",
            ),
            replies=("You won", "Attack done"),
        ),
        action(
            "heal",
            "heal / restore health / HealTool / cure",
            ("Heals a hero", "Restores a hero's health"),
            (HERO,),
            (
                "heal hero {id}",
                "cure hero {id}",
                "restore the health of hero {id}",
                "hero {id} is hurt, heal him",
            ),
            replies=("Healed",),
        ),
        action(
            "equip",
            "equip / give item / EquipTool / arm",
            ("Gives a hero an item", "Equips a hero"),
            (HERO, parameter("item", STRING, "item / gear", "the item", "what to wear")),
            (
                "equip hero {id} with the {item}",
                "give hero {id} the {item}",
                "let hero {id} carry the {item}",
                "put the {item} on hero {id}",
            ),
            replies=("Equipped",),
        ),
        look(
            "level",
            "hero level / get level / LevelTool / strength",
            ("Level of a hero", "How strong a hero is"),
            (HERO,),
            (
                "check the level of hero {id}",
                "tell me how strong hero {id} is",
                "What level is hero {id}?",
                "How strong is hero {id}?",
            ),
            fact="count",
            replies=("{count}", "Level {count}", "Level: {count}"),
        ),
        look(
            "weakest",
            "weakest hero / find weakest / WeakestTool",
            ("Number of the hero with the least health", "Finds the weakest hero"),
            (),
            (
                "find the weakest hero",
                "tell me which hero is the weakest",
                "Which hero is the weakest?",
            ),
            fact="id",
            replies=("{id}", "Hero {id}", "It is hero {id}"),
        ),
    ),
    (
        Chain(
            "weakest",
            "heal",
            "find the weakest hero and heal it",
            ("First, find the weakest hero.", "Next, heal hero {id}."),
        ),
    ),
    is_held_out=True,
)

HELD_OUT = (CREDENTIALS, BRIDGE, SUBSCRIPTION, LOGISTICS, GAME)
