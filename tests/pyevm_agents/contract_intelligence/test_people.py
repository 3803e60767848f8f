"""Names of people: how they are written, which are refused, and that the executor takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.address_handles import AddressBook
from pyevm_agents.contract_intelligence.people import (
    FORMAT_WORDS,
    FUNCTION_WORDS,
    MAX_PEOPLE,
    NamedAddress,
    Person,
    check_people,
    parse_handle,
    read_handles,
    resolve_people,
)
from pyevm_agents.contract_intelligence.tool_spec import ZERO_ADDRESS
from pyevm_agents.errors import ConfigError
from tests.pyevm_agents.contract_intelligence.answering_code import address_of

if TYPE_CHECKING:
    from pathlib import Path

ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (f"Alice={ALICE}", "Alice", ALICE),
        (f" Alice = {ALICE.lower()} ", "Alice", ALICE),
        (f'"Alice" = "{ALICE}"', "Alice", ALICE),
        ("Alice=Alice.ETH", "Alice", "alice.eth"),
        ("Bob.eth", "bob.eth", "bob.eth"),
        ("pay.bob.base.eth", "pay.bob.base.eth", "pay.bob.base.eth"),
    ],
)
def test_forms_of_a_name(text: str, name: str, value: str) -> None:
    assert parse_handle(text) == NamedAddress(name=name, value=value, place="--handle")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be NAME=0x…, NAME=bob.eth or bob.eth; write it so"),
        ("Alice", "not an address or a name of ENS"),
        ("Alice=", "not an address or a name of ENS"),
        ("Alice=0x70997970", "must be NAME=0x… with 40 hexadecimal digits"),
        (f"Alice={ALICE.replace('C5', 'c5')}", "wrong checksum .EIP-55.; look for a typo"),
        (ALICE, f"{ALICE}: has no name; write NAME={ALICE}"),
        ("Alice=b\u00f6b.eth", "not an address or a name of ENS"),
        ("Alice=bob..eth", "not an address or a name of ENS"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_handle(text)


def test_a_file_has_lines_or_toml(tmp_path: Path) -> None:
    path = tmp_path / "friends"
    path.write_text(
        f"# friends\n[people]\n\nAlice = {ALICE}  # the first\n'Bob' = \"{BOB}\"\ncarol.eth\r\n"
    )
    assert [(each.name, each.value) for each in read_handles(path)] == [
        ("Alice", ALICE), ("Bob", BOB), ("carol.eth", "carol.eth"),
    ]  # fmt: skip
    path.write_text(f"Alice = {ALICE}\n\nBob Smith = {BOB}\n")
    with pytest.raises(ConfigError, match=f"^{path}, line 3: Bob Smith = "):
        read_handles(path)
    path.write_bytes(b"#" * (1 << 17))
    with pytest.raises(ConfigError, match="must have at most 64 KiB"):
        read_handles(path)
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        read_handles(tmp_path / "none")


def test_a_name_of_ens_that_has_no_address_names_its_place() -> None:
    def resolve(name: str) -> str:
        raise ConfigError(f"{name} has no address")

    with pytest.raises(ConfigError, match=r"^--handle Bob: bob\.eth has no address$"):
        resolve_people([parse_handle("Bob=bob.eth")], resolve)
    [alice, bob] = resolve_people(
        [parse_handle(f"Alice={ALICE}"), parse_handle("bob.eth")], lambda _: BOB
    )
    assert (alice, bob) == (
        Person(name="Alice", address=ALICE),
        Person(name="bob.eth", address=BOB, ens_name="bob.eth"),
    )


FORM = "must have letters, digits, `_`, `-` and `.` alone"
COMMON = "must be no common word"


@pytest.mark.parametrize(
    ("names", "flaw"),
    [
        (["Alice", "Bob", "o-neil", "carol.eth", "Will", "May"], ""),
        (["it"], COMMON),
        (["All"], COMMON),
        (["ME"], COMMON),
        (["Done"], COMMON),
        (["ten"], COMMON),
        (["addr1"], FORM),
        (["true"], FORM),
        (["Bob Smith"], FORM),
        (["B\u00f6b"], FORM),
        (["_bob"], FORM),
        (["5"], FORM),
        (["0xBob"], FORM),
        (["x" * 33], "must have at most 32 characters"),
        (["Bob", "bob"], "must not look like Bob"),
        (["Bill", "Bi11"], "must not look like another name"),
        (["vault"], "must not look like Vault"),
        (["Gwei"], "must not be a word for the native currency"),
        (["B" * (each + 1) for each in range(3)], ""),
    ],
)
def test_names_that_can_stand_in_a_prompt(names: list[str], flaw: str) -> None:
    people = [
        Person(name=name, address=address_of(number)) for number, name in enumerate(names, start=1)
    ]
    handles = {address_of(0xA0): "Vault"}
    if not flaw:
        check_people(people, handles, ["wei", "gwei"])
        return
    with pytest.raises(ConfigError) as refusal:
        check_people(people, handles, ["wei", "gwei"])
    assert flaw in str(refusal.value)


def test_an_address_has_one_name_and_is_not_zero() -> None:
    bob = Person(name="Bob", address=BOB)
    for people, handles, message in (
        ([bob, Person(name="Robert", address=BOB)], {}, f"handle Robert: {BOB} is Bob already"),
        ([bob], {BOB: "Vault"}, f"handle Bob: {BOB} is Vault already; give it one name"),
        ([Person(name="Nemo", address=ZERO_ADDRESS)], {}, "must not be the zero address"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_people(people, handles)
    many = [
        Person(name=f"friend{number}", address=address_of(number))
        for number in range(1, MAX_PEOPLE + 2)
    ]
    with pytest.raises(ConfigError, match="49 names: must be at most 48"):
        check_people(many, {})


NAMES = st.text("0123456789abcxyzABCXYZ_-. ", min_size=1, max_size=40) | st.sampled_from(
    sorted(FUNCTION_WORDS | FORMAT_WORDS)
)


@given(NAMES)
def test_every_accepted_name_is_a_handle_of_the_executor(name: str) -> None:
    try:
        check_people([Person(name=name, address=BOB)], {})
    except ConfigError:
        return
    book = AddressBook(f"{name} = {BOB}", ())
    assert book.handles == ((name, BOB),)
    assert book.expand(f"Paid {name}.") == f"Paid {BOB}."
