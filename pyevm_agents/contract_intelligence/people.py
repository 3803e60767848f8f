"""Names of people: handles that an agent's owner gives to addresses, beside those of contracts.

An agent pays the names of the base prompt. So a name must be certain: a handle that the executor
takes, unlike any other one, and no word with another meaning in a request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import is_checksum_address, to_checksum_address

from precompiles.address_handles import AddressBook
from precompiles.escaping import escape_line
from precompiles.spec import MAX_HANDLE_CHARACTERS
from precompiles.tool_metadata import find_name_flaw
from pyevm_agents.contract_intelligence.ens import ENS_NAME, normalize_name
from pyevm_agents.contract_intelligence.untrusted_text import NameTable
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

MAX_PEOPLE = 48
"""Names of people in one prompt: the executor takes 64 addresses."""

MAX_FILE_BYTES = 1 << 16
ZERO_ADDRESS = "0x" + "00" * 20

# English has no further words of these classes, so the list is closed.
FUNCTION_WORDS = frozenset(
    # Pronouns and articles.
    "a an the i me my mine myself we us our ours you your yours he him his she her hers it its "  # noqa: SIM905
    "they them their theirs this that these those who whom whose what which one ones "
    # Quantifiers and numbers.
    "all any both each every everyone everybody everything everywhere nobody none nothing no some "
    "someone somebody something anyone anybody anything enough few half last least less many more "
    "most much next other others rest same several such whole zero two three four five six seven "
    "eight nine ten eleven twelve twenty thirty forty fifty sixty seventy eighty ninety dozen "
    "hundred thousand million billion once twice percent "
    # Prepositions, conjunctions, negation and answers.
    "about above after against and as at because before below between but by during either else "
    "except for from how if in instead into neither never nor not of off on only onto or out over "
    "per since so than then there through to toward towards under unless until up via when where "
    "while why with within without yes yet back".split()
)
"""Words of English whose classes are closed: a name like them would change what a request says."""

FORMAT_WORDS = frozenset(
    "action answer done final input observation question thought unsure abi call".split()  # noqa: SIM905
)
"""Words of the executor's format, and of its answers."""

_ENTRY = re.compile(
    r"""\s*(?:(?P<quote>["'])(?P<quoted>[^"']*)(?P=quote)|(?P<name>[^"'=\s]+))"""
    r"""\s*(?:=\s*(?P<value>.*?))?\s*"""
)
_TABLE = re.compile(r"\s*\[[\w.\-]+\]\s*")
_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAddress:
    """A name and the address or ENS name, as written by the user."""

    name: str
    value: str
    """An address, or a name of ENS."""

    place: str
    """Where it stands, for messages: `--handle`, or a file with its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A name of an address."""

    name: str
    address: str
    """Checksummed."""

    ens_name: str = ""
    """The name of ENS that the address was found by; empty for none."""


def parse_handle(text: str, place: str = "--handle") -> NamedAddress:
    """Return the name and the value of `NAME=0x…`, `NAME=bob.eth` or `bob.eth`.

    Raises: ConfigError: the text has another form.
    """
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        raise ConfigError(
            f"{place} {_show(text)}: must be NAME=0x…, NAME=bob.eth or bob.eth; write it so"
        )
    name = str(entry["quoted"] if entry["name"] is None else entry["name"])
    value = _unquote(name if entry["value"] is None else entry["value"])
    if _ADDRESS.fullmatch(value):
        has_case = value[2:] not in {value[2:].lower(), value[2:].upper()}
        if has_case and not is_checksum_address(value):
            raise ConfigError(
                f"{place} {_show(text)}: wrong checksum (EIP-55); look for a typo in the address"
            )
        if entry["value"] is None:
            raise ConfigError(f"{place} {value}: has no name; write NAME={value}")
        return NamedAddress(name=name, value=str(to_checksum_address(value)), place=place)
    if not ENS_NAME.fullmatch(value):
        raise ConfigError(
            f"{place} {_show(text)}: not an address or a name of ENS; must be NAME=0x… with 40 "
            "hexadecimal digits, NAME=bob.eth or bob.eth"
        )
    known = normalize_name(value)
    return NamedAddress(name=known if entry["value"] is None else name, value=known, place=place)


def read_handles(path: Path) -> list[NamedAddress]:
    """Return the names of a file: TOML with texts, or lines `NAME = 0x…`; `#` begins a comment.

    Raises: ConfigError: the file can't be read, or a line is no name.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: must have at most {MAX_FILE_BYTES >> 10} KiB")
    lines = content.decode("utf-8", "replace").splitlines()
    found = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0]
        if text.strip() and not _TABLE.fullmatch(text):
            found.append(parse_handle(text.strip(), f"{path}, line {number}:"))
    return found


def resolve_people(
    named: Iterable[NamedAddress], resolve: Callable[[str], str]
) -> tuple[Person, ...]:
    """Return the addresses of names.

    Input:  resolve: returns the address of a name of ENS; a failure is a ConfigError.
    Raises: ConfigError: a name of ENS has no address.
    """
    people = []
    for each in named:
        is_address = _ADDRESS.fullmatch(each.value) is not None
        try:
            address = each.value if is_address else resolve(each.value)
        except ConfigError as error:
            raise ConfigError(f"{each.place} {_show(each.name)}: {error}") from error
        ens_name = "" if is_address else each.value
        people.append(Person(name=each.name, address=address, ens_name=ens_name))
    return tuple(people)


def check_people(
    people: Sequence[Person], handles: Mapping[str, str], taken: Iterable[str] = ()
) -> None:
    """Check that names can stand beside the handles of contracts in one base prompt.

    Input:  the people; the other handles by address; further words that have another meaning, such
            as those for the native currency, and names of tools.
    Raises: ConfigError: a name is no handle, is like another name, or a common word; two names are
            of one address, or an address has another handle.
    """
    if len(people) > MAX_PEOPLE:
        raise ConfigError(f"{len(people)} names: must be at most {MAX_PEOPLE}; leave some out")
    names = NameTable(MAX_HANDLE_CHARACTERS, ignores_case=True, reserved=handles.values())
    words = NameTable(ignores_case=True, reserved=taken)
    known = dict(handles)
    for person in people:
        flaw = _find_flaw(person) or _find_conflict(person, known, names, words)
        if flaw is not None:
            raise ConfigError(f"handle {_show(person.name)}: {flaw}")
        names.add(person.name)
        known[person.address] = person.name


def _find_conflict(
    person: Person, known: Mapping[str, str], names: NameTable, words: NameTable
) -> str | None:
    """Return why a name can't stand beside others; None for a valid name."""
    if person.address in known:
        return f"{person.address} is {known[person.address]} already; give it one name"
    if names.has(person.name):
        twins = (each for each in known.values() if each.casefold() == person.name.casefold())
        twin = next(twins, "another name")
        return f"must not look like {twin}, which stands for another address; choose another name"
    if words.has(person.name):
        return (
            "must not be a word for the native currency, or the name of a tool; choose another name"
        )
    return None


def _find_flaw(person: Person) -> str | None:
    """Return why a text can't be a handle; None for a valid one."""
    name = person.name
    if len(name) > MAX_HANDLE_CHARACTERS:
        return f"must have at most {MAX_HANDLE_CHARACTERS} characters; choose another name"
    book = AddressBook(f"{name} = {person.address}", ())
    is_handle = name.isascii() and find_name_flaw(name) is None
    if not is_handle or book.handles != ((name, person.address),):
        return (
            "must have letters, digits, `_`, `-` and `.` alone, begin and end with a letter or a "
            "digit, and be no number, no `addr1`, true, false or null; choose another name"
        )
    if person.address == ZERO_ADDRESS:
        return "must not be the zero address, from which nothing comes back; check the address"
    if name.casefold() in FUNCTION_WORDS | FORMAT_WORDS:
        return "must be no common word, which requests use for something else; choose another name"
    return None


def _unquote(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text


def _show(text: str) -> str:
    return escape_line(text[:64])
