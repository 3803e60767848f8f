"""Words for the slots of templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# fmt: off
TOKENS = (
    "USDC", "DAI", "WETH", "USDT", "LINK", "UNI", "AAVE", "WBTC", "stETH", "CRV", "ARB", "OP",
    "MKR", "LDO", "GRT", "COMP", "SNX", "BAL", "YFI", "FRAX", "RPL", "ENS", "sUSD", "cbETH",
    "PEPE", "SHIB", "APE", "MATIC", "BNB", "AVAX", "EURC", "GHO", "LUSD", "TUSD", "PYUSD",
    "rETH", "ZRX", "KNC",
)
PEOPLE = (
    "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy",
    "mallory", "niaj", "olivia", "peggy", "rupert", "sybil", "trent", "victor", "walter",
    "anna", "ben", "chloe", "daniel", "emma", "felix", "gina", "hugo", "iris", "jonas", "kira",
    "leo", "mia", "noah", "nina", "oscar", "paula", "quinn", "rosa", "sam", "tara", "uma",
    "vera", "xenia", "yusuf", "zoe",
)
PLACES = (
    "dao-treasury", "savings-account", "payroll-safe", "charity-fund", "cold-vault", "ops-wallet",
    "grant-fund", "landlord", "backup-safe", "dao-council", "tax-office", "main-safe",
)
TITLES = (
    "Fund the grants round", "Lower the fee", "Upgrade the bridge", "Add a new market",
    "Pay the auditors", "Raise the quorum", "Hire a designer", "Burn the surplus",
    "Open the vault", "Change the logo", "List a new token", "Renew the domain",
    "Move the treasury", "Reward the voters", "Fix the oracle", "Start the airdrop",
    "Cut the emissions", "Sponsor the hackathon", "Buy more servers", "Plant trees",
)
MESSAGES = (
    "hello world", "gm", "see you on Monday", "rent for May", "thanks for the help",
    "order 66 is ready", "meet me at noon", "happy birthday", "invoice paid", "all is well",
    "the door is open", "low on fuel", "server is back", "lunch at twelve", "draft two",
    "keep it secret", "water the plants", "new release", "call me later", "roof is leaking",
    "package lost", "windshield broken", "flight cancelled",
)
NAMES = (
    "sunrise", "river", "blue-moon", "acme", "hilltop", "nightowl", "orchard", "lighthouse",
    "copper", "maple", "falcon", "harbor", "pixel", "tundra", "velvet", "willow", "zephyr",
    "quartz", "meadow", "comet", "ember", "lotus", "onyx", "saffron",
)
CHAINS = (
    "Arbitrum", "Optimism", "Base", "Polygon", "Gnosis", "Scroll", "zkSync", "Linea",
    "Avalanche",
)
CITIES = (
    "Berlin", "Lagos", "Lima", "Osaka", "Oslo", "Cairo", "Quito", "Turin", "Perth", "Lyon",
    "Delhi", "Porto",
)
PLANS = (
    "basic", "pro", "premium", "family", "student", "gold", "silver", "team",
)
STATES = (
    "pending", "active", "executed", "defeated", "open", "closed", "ready", "settled", "queued",
    "expired",
)
SYMBOLS = (
    "ETH", "BTC", "SOL", "DOT", "ADA", "XRP", "LTC", "ATOM",
)
ITEMS = (
    "sword", "shield", "potion", "lantern", "map", "rope", "helmet", "amulet", "boots", "torch",
    "key", "compass",
)
JOBS = (
    "water the plants in hall {n}", "count the boxes in hall {n}", "print {n} copies",
    "paint {n} chairs", "add {n} to the tally", "sort the {n} letters", "wash {n} cups",
    "fold {n} shirts", "read page {n} aloud", "copy chapter {n}", "clean room {n}",
    "pack {n} parcels", "label {n} jars", "sharpen {n} pencils", "bake {n} loaves",
    "cut {n} slices", "charge {n} batteries", "plant {n} bulbs", "feed the {n} fish",
    "write {n} lines about the sea", "draw {n} circles", "add up the first {n} numbers",
    "check {n} tyres", "tune string {n}", "summarise chapter {n}", "translate page {n}",
    "find {n} rhymes", "note down {n}", "subtract {n} from the tally", "ring bell {n}",
)
"""Tasks that an agent may delegate to another agent, and for which no tool exists."""

NUMBER_WORDS: Mapping[str, int] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20,
    "twenty-five": 25, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "a hundred": 100, "one hundred": 100, "two hundred": 200,
    "three hundred": 300, "five hundred": 500, "a thousand": 1_000, "two thousand": 2_000,
}
# fmt: on
