"""`KnowledgeBase`: passages, who changes them, statistics, limits, and its index by its views."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak, to_canonical_address

from benchmarks.retrieval import K1, STOP_WORDS, STORED, B
from tests.contracts.plain_evm import OWNER, STRANGER, Contract, Evm, reverts
from tests.contracts.retrieval.bm25_twin import Twin, log2_of

if TYPE_CHECKING:
    from collections.abc import Sequence

EDITOR = keccak(text="EDITOR_ROLE")
NOBODY_ADMIN = bytes(32)
STRANGER_ADDRESS = STRANGER.address

TEXTS = (
    "The loan needs collateral of 150 percent.",
    "Interest is paid each month; the rate is 5 percent.",
    "A loan is denied if the applicant has a default.",
    "Le café est fermé: naïve 🦉 owls.",
    "The DAO sets the limit of each loan. Loan, loan!",
)
MOST_TERMS, MOST_MATCHES = 12, 8


def make_base(evm: Evm, stop_words: str = STOP_WORDS, k1: int = K1, b: int = B) -> Contract:
    return evm.deploy("KnowledgeBase", OWNER.address, stop_words, k1, b)


@pytest.fixture
def base(evm: Evm) -> Contract:
    base = make_base(evm)
    assert base("add", list(TEXTS), STORED) == 1
    return base


def found(base: Contract, query: str, count: int = MOST_MATCHES) -> list[tuple[int, int]]:
    return [(int(one), int(score)) for one, score in base("search", query, count)]


def ids(base: Contract, query: str) -> list[int]:
    return [one for one, _ in found(base, query)]


def numbered(texts: Sequence[str] = TEXTS) -> dict[int, str]:
    return dict(enumerate(texts, 1))


def test_the_best_passage_comes_first(base: Contract) -> None:
    assert ids(base, "LOAN limit?") == [5, 3, 1]
    assert found(base, "loan limit percent", 2) == Twin(numbered()).search("loan limit percent", 2)
    assert ids(base, "caf owls") == [4]


@pytest.mark.parametrize("query", ["", " .,!", "the of and IF", "unheard", "🦉 é"])
def test_a_query_without_a_known_word_finds_nothing(base: Contract, query: str) -> None:
    assert ids(base, query) == []


def test_an_empty_base_finds_nothing(evm: Evm) -> None:
    base = make_base(evm)
    assert ids(base, "loan") == []
    assert base("documentFrequency", "loan") == 0
    assert base("segmentCount") == 0


def test_views_show_passages_and_statistics(base: Contract) -> None:
    words = Twin(numbered()).words
    assert base("statistics") == (5, sum(map(len, words.values())), 5, 5, 1)
    for one, text in numbered().items():
        assert base("textOf", one) == (True, text)
        assert base("hashOf", one) == keccak(text=text)
        store, offset, size, segment, place, length = base("passages", one)
        assert (segment, place, length) == (1, one - 1, len(words[one]))
        assert size == len(text.encode())
        code = base.evm.vm.state.get_code(to_canonical_address(store))
        assert code[1 + offset :][:size] == text.encode()
    assert [base("documentFrequency", word) for word in ("loan", "percent", "x")] == [3, 2, 0]
    assert base("termsOf", "The LOAN, the loan") == (keccak(text="loan")[:8],)


def test_the_index_can_be_rebuilt_from_the_views(base: Contract) -> None:
    twin = Twin(numbered())
    data = base("segmentData", 0)
    passages, terms = data[0], int.from_bytes(data[1:3])
    table, dictionary = data[3:], data[3 + 6 * passages :]
    for place in range(passages):
        one, length = divmod(int.from_bytes(table[6 * place :][:6]), 2**16)
        assert (one, length) == (place + 1, len(twin.words[place + 1]))
    postings = dictionary[10 * terms :]
    read: dict[tuple[bytes, int], int] = {}
    start = 0
    for number in range(terms):
        entry = dictionary[10 * number :][:10]
        end = int.from_bytes(entry[8:])
        for place, count in zip(*[iter(postings[2 * start : 2 * end])] * 2, strict=True):
            read[entry[:8], place + 1] = count
        start = end
    assert read == {
        (keccak(text=word)[:8], one): count
        for one, counts in twin.counts.items()
        for word, count in counts.items()
    }


def test_events_tell_what_changed(evm: Evm) -> None:
    base = make_base(evm)
    base("add", [TEXTS[0]], not STORED)
    assert base.events("PassageAdded") == [
        {"id": 1, "hash": keccak(text=TEXTS[0]), "words": 5, "isStored": False}
    ]
    (added,) = base.events("SegmentAdded")
    assert (added["key"], added["where"]) == (1, base("segments", 0)[0])
    base("replace", [1], [TEXTS[1]], STORED)
    assert base.events("PassageRemoved") == [{"id": 1}]
    assert base.events("SegmentRemoved") == [{"key": 1}]
    assert base.events("PassageReplaced") == [{"oldId": 1, "newId": 2}]


def test_removed_passages_are_neither_found_nor_counted(base: Contract) -> None:
    base("remove", [1, 4])
    kept = {one: text for one, text in numbered().items() if one not in {1, 4}}
    assert found(base, "loan percent owls") == Twin(kept).search("loan percent owls", MOST_MATCHES)
    assert base("documentFrequency", "loan") == 2
    with reverts("NoSuchPassage", 1):
        base("textOf", 1)
    with reverts("NoSuchPassage", 4):
        base("remove", [4])
    with reverts("NoSuchPassage", 0):
        base("hashOf", 0)


def test_the_last_removal_empties_the_base(base: Contract) -> None:
    base("remove", [3, 2, 1, 5, 4])
    assert base("statistics") == (0, 0, 0, 5, 1)
    assert base("segmentCount") == 0
    assert ids(base, "loan") == []
    assert base("add", ["A new loan"], STORED) == 6
    assert ids(base, "loan") == [6]


def test_the_same_passage_twice_has_two_ids_and_one_score(evm: Evm) -> None:
    base = make_base(evm)
    base("add", [TEXTS[0], TEXTS[1]], STORED)
    base("add", [TEXTS[0]], STORED)
    (first, score), (second, same) = found(base, "collateral")
    assert (first, second, score) == (1, 3, same)


def test_random_changes_leave_the_twin_s_results(evm: Evm) -> None:
    chance = random.Random(25)  # noqa: S311 - a sequence of calls
    vocabulary = [f"w{number}" for number in range(12)]
    base = make_base(evm, stop_words="w11")
    kept: dict[int, str] = {}
    next_id = 1

    def texts(count: int) -> list[str]:
        return [
            " ".join(chance.choices(vocabulary[:-1], k=chance.randint(1, 9))) for _ in range(count)
        ]

    for _ in range(8):
        added = texts(chance.randint(1, 5))
        base("add", added, chance.random() < 0.5)
        kept |= dict(enumerate(added, next_id))
        next_id += len(added)
        gone = chance.sample(sorted(kept), chance.randint(0, len(kept) // 2))
        if chance.random() < 0.4:
            instead = texts(len(gone) or 1)[: len(gone)]
            if gone:
                base("replace", gone, instead, STORED)
                kept |= dict(enumerate(instead, next_id))
                next_id += len(gone)
        else:
            base("remove", gone)
        for one in gone:
            del kept[one]
        if base("segmentCount") > 1:
            first, second = sorted(chance.sample(range(base("segmentCount")), 2))
            base("merge", first, chance.choice([first, second]))
        twin = Twin(kept)
        query = " ".join(chance.choices(vocabulary[:-1], k=4))
        assert found(base, query) == twin.search(query, MOST_MATCHES)
        assert base("statistics")[:2] == (len(kept), twin.total)


def test_merged_segments_are_one_without_removed_passages(base: Contract) -> None:
    base("add", ["Another loan", "An owl"], STORED)
    base("remove", [2, 7])
    before = found(base, "loan owl percent")
    base("merge", 0, 1)
    assert base("segmentCount") == 1
    assert base("segments", 0)[1:] == (3, 5, 0)
    assert base("statistics")[2] == 5
    assert found(base, "loan owl percent") == before
    base("remove", [6])
    assert 6 not in ids(base, "loan")
    with reverts("NoSuchSegment", 1):
        base("merge", 0, 1)


def test_a_hashed_passage_is_read_where_it_was_presented(evm: Evm) -> None:
    base = make_base(evm)
    base("add", list(TEXTS[:2]), not STORED)
    assert base("textOf", 1) == (False, "")
    assert base("hashOf", 1) == keccak(text=TEXTS[0])
    assert ids(base, "loan") == [1]
    with reverts("WrongText", 1, keccak(text=TEXTS[0])):
        base("present", 1, TEXTS[1])
    base("present", 1, TEXTS[0], sender=STRANGER)
    assert base("textOf", 1) == (False, "")  # a later transaction


def test_editors_alone_change_passages(base: Contract) -> None:
    refused = ("AccessControlUnauthorizedAccount", STRANGER_ADDRESS, EDITOR)
    calls: list[tuple[object, ...]] = [
        ("add", ["x"], STORED), ("remove", [1]), ("replace", [1], ["x"], STORED), ("merge", 0, 0),
    ]  # fmt: skip
    for function, *arguments in calls:
        with reverts(*refused):
            base(str(function), *arguments, sender=STRANGER)
    base("grantRole", EDITOR, STRANGER_ADDRESS)  # for example the timelock of a Governor
    assert base("add", ["Owls"], STORED, sender=STRANGER) == 6
    base("revokeRole", EDITOR, STRANGER_ADDRESS)
    with reverts(*refused):
        base("remove", [6], sender=STRANGER)
    with reverts("AccessControlUnauthorizedAccount", STRANGER_ADDRESS, NOBODY_ADMIN):
        base("grantRole", EDITOR, STRANGER_ADDRESS, sender=STRANGER)


def test_limits_of_passages(evm: Evm) -> None:
    base = make_base(evm)
    with reverts("WrongBatch", 0, 255):
        base("add", [], STORED)
    with reverts("WrongBatch", 256, 255):
        base("add", ["x"] * 256, STORED)
    with reverts("WrongSize", 1, 0, 4096):
        base("add", ["x", ""], STORED)
    with reverts("WrongSize", 0, 4097, 4096):
        base("add", ["x" * 4097], STORED)
    with reverts("BatchTooLarge", 24_576, 24_575):
        base("add", ["x" * 4096] * 6, not STORED)
    with reverts("NotUtf8", 0):
        base.evm.send(base.address, bytes_call(base, b"\xff"))
    assert base("add", ["x" * 4096], STORED) == 1
    assert ids(base, "x" * 33) == [1]  # a word is cut after 32 bytes


def bytes_call(base: Contract, text: bytes) -> bytes:
    """Return the calldata of `add` for a text that need not be UTF-8."""
    placeholder = b"?" * len(text)
    return base.artifact.encode_call("add", [placeholder.decode()], STORED).replace(
        placeholder, text
    )


def test_a_word_counts_at_most_255_times(evm: Evm) -> None:
    base = make_base(evm)
    texts = ["owl " * 300 + "fox", "owl"]
    base("add", texts, STORED)
    assert found(base, "owl") == Twin(numbered(texts)).search("owl", MOST_MATCHES)
    assert base("statistics")[1] == 302


def test_limits_of_a_search(base: Contract) -> None:
    for count in (0, 9):
        with reverts("WrongCount", count, MOST_MATCHES):
            base("search", "loan", count)
    known = " ".join(f"loan{number}" for number in range(MOST_TERMS - 1))
    assert ids(base, f"the loan {known} loan") == [5, 3, 1]
    with reverts("TooManyTerms", MOST_TERMS):
        base("search", f"loan {known} more", 1)
    assert ids(base, "loan" + " " * 1020) == [5, 3, 1]
    with reverts("QueryTooLong", 1025, 1024):
        base("search", "loan" + " " * 1021, 1)


@pytest.mark.parametrize(("k1", "b"), [(10_001, 750), (1200, 1001)])
def test_wrong_parameters_are_refused(evm: Evm, k1: int, b: int) -> None:
    with reverts("WrongParameters", k1, b):
        make_base(evm, k1=k1, b=b)


@pytest.mark.parametrize(("k1", "b"), [(0, 0), (1200, 0), (0, 1000), (10_000, 1000)])
def test_parameters_at_their_ends_rank_as_the_twin(evm: Evm, k1: int, b: int) -> None:
    base = make_base(evm, k1=k1, b=b)
    base("add", list(TEXTS), STORED)
    twin = Twin(numbered(), k1=k1, b=b)
    assert found(base, "loan percent limit") == twin.search("loan percent limit", MOST_MATCHES)


def test_at_most_128_stop_words(evm: Evm) -> None:
    words = [f"w{number}" for number in range(129)]
    base = make_base(evm, " ".join([*words[:128], "W0"]))
    base("add", [" ".join(words)], STORED)
    assert base("statistics")[1] == 1
    with reverts("TooManyStopWords", 128):
        make_base(evm, " ".join(words))


def test_logarithms_are_the_twin_s(evm: Evm) -> None:
    parts = evm.deploy("RetrievalParts")
    chance = random.Random(1)  # noqa: S311 - numbers
    numbers = [1, 2, 3, 4, 5, 2**64, 2**128 - 1, *(chance.randrange(1, 2**40) for _ in range(9))]
    for x in numbers:
        result = parts("log2", x)
        assert result == log2_of(x)
    assert parts("log2", 2**20) == 20 << 64


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 64, 100, 257])
def test_sorting(evm: Evm, count: int) -> None:
    parts = evm.deploy("RetrievalParts")
    chance = random.Random(count)  # noqa: S311 - numbers
    lists = [
        [chance.randrange(2**88) for _ in range(count)],
        [chance.randrange(3) for _ in range(count)],
        sorted(chance.randrange(2**88) for _ in range(count)),
        sorted((chance.randrange(2**80) for _ in range(count)), reverse=True),
    ]
    for values in lists:
        assert list(parts("sort", values, 88)) == sorted(values)


UTF8 = [
    *("", "a" * 31, "a" * 33 + "é", "é" * 20, "🦉", "\u07ff\u0800\uffff\U00010000\U0010ffff"),
    *("a" * 30 + "🦉" + "b" * 40, "\x00\x7f\x80"),
]
NOT_UTF8 = [
    *(b"\x80", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"a" * 31 + b"\xc3", b"\xe0\x80\x80", b"\xf5"),
    *(b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\xa6", b"\xe2\x28\xa1"),
    *(b"\xff", b"a" * 40 + b"\xfe"),
]


def test_utf8_is_that_of_python(evm: Evm) -> None:
    parts = evm.deploy("RetrievalParts")
    for text in UTF8:
        assert parts("isUtf8", text.encode()) is True
    for data in NOT_UTF8:
        with pytest.raises(UnicodeDecodeError):
            data.decode()
        assert parts("isUtf8", data) is False
    for limit in range(8):
        size = parts("cut", "aé🦉".encode(), limit)
        assert "aé🦉".encode()[:size].decode(errors="strict") in "aé🦉"
        assert limit - 4 < size <= limit
