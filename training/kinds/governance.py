"""Families of governance tools: votes, multisig treasuries, access control, auctions, escrows."""

from __future__ import annotations

from training.patterns import ADDRESS, BOOL, STRING, UINT, Chain, Kind, action, look, parameter

PROPOSAL = parameter(
    "id", UINT, "proposal id / id / proposal / proposal number",
    "number of the proposal", "which proposal", "the proposal's id",
)  # fmt: skip
TRANSACTION = parameter(
    "id", UINT, "transaction id / id / tx id / index",
    "number of the transaction", "which transaction", "the id it got",
)  # fmt: skip
AMOUNT = parameter("amount", UINT, "amount / value / sum", "the amount", "how much", "in tokens")
ACCOUNT = parameter(
    "who", ADDRESS, "account / who / user / member", "the account", "whom", "address"
)

VOTING = Kind(
    "voting",
    (
        "You are the delegate of a token holder in a DAO.",
        "You vote and propose on behalf of the owner, never on your own.",
        "You take part in governance.",
    ),
    (
        action(
            "vote",
            "vote / cast vote / VoteTool / submit vote / ballot",
            ("Votes on a proposal", "Casts a vote, for or against", "true is yes, false is no"),
            (
                PROPOSAL,
                parameter(
                    "support",
                    BOOL,
                    "support / in favor / yes / approve",
                    "true for yes",
                    "yes or no",
                ),
            ),
            (
                ("vote yes on proposal {id}", {"support": True}),
                ("vote no on proposal {id}", {"support": False}),
                ("vote for proposal {id}", {"support": True}),
                ("vote against proposal {id}", {"support": False}),
                ("support proposal {id}", {"support": True}),
                ("reject proposal {id}", {"support": False}),
                ("cast a yes on proposal number {id}", {"support": True}),
                ("cast a no on proposal number {id}", {"support": False}),
                ("I am in favor of proposal {id}, vote accordingly.", {"support": True}),
                ("I am against proposal {id}, vote accordingly.", {"support": False}),
            ),
            replies=("Vote cast", "Voted"),
            failures=("Error: voting is closed", "Error: already voted"),
        ),
        action(
            "propose",
            "propose / create proposal / submit proposal / ProposeTool / new proposal",
            ("Creates a proposal", "Submits a proposal with a title", "Opens a new vote"),
            (
                parameter(
                    "title",
                    STRING,
                    "title / description / text",
                    "title of the proposal",
                    "what it says",
                ),
            ),
            (
                'propose "{title}"',
                'create a proposal "{title}"',
                'submit the proposal "{title}"',
                'open a vote titled "{title}"',
                'put "{title}" to the vote',
            ),
            replies=("Created", "Proposal submitted"),
        ),
        action(
            "execute",
            "execute proposal / execute / enact / ExecuteTool / run proposal",
            ("Executes a proposal that has passed", "Puts a passed proposal into effect"),
            (PROPOSAL,),
            (
                "execute proposal {id}",
                "enact proposal {id}",
                "put proposal {id} into effect",
                "carry out proposal number {id}",
            ),
            replies=("Executed",),
            failures=("Error: proposal has not passed",),
        ),
        look(
            "state",
            "proposal state / get state / status / StateTool / check proposal",
            ("State of a proposal", "Tells whether a proposal is open, passed or rejected"),
            (PROPOSAL,),
            (
                "check proposal {id}",
                "tell me the state of proposal {id}",
                "look up how proposal {id} is doing",
                "What is the state of proposal {id}?",
                "Did proposal {id} pass?",
                "How is proposal {id} doing?",
            ),
            fact="state",
            replies=("{state}", "State: {state}", "The proposal is {state}"),
        ),
        action(
            "delegate",
            "delegate votes / delegate / DelegateTool / set delegate",
            ("Delegates the votes to an account", "Lets somebody else vote"),
            (
                parameter(
                    "who", ADDRESS, "delegatee / delegate / to", "who will vote", "the delegate"
                ),
            ),
            (
                "delegate my votes to {who}",
                "let {who} vote for me",
                "make {who} my delegate",
                "give {who} my voting power",
            ),
            replies=("Delegated", "Delegate set"),
        ),
        look(
            "latest",
            "latest proposal / newest proposal / last proposal id",
            ("Number of the newest proposal", "Returns the id of the latest proposal"),
            (),
            (
                "look up the newest proposal",
                "tell me the number of the latest proposal",
                "Which proposal is the newest?",
                "What is the latest proposal?",
            ),
            fact="id",
            replies=("{id}", "Proposal {id}", "The latest is {id}"),
        ),
    ),
    (
        Chain(
            "latest",
            "execute",
            "look up the newest proposal and execute it",
            ("First, look up the newest proposal.", "Next, execute proposal {id}."),
        ),
        Chain(
            "latest",
            "state",
            "find the latest proposal and tell me its state",
            ("First, find the latest proposal.", "Next, tell the state of proposal {id}."),
        ),
    ),
)

MULTISIG = Kind(
    "multisig",
    (
        "You are one of the signers of a multisig treasury.",
        "You prepare and confirm transactions of a shared safe.",
    ),
    (
        action(
            "submit",
            "submit transaction / submit / propose payment / SubmitTool / queue payment",
            ("Submits a payment for confirmation", "Queues a payment", "Proposes to pay somebody"),
            (
                parameter("who", ADDRESS, "to / recipient / payee", "who is paid", "the payee"),
                AMOUNT,
            ),
            (
                "submit a payment of {amount} to {who}",
                "propose to pay {who} {amount}",
                "queue a payment of {amount} to {who}",
                "ask the signers to pay {amount} to {who}",
            ),
            replies=("Submitted", "Queued"),
        ),
        action(
            "confirm",
            "confirm transaction / confirm / sign / approve transaction / ConfirmTool",
            ("Confirms a transaction", "Signs a queued transaction", "Adds our signature"),
            (TRANSACTION,),
            (
                "confirm transaction {id}",
                "sign transaction {id}",
                "approve transaction number {id}",
                "add our signature to transaction {id}",
            ),
            replies=("Confirmed", "Signed"),
        ),
        action(
            "revoke",
            "revoke confirmation / revoke / unsign / withdraw signature / RevokeTool",
            ("Takes a confirmation back", "Removes our signature"),
            (TRANSACTION,),
            (
                "revoke the confirmation of transaction {id}",
                "take our signature off transaction {id}",
                "unsign transaction {id}",
                "withdraw our confirmation of transaction {id}",
            ),
            replies=("Revoked", "Signature removed"),
        ),
        action(
            "add owner",
            "add owner / add signer / AddOwnerTool / new signer",
            ("Adds a signer", "Makes an account an owner of the safe"),
            (ACCOUNT,),
            (
                "add {who} as a signer",
                "make {who} an owner",
                "give {who} a signature",
                "add the owner {who}",
            ),
            replies=("Owner added",),
        ),
        action(
            "remove owner",
            "remove owner / remove signer / RemoveOwnerTool / drop signer",
            ("Removes a signer", "Takes an account off the list of owners"),
            (ACCOUNT,),
            (
                "remove {who} as a signer",
                "take {who} off the list of owners",
                "remove the owner {who}",
                "{who} has left, remove them from the signers.",
            ),
            replies=("Owner removed",),
        ),
        look(
            "confirmations",
            "confirmation count / confirmations / signatures / CountTool",
            ("How many have confirmed a transaction", "Number of signatures"),
            (TRANSACTION,),
            (
                "check how many have signed transaction {id}",
                "count the confirmations of transaction {id}",
                "How many confirmations has transaction {id}?",
                "How many signers confirmed transaction {id}?",
            ),
            fact="small",
            replies=("{small}", "Confirmations: {small}", "{small} signatures"),
        ),
    ),
)

ACCESS = Kind(
    "access",
    (
        "You administer a contract's roles.",
        "You are the operator of a protocol. Change nothing that you are not asked to change.",
    ),
    (
        action(
            "grant",
            "grant role / grant / add role / GrantTool / give role",
            ("Gives an account a role", "Grants a role"),
            (
                parameter("role", STRING, "role / role name", "name of the role", "which role"),
                ACCOUNT,
            ),
            (
                ("grant {who} the minter role", {"role": "minter"}),
                ("make {who} a pauser", {"role": "pauser"}),
                ("give {who} the admin role", {"role": "admin"}),
                ("grant the keeper role to {who}", {"role": "keeper"}),
                ("give the auditor role to {who}", {"role": "auditor"}),
            ),
            replies=("Role granted",),
        ),
        action(
            "revoke",
            "revoke role / revoke / remove role / RevokeTool / take role",
            ("Takes a role from an account", "Revokes a role"),
            (
                parameter("role", STRING, "role / role name", "name of the role", "which role"),
                ACCOUNT,
            ),
            (
                ("revoke the minter role of {who}", {"role": "minter"}),
                ("take the pauser role from {who}", {"role": "pauser"}),
                ("remove {who} as admin", {"role": "admin"}),
                ("revoke the keeper role from {who}", {"role": "keeper"}),
                ("take the auditor role away from {who}", {"role": "auditor"}),
            ),
            replies=("Role revoked",),
        ),
        action(
            "pause",
            "pause / pause contract / halt / PauseTool / stop",
            ("Pauses the contract", "Stops everything in an emergency", "halts transfers"),
            (),
            (
                "pause the contract",
                "stop the contract",
                "halt everything",
                "pull the emergency brake",
                "There is an attack, pause the contract!",
            ),
            replies=("Paused",),
        ),
        action(
            "unpause",
            "unpause / resume / unpause contract / ResumeTool / restart",
            ("Lets the contract run again", "Ends a pause", "resumes transfers"),
            (),
            (
                "unpause the contract",
                "resume the contract",
                "let the contract run again",
                "end the pause",
                "The danger is over, unpause the contract.",
            ),
            replies=("Unpaused", "Running"),
        ),
        look(
            "is paused",
            "is paused / paused / get status / StatusTool",
            ("Whether the contract is paused", "Reads the contract's status"),
            (),
            (
                "check whether the contract is paused",
                "tell me the status of the contract",
                "Is the contract paused?",
                "Is the contract running?",
            ),
            fact="state",
            replies=("{state}", "Status: {state}"),
        ),
        action(
            "fee",
            "set fee / update fee / change fee / FeeTool",
            ("Sets the fee in percent", "Changes the protocol's fee"),
            (
                parameter(
                    "percent", UINT, "percent / fee / new fee", "the fee in percent", "percent"
                ),
            ),
            (
                "set the fee to {percent} percent",
                "change the fee to {percent} %",
                "make the fee {percent} %",
                "update the fee to {percent} percent",
            ),
            replies=("Fee set",),
        ),
    ),
)

AUCTION = Kind(
    "auction",
    ("You bid in auctions for a collector.", "You run an auction house."),
    (
        action(
            "bid",
            "bid / place bid / BidTool / make offer",
            ("Places a bid", "Bids an amount on a lot", "Offers a price in an auction"),
            (
                parameter(
                    "id", UINT, "auction id / lot / id", "number of the auction", "which lot"
                ),
                parameter("amount", UINT, "amount / bid / price", "the bid", "how much to bid"),
            ),
            (
                "bid {amount} on auction {id}",
                "bid {amount} in auction {id}",
                "place a bid of {amount} on lot {id}",
                "offer {amount} for lot {id}",
                "in auction {id}, bid {amount}",
            ),
            replies=("Bid placed",),
            failures=("Error: bid too low", "Error: auction has ended"),
        ),
        action(
            "start",
            "start auction / create auction / open auction / StartTool / list item",
            ("Starts an auction", "Puts an item up for auction", "Opens an auction with a minimum"),
            (
                parameter("item", STRING, "item / name / what", "what is sold", "the item"),
                parameter(
                    "price",
                    UINT,
                    "reserve / minimum / start price",
                    "the lowest bid",
                    "minimum bid",
                ),
            ),
            (
                "start an auction of the {item} with a minimum of {price}",
                "put the {item} up for auction, starting at {price}",
                "auction the {item} from {price}",
                "open an auction for the {item} with a reserve of {price}",
            ),
            replies=("Auction started",),
        ),
        action(
            "close",
            "close auction / end auction / settle / CloseTool / finish",
            ("Ends an auction", "Settles an auction and pays the seller"),
            (parameter("id", UINT, "auction id / lot / id", "number of the auction", "which lot"),),
            (
                "close auction {id}",
                "end auction {id}",
                "settle auction {id}",
                "finish the auction of lot {id}",
            ),
            replies=("Auction closed", "Settled"),
        ),
        look(
            "highest",
            "highest bid / get bid / top bid / HighestTool",
            ("The highest bid so far", "Reads the leading bid of an auction"),
            (parameter("id", UINT, "auction id / lot / id", "number of the auction", "which lot"),),
            (
                "check the highest bid of auction {id}",
                "look up the top bid on lot {id}",
                "What is the highest bid in auction {id}?",
                "How much is bid on lot {id}?",
            ),
            fact="n",
            replies=("{n}", "Highest bid: {n}", "{n} is the top bid"),
        ),
    ),
)

ESCROW = Kind(
    "escrow",
    ("You hold payments in escrow.", "You are the arbiter between a buyer and a seller."),
    (
        action(
            "open",
            "open deal / create escrow / fund escrow / OpenTool / new deal",
            ("Opens a deal and locks its payment", "Creates an escrow for a seller"),
            (parameter("who", ADDRESS, "seller / payee / to", "the seller", "who sells"), AMOUNT),
            (
                "open a deal with {who} over {amount}",
                "lock {amount} in escrow for {who}",
                "create an escrow of {amount} for {who}",
                "put {amount} into escrow for {who}",
            ),
            replies=("Deal opened", "Locked"),
        ),
        action(
            "release",
            "release / release payment / pay seller / ReleaseTool / complete deal",
            ("Pays the seller", "Releases the payment of a deal"),
            (parameter("id", UINT, "deal id / id / deal", "number of the deal", "which deal"),),
            (
                "release the payment of deal {id}",
                "pay the seller of deal {id}",
                "complete deal {id}",
                "the goods of deal {id} are here, so release the payment",
            ),
            replies=("Released", "Seller paid"),
        ),
        action(
            "refund",
            "refund / refund buyer / cancel deal / RefundTool / return payment",
            ("Gives the buyer the money back", "Refunds a deal"),
            (parameter("id", UINT, "deal id / id / deal", "number of the deal", "which deal"),),
            (
                "refund deal {id}",
                "give the buyer of deal {id} the money back",
                "cancel deal {id}",
                "the goods of deal {id} never came, so refund the buyer",
            ),
            replies=("Refunded",),
        ),
        look(
            "deal state",
            "deal state / get deal / DealTool / deal status",
            ("State of a deal", "Tells whether a deal is open, paid or refunded"),
            (parameter("id", UINT, "deal id / id / deal", "number of the deal", "which deal"),),
            (
                "check deal {id}",
                "tell me the state of deal {id}",
                "What is the state of deal {id}?",
                "How is deal {id} going?",
            ),
            fact="state",
            replies=("{state}", "State: {state}", "deal is {state}"),
        ),
    ),
)

GOVERNANCE = (VOTING, MULTISIG, ACCESS, AUCTION, ESCROW)
