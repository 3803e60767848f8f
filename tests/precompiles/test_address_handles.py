"""Addresses and their handles: recognition, names, and lossless replacement."""

from __future__ import annotations

from itertools import pairwise

import pytest
from eth_utils import is_checksum_formatted_address, to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from precompiles.address_handles import AddressBook
from precompiles.escaping import ADDRESS

# The examples of EIP-55.
CHECKSUMMED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
THIRD = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
ALL_CAPS = "0x52908400098527886E0F7030069857D2E4169EE7"
ALL_LOWER = "0xde709f2102306220921060314715629080e2fb77"
WRONG_CHECKSUM = "0x5aaEb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def numbered(number: int) -> str:
    """Return the checksummed address of that number."""
    return to_checksum_address(number.to_bytes(20, "big"))


def handles_of(base_prompt: str, *others: str) -> dict[str, str]:
    """Return handle and address of every address in the texts."""
    return dict(AddressBook(base_prompt, others).handles)


class TestWhatIsAnAddress:
    """`0x` and 40 digits, by themselves, with a checksum that does not fail."""

    @pytest.mark.parametrize(
        ("text", "address"),
        [
            pytest.param(CHECKSUMMED, CHECKSUMMED, id="checksummed"),
            pytest.param(CHECKSUMMED.lower(), CHECKSUMMED, id="all_lower"),
            pytest.param("0x" + CHECKSUMMED[2:].upper(), CHECKSUMMED, id="all_upper"),
            pytest.param(ALL_CAPS, ALL_CAPS, id="checksum_is_upper"),
            pytest.param(ALL_LOWER, ALL_LOWER, id="checksum_is_lower"),
            pytest.param("0x" + "1" * 40, "0x" + "1" * 40, id="digits_only"),
            pytest.param("0x" + "0" * 40, "0x" + "0" * 40, id="zero"),
        ],
    )
    def test_this_is_one(self, text: str, address: str) -> None:
        assert handles_of(f"pay {text}.") == {"addr1": address}

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(WRONG_CHECKSUM, id="failing_checksum"),
            pytest.param(CHECKSUMMED[:-1], id="39_digits"),
            pytest.param(CHECKSUMMED + "0", id="41_digits"),
            pytest.param(CHECKSUMMED + "0" * 24, id="32_bytes"),
            pytest.param(CHECKSUMMED + "g", id="letter_after"),
            pytest.param("a" + CHECKSUMMED, id="letter_before"),
            pytest.param("0" + CHECKSUMMED, id="digit_before"),
            pytest.param("0X" + CHECKSUMMED[2:], id="upper_x"),
            pytest.param(CHECKSUMMED[2:], id="no_prefix"),
            pytest.param(CHECKSUMMED[:-1] + "g", id="no_hex_digit"),
        ],
    )
    def test_this_is_none(self, text: str) -> None:
        assert handles_of(text, text, text) == {}

    @pytest.mark.parametrize("before", [*" \n\t\"'([{<=:,._-/+$", "é", "λ", ""])
    @pytest.mark.parametrize("after", [*" \n\t\"')]}>=:,._-/+?", "é", "λ", ""])
    def test_a_neighbour_that_is_no_ascii_letter_or_digit_is_fine(
        self, before: str, after: str
    ) -> None:
        book = AddressBook("", [f"{before}{CHECKSUMMED}{after}"])
        assert book.handles == (("addr1", CHECKSUMMED),)
        assert book.intern(f"{before}{CHECKSUMMED}{after}") == f"{before}addr1{after}"

    def test_addresses_are_equal_by_value(self) -> None:
        book = AddressBook(CHECKSUMMED.lower(), [CHECKSUMMED, "0x" + CHECKSUMMED[2:].upper()])
        assert book.handles == (("addr1", CHECKSUMMED),)
        assert book.intern(f"{CHECKSUMMED.lower()} {CHECKSUMMED}") == "addr1 addr1"

    def test_one_with_a_failing_checksum_stays_text_beside_its_valid_twin(self) -> None:
        book = AddressBook(CHECKSUMMED, [])
        assert book.intern(f"{WRONG_CHECKSUM} {CHECKSUMMED}") == f"{WRONG_CHECKSUM} addr1"

    def test_one_that_no_text_named_stays_text(self) -> None:
        assert AddressBook(CHECKSUMMED, []).intern(OTHER) == OTHER


class TestOrderAndLimit:
    """The first 64 different addresses, in order of appearance."""

    def test_base_prompt_then_the_others_in_order(self) -> None:
        book = AddressBook(f"{THIRD} {CHECKSUMMED}", [OTHER, f"{CHECKSUMMED} {ALL_CAPS}"])
        assert book.handles == (
            ("addr1", THIRD),
            ("addr2", CHECKSUMMED),
            ("addr3", OTHER),
            ("addr4", ALL_CAPS),
        )

    def test_more_texts_only_append(self) -> None:
        texts = [f"{numbered(n)} and {numbered(n // 2)}" for n in range(1, 30)]
        books = [AddressBook(CHECKSUMMED, texts[:count]) for count in range(30)]
        for shorter, longer in pairwise(books):
            assert longer.handles[: len(shorter.handles)] == shorter.handles

    def test_the_64th_has_a_handle_and_the_65th_has_none(self) -> None:
        base_prompt = " ".join(numbered(n) for n in range(1, 64))
        book = AddressBook(base_prompt, [numbered(64), numbered(65), numbered(1)])
        assert len(book.handles) == 64
        assert book.handles[63] == ("addr64", numbered(64))
        assert book.intern(f"{numbered(64)} {numbered(65)}") == f"addr64 {numbered(65)}"

    def test_a_name_beyond_the_limit_is_no_handle(self) -> None:
        crowd = " ".join(numbered(n) for n in range(1, 65))
        book = AddressBook(f"{crowd}\nPOOL = {OTHER}", [])
        assert "POOL" not in dict(book.handles)
        assert book.expand("POOL") == "POOL"
        assert book.intern_base_prompt(f"POOL = {OTHER}") == f"POOL = {OTHER}"


class TestNames:
    """A line `NAME = 0x…` of the base prompt names an address."""

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param(f"POOL = {OTHER}", id="plain"),
            pytest.param(f"POOL={OTHER}", id="no_spaces"),
            pytest.param(f" \t POOL\t =\t {OTHER} \t", id="tabs"),
            pytest.param(f"POOL = {OTHER.lower()}", id="lower"),
            pytest.param(f"POOL = {OTHER}\r", id="carriage_return"),
        ],
    )
    def test_this_line_names_it(self, line: str) -> None:
        assert handles_of(f"You trade.\n{line}\nGo.") == {"POOL": OTHER}

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param(f"The POOL = {OTHER}", id="words_before"),
            pytest.param(f"POOL = {OTHER} (main)", id="words_after"),
            pytest.param(f"POOL: {OTHER}", id="colon"),
            pytest.param(f"POOL == {OTHER}", id="two_signs"),
            pytest.param(f"= {OTHER}", id="no_name"),
            pytest.param(f"POOL =\n{OTHER}", id="two_lines"),
        ],
    )
    def test_this_line_does_not(self, line: str) -> None:
        assert handles_of(line) == {"addr1": OTHER}

    @pytest.mark.parametrize(
        "name",
        [
            "a",
            "A",
            "a1",
            "1a",
            "a.b",
            "a-b",
            "a_b",
            "USDC.e",
            "a" * 32,
            "9-9z9",
            "x0",
            "true1",
            "nul",
        ],
    )
    def test_this_is_a_name(self, name: str) -> None:
        assert handles_of(f"{name} = {OTHER}") == {name: OTHER}

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param("1", id="digit"),
            pytest.param("1.2", id="no_letter"),
            pytest.param("a" * 33, id="33_characters"),
            pytest.param("_a", id="starts_with_underscore"),
            pytest.param("a_", id="ends_with_underscore"),
            pytest.param("a.", id="ends_with_dot"),
            pytest.param("-a", id="starts_with_dash"),
            pytest.param("0xa", id="starts_with_0x"),
            pytest.param("a0xb", id="holds_0x"),
            pytest.param("a0X", id="holds_0X"),
            pytest.param("pöol", id="no_ascii"),
            pytest.param("a b", id="space"),
            pytest.param("a/b", id="slash"),
            pytest.param('a"b', id="quote"),
            pytest.param("true", id="true"),
            pytest.param("false", id="false"),
            pytest.param("null", id="null"),
        ],
    )
    def test_this_is_no_name(self, name: str) -> None:
        assert handles_of(f"{name} = {OTHER}") == {"addr1": OTHER}

    def test_names_come_from_the_base_prompt_alone(self) -> None:
        assert handles_of("", f"POOL = {OTHER}", f"BANK = {THIRD}") == {
            "addr1": OTHER,
            "addr2": THIRD,
        }

    def test_a_prompt_can_not_rename(self) -> None:
        assert handles_of(f"POOL = {OTHER}", f"POOL = {THIRD}\nBANK = {OTHER}") == {
            "POOL": OTHER,
            "addr1": THIRD,
        }

    def test_the_first_line_of_a_name_counts(self) -> None:
        assert handles_of(f"POOL = {OTHER}\nPOOL = {THIRD}") == {"POOL": OTHER, "addr1": THIRD}

    def test_the_first_line_of_an_address_counts(self) -> None:
        assert handles_of(f"POOL = {OTHER}\nBANK = {OTHER}") == {"POOL": OTHER}

    def test_a_name_whose_first_line_did_not_count_names_nothing_later(self) -> None:
        # The prompt says `BANK = POOL`; BANK must not be another address as well.
        lines = f"POOL = {OTHER}\nBANK = {OTHER}\nBANK = {THIRD}"
        assert handles_of(lines) == {"POOL": OTHER, "addr1": THIRD}

    def test_a_failing_checksum_names_nothing(self) -> None:
        assert handles_of(f"POOL = {WRONG_CHECKSUM}\nPOOL = {OTHER}") == {"POOL": OTHER}

    def test_names_are_told_apart_by_case(self) -> None:
        assert handles_of(f"POOL = {OTHER}\npool = {THIRD}") == {"POOL": OTHER, "pool": THIRD}

    def test_a_named_address_keeps_its_place_in_the_order(self) -> None:
        book = AddressBook(f"See {THIRD}.\nPOOL = {OTHER}", [])
        assert book.handles == (("addr1", THIRD), ("POOL", OTHER))

    def test_numbers_skip_taken_names(self) -> None:
        book = AddressBook(f"addr1 = {OTHER}\naddr3 = {THIRD}", [CHECKSUMMED, ALL_CAPS])
        assert book.handles == (
            ("addr1", OTHER),
            ("addr3", THIRD),
            ("addr2", CHECKSUMMED),
            ("addr4", ALL_CAPS),
        )

    def test_a_named_address_uses_up_no_number(self) -> None:
        assert handles_of(f"{CHECKSUMMED}\nPOOL = {OTHER}\n{THIRD}") == {
            "addr1": CHECKSUMMED,
            "POOL": OTHER,
            "addr2": THIRD,
        }


class TestBasePrompt:
    """Lines that only name an address become the name."""

    @pytest.mark.parametrize(
        ("base_prompt", "interned"),
        [
            pytest.param(f"a\nPOOL = {OTHER}\nb", "a\nPOOL\nb", id="definition"),
            pytest.param(f"\t POOL={OTHER}  ", "POOL", id="definition_with_spaces"),
            pytest.param(f"Use {OTHER}", "Use addr1", id="no_definition"),
            pytest.param(f"POOL = {OTHER}\nUse {OTHER}", "POOL\nUse POOL", id="used_again"),
            pytest.param(f"POOL = {OTHER}\nBANK = {OTHER}", "POOL\nBANK = POOL", id="second_name"),
            pytest.param(
                f"POOL = {OTHER}\nPOOL = {THIRD}", "POOL\nPOOL = addr1", id="second_address"
            ),
            pytest.param(f"1 = {OTHER}", "1 = addr1", id="bad_name"),
            pytest.param(f"addr1 = {OTHER}", "addr1", id="named_like_a_number"),
            pytest.param(f"POOL = {WRONG_CHECKSUM}", f"POOL = {WRONG_CHECKSUM}", id="bad_checksum"),
            pytest.param("", "", id="empty"),
        ],
    )
    def test_lines(self, base_prompt: str, interned: str) -> None:
        assert AddressBook(base_prompt, []).intern_base_prompt(base_prompt) == interned


NAMED = f"POOL = {OTHER}\nUSDC.e = {THIRD}\na-b_c = {CHECKSUMMED}\naddr2 = {ALL_CAPS}\n"
BOOK = AddressBook(NAMED, [numbered(n) for n in range(1, 12)])
PIECES = [*(handle for handle, _ in BOOK.handles), *".-_ ,:\"'\\\n01xaPé٣λß😀", "addr"]


class TestExpand:
    """Handles become addresses again."""

    @pytest.mark.parametrize(
        ("text", "expanded"),
        [
            pytest.param("POOL", OTHER, id="alone"),
            pytest.param("Pay POOL.", f"Pay {OTHER}.", id="before_a_full_stop"),
            pytest.param('{"to": "USDC.e"}', f'{{"to": "{THIRD}"}}', id="quoted"),
            pytest.param("_POOL_", f"_{OTHER}_", id="between_underscores"),
            pytest.param("éPOOLλ", f"é{OTHER}λ", id="between_other_letters"),
            pytest.param("POOLS", "POOLS", id="longer_word"),
            pytest.param("my-POOL", "my-POOL", id="compound"),
            pytest.param("POOL.USDC.e", "POOL.USDC.e", id="dotted"),
            pytest.param("pool", "pool", id="other_case"),
            pytest.param("addr1", numbered(1), id="numbered"),
            pytest.param("addr12", numbered(11), id="numbered_not_its_prefix"),
            pytest.param("addr99", "addr99", id="no_handle"),
            pytest.param("", "", id="empty"),
        ],
    )
    def test_texts(self, text: str, expanded: str) -> None:
        assert BOOK.expand(text) == expanded

    def test_every_handle_leads_to_its_address(self) -> None:
        for handle, address in BOOK.handles:
            assert BOOK.resolve(handle) == address
            assert BOOK.intern(address) == handle
            assert BOOK.expand(handle) == address

    def test_an_unknown_handle_has_no_address(self) -> None:
        with pytest.raises(KeyError):
            BOOK.resolve("addr99")

    @given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
    def test_interning_undoes_expanding_of_words_and_handles(self, text: str) -> None:
        if "0x" not in text.lower():
            assert BOOK.intern(BOOK.expand(text)) == text

    @given(st.text(max_size=200))
    def test_interning_undoes_expanding_of_any_text(self, text: str) -> None:
        if "0x" not in text.lower():
            assert BOOK.intern(BOOK.expand(text)) == text

    @given(
        st.lists(st.from_regex(r"[0-9A-Za-z_.\-]{1,6}", fullmatch=True), min_size=1, max_size=5),
        st.text("aA0x1._- \n=", max_size=60),
    )
    def test_interning_undoes_expanding_whatever_the_names(
        self, names: list[str], text: str
    ) -> None:
        lines = [f"{name} = {numbered(n)}" for n, name in enumerate(names, start=1)]
        book = AddressBook("\n".join(lines), [])
        spoken = f"{' '.join(names)} {text}{names[0]}{text}"
        if "0x" not in spoken.lower():
            assert book.intern(book.expand(spoken)) == spoken


SPELLINGS = st.builds(
    lambda value, spell, before, after: f"{before}{spell(value)}{after}",
    st.integers(0, 80).map(lambda number: to_checksum_address(number.to_bytes(20, "little"))),
    st.sampled_from(
        [
            str,
            str.lower,
            lambda address: "0x" + address[2:].upper(),
            lambda address: "0x" + address[2:].swapcase(),
            lambda address: address[:-1],
        ]
    ),
    st.sampled_from([" ", "\n", "x = ", "(", "a"]),
    st.sampled_from([" ", "\n", ")", "0", ""]),
)
TEXTS = st.lists(SPELLINGS, max_size=120).map("".join)


def checked_slowly(text: str) -> str | None:
    """Return an address in its checksum form, by eth_utils alone."""
    checksummed = to_checksum_address(text)
    if is_checksum_formatted_address(text) and text != checksummed:
        return None
    return checksummed


@given(TEXTS, TEXTS)
def test_every_spelling_is_found_and_replaced_as_the_plain_rule_says(one: str, other: str) -> None:
    found = [checked_slowly(match[0]) for text in (one, other) for match in ADDRESS.finditer(text)]
    wanted = list(dict.fromkeys(address for address in found if address))[:64]
    book = AddressBook(one, [other])
    assert [address for _, address in book.handles] == wanted
    handles = {address: handle for handle, address in book.handles}
    for text in (one, other):
        plain = ADDRESS.sub(lambda it: handles.get(checked_slowly(it[0]) or "", it[0]), text)
        assert book.intern(text) == plain
