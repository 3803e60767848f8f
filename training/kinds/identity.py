"""Families of identity tools: names, collectibles, guest lists."""

from __future__ import annotations

from training.patterns import ADDRESS, STRING, UINT, Chain, Kind, action, look, parameter

NAME = parameter(
    "name", STRING, "name / label / domain", "the name", "name without suffix", "which name"
)
NFT = parameter(
    "id", UINT, "token id / id / nft id", "number of the token", "which one", "token id"
)

NAMES = Kind(
    "names",
    (
        "You manage names in a registry.",
        "You pay the people whose names the owner says.",
        "You are the steward of a name service.",
    ),
    (
        action(
            "register",
            "register / register name / RegisterTool / claim name / buy name",
            ("Registers a name", "Buys a name", "Claims a free name"),
            (NAME,),
            (
                'register "{name}"',
                'register the name "{name}"',
                'buy the name "{name}"',
                'get me the name "{name}"',
                'claim "{name}" for me',
            ),
            replies=("Registered",),
            failures=("Error: name is taken",),
        ),
        look(
            "resolve",
            "resolve / resolve name / lookup / ResolveTool / address of name",
            ("Address behind a name", "Looks up whose name it is", "Resolves a name"),
            (NAME,),
            (
                'resolve "{name}"',
                'look up the address of "{name}"',
                'tell me who is behind "{name}"',
                'What is the address of "{name}"?',
                'Who owns the name "{name}"?',
            ),
            fact="found",
            replies=("{found}", "Address: {found}", "It belongs to {found}"),
        ),
        action(
            "renew",
            "renew / renew name / extend / RenewTool / prolong",
            ("Renews a name for some years", "Extends a registration"),
            (
                NAME,
                parameter(
                    "small", UINT, "years / duration", "for how many years", "number of years"
                ),
            ),
            (
                'renew "{name}" for {small} years',
                'extend the name "{name}" by {small} years',
                'keep "{name}" for {small} more years',
                'prolong the registration of "{name}" by {small} years',
            ),
            replies=("Renewed", "Extended"),
        ),
        action(
            "point",
            "set address / set record / point name / update record / PointTool",
            ("Points a name to an address", "Sets the address of a name"),
            (
                NAME,
                parameter(
                    "who", ADDRESS, "target / address / to", "the address", "where it points"
                ),
            ),
            (
                'point "{name}" to {who}',
                'set the address of "{name}" to {who}',
                'make "{name}" point to {who}',
                'let the name "{name}" lead to {who}',
            ),
            replies=("Record set", "Updated"),
        ),
        action(
            "pay",
            "pay / send payment / transfer / PayTool / send ether",
            ("Pays an address", "Sends an amount to an address", "Transfers ether"),
            (
                parameter(
                    "found", ADDRESS, "to / recipient / target", "who is paid", "the recipient"
                ),
                parameter("amount", UINT, "amount / value", "how much", "the amount"),
            ),
            (
                "pay {found} {amount}",
                "send {amount} to {found}",
                "transfer {amount} to {found}",
                "give {found} {amount}",
            ),
            replies=("Paid", "Sent"),
        ),
    ),
    (
        Chain(
            "resolve",
            "pay",
            'look up the address of "{name}" and send {amount} to it',
            ('First, look up the address of "{name}".', "Next, send {amount} to {found}."),
        ),
        Chain(
            "resolve",
            "pay",
            'pay {amount} to whoever owns the name "{name}"',
            ('First, look up who owns "{name}".', "Next, pay {amount} to {found}."),
        ),
    ),
)

NFTS = Kind(
    "collectibles",
    ("You manage a collection of NFTs.", "You mint and move collectibles for an artist."),
    (
        action(
            "mint",
            "mint / mint nft / create token / MintTool / issue",
            ("Mints a token to an account", "Creates a new NFT", "Issues a collectible"),
            (parameter("who", ADDRESS, "to / owner / recipient", "who gets it", "first owner"),),
            (
                "mint one to {who}",
                "mint an NFT for {who}",
                "create a token for {who}",
                "issue a collectible to {who}",
            ),
            replies=("Minted",),
        ),
        action(
            "burn",
            "burn / burn nft / destroy / BurnTool / destroy token",
            ("Burns a token", "Destroys an NFT for ever"),
            (NFT,),
            (
                "burn token {id}",
                "destroy number {id}",
                "burn NFT {id}",
                "get rid of token {id} for ever",
            ),
            replies=("Burnt",),
        ),
        action(
            "give",
            "transfer nft / transfer / give / send token / TransferNftTool",
            ("Transfers a token to a new owner", "Gives an NFT to somebody"),
            (
                NFT,
                parameter(
                    "who", ADDRESS, "to / new owner / recipient", "the new owner", "who gets it"
                ),
            ),
            (
                "transfer token {id} to {who}",
                "send NFT {id} to {who}",
                "give number {id} to {who}",
                "give {who} token {id}",
                "make {who} the owner of token {id}",
            ),
            replies=("Transferred", "Sent"),
        ),
        look(
            "owner",
            "owner of / get owner / OwnerTool / who owns",
            ("Owner of a token", "Tells who owns an NFT"),
            (NFT,),
            (
                "look up the owner of token {id}",
                "find out who owns NFT {id}",
                "Who owns token {id}?",
                "Whose is number {id}?",
            ),
            fact="found",
            replies=("{found}", "Owner: {found}", "{found} owns it"),
        ),
        action(
            "price",
            "set price / list for sale / price token / ListTool / offer for sale",
            ("Offers a token for sale", "Sets the price of an NFT"),
            (NFT, parameter("price", UINT, "price / amount", "the price", "asking price")),
            (
                "sell token {id} for {price}",
                "list NFT {id} at {price}",
                "set the price of token {id} to {price}",
                "offer number {id} for {price}",
            ),
            replies=("Listed", "Price set"),
        ),
    ),
)

GUESTS = Kind(
    "members",
    ("You keep a club's list of members.", "You manage who may enter."),
    (
        action(
            "add",
            "add member / admit / invite / AddTool / whitelist",
            ("Adds a member", "Puts an account on the list"),
            (parameter("who", ADDRESS, "member / account / guest", "the new member", "whom"),),
            (
                "add {who} to the list",
                "admit {who}",
                "invite {who}",
                "make {who} a member",
                "whitelist {who}",
            ),
            replies=("Added", "Member added"),
        ),
        action(
            "remove",
            "remove member / expel / ban / RemoveTool / blacklist",
            ("Removes a member", "Takes an account off the list"),
            (parameter("who", ADDRESS, "member / account / guest", "the member", "whom"),),
            (
                "remove {who} from the list",
                "expel {who}",
                "ban {who}",
                "end the membership of {who}",
                "blacklist {who}",
            ),
            replies=("Removed",),
        ),
        look(
            "is member",
            "is member / check member / MemberTool / is listed",
            ("Whether an account is a member", "Checks the list"),
            (parameter("who", ADDRESS, "member / account", "the account", "whom"),),
            (
                "check whether {who} is a member",
                "look {who} up on the list",
                "Is {who} a member?",
                "Is {who} on the list?",
            ),
            fact="yes",
            replies=("{yes}", "Member: {yes}"),
        ),
        look(
            "count",
            "member count / count / size / CountTool",
            ("How many members there are", "Number of accounts on the list"),
            (),
            (
                "count the members",
                "tell me how many members there are",
                "How many members are there?",
                "How long is the list?",
            ),
            fact="n",
            replies=("{n}", "Members: {n}", "There are {n}"),
        ),
    ),
)

IDENTITY = (NAMES, NFTS, GUESTS)
