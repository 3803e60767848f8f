"""ERC-8004's registries: identities, feedback, validations."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_canonical_address

from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, Account, Contract, Evm, reverts
from tests.contracts.runs.typed_data import hash_typed_data, sign

WALLET = Account(PrivateKey(b"\x21" * 32))
DEADLINE_DELAY = 300
"""Seconds that the deadline of a wallet's signature may be ahead."""

WALLET_FORM = "AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)"
REQUEST = keccak(text="a request")
EVIDENCE = keccak(text="evidence")
AGENT = 0
"""ID of the first agent."""


@dataclass(frozen=True, kw_only=True)
class Registries:
    """The three registries, with an agent of `OWNER`."""

    evm: Evm
    identity: Contract
    reputation: Contract
    validation: Contract

    def rate(self, value: int, decimals: int = 0, tag1: str = "", tag2: str = "") -> None:
        arguments = (AGENT, value, decimals, tag1, tag2, "endpoint", "ipfs://feedback", EVIDENCE)
        self.reputation("giveFeedback", *arguments, sender=STRANGER)

    def sign_wallet(self, account: Account, wallet: str, deadline: int) -> bytes:
        values = {
            "agentId": AGENT,
            "newWallet": wallet,
            "owner": OWNER.address,
            "deadline": deadline,
        }
        digest = hash_typed_data("ERC8004IdentityRegistry", self.identity, WALLET_FORM, values)
        return sign(account, digest)


@pytest.fixture
def registries(evm: Evm) -> Registries:
    identity = evm.deploy("IdentityRegistry")
    identity("register", "ipfs://agent")
    return Registries(
        evm=evm,
        identity=identity,
        reputation=evm.deploy("ReputationRegistry", identity.address),
        validation=evm.deploy("ValidationRegistry", identity.address),
    )


# -- identity -- #


def test_an_agent_is_a_token_with_uri_wallet_and_metadata(evm: Evm) -> None:
    identity = evm.deploy("IdentityRegistry")
    assert identity("register") == 0
    entries = [("color", b"blue"), ("size", b"\x01")]
    assert identity("register", "ipfs://agent", entries, sender=STRANGER) == 1
    assert identity.events("Registered") == [
        {"agentId": 1, "agentURI": "ipfs://agent", "owner": int(STRANGER.address, 16)}
    ]
    assert [event["metadataKey"] for event in identity.events("MetadataSet")] == [
        "agentWallet", "color", "size"
    ]  # fmt: skip
    assert identity("ownerOf", 1) == STRANGER.address
    assert identity("tokenURI", 1) == "ipfs://agent"
    assert identity("getMetadata", 1, "color") == b"blue"
    assert identity("getAgentWallet", 1) == STRANGER.address
    assert [identity(each) for each in ("name", "symbol", "getVersion")] == [
        "AgentIdentity", "AGENT", "2.0.0"
    ]  # fmt: skip


def test_only_owner_and_operators_change_an_agent(registries: Registries) -> None:
    identity = registries.identity
    for function, arguments in {
        "setAgentURI": (AGENT, "ipfs://other"),
        "setMetadata": (AGENT, "color", b"red"),
        "unsetAgentWallet": (AGENT,),
    }.items():
        with reverts("Error", "Not authorized"):
            identity(function, *arguments, sender=STRANGER)
    with reverts("ERC721NonexistentToken", 7):
        identity("setMetadata", 7, "color", b"red")
    identity("setApprovalForAll", STRANGER.address, True)  # noqa: FBT003 - the ABI has places
    identity("setAgentURI", AGENT, "ipfs://other", sender=STRANGER)
    assert identity.events("URIUpdated") == [
        {"agentId": AGENT, "newURI": "ipfs://other", "updatedBy": int(STRANGER.address, 16)}
    ]
    assert identity("isAuthorizedOrOwner", STRANGER.address, AGENT)
    assert not identity("isAuthorizedOrOwner", WALLET.address, AGENT)


def test_the_wallet_is_no_metadata(registries: Registries) -> None:
    with reverts("Error", "reserved key"):
        registries.identity("setMetadata", AGENT, "agentWallet", b"x")
    with reverts("Error", "reserved key"):
        registries.identity("register", "", [("agentWallet", b"x")])


def test_a_wallet_signs_that_it_is_the_agents(registries: Registries) -> None:
    identity = registries.identity
    deadline = registries.evm.vm.state.timestamp + DEADLINE_DELAY
    for signer, at, reason in [
        (STRANGER, deadline, "invalid wallet sig"),
        (WALLET, deadline + 1, "deadline too far"),
        (WALLET, 0, "expired"),
    ]:
        signature = registries.sign_wallet(signer, WALLET.address, at)
        with reverts("Error", reason):
            identity("setAgentWallet", AGENT, WALLET.address, at, signature)
    with reverts("Error", "bad wallet"):
        identity("setAgentWallet", AGENT, ZERO, deadline, b"")
    signature = registries.sign_wallet(WALLET, WALLET.address, deadline)
    identity("setAgentWallet", AGENT, WALLET.address, deadline, signature)
    assert identity("getAgentWallet", AGENT) == WALLET.address


def test_a_contract_signs_that_it_is_the_agents_wallet(registries: Registries) -> None:
    wallet = registries.evm.deploy("SignerWallet", WALLET.address)
    deadline = registries.evm.vm.state.timestamp + DEADLINE_DELAY
    signature = registries.sign_wallet(WALLET, wallet.address, deadline)
    registries.identity("setAgentWallet", AGENT, wallet.address, deadline, signature)
    assert registries.identity("getAgentWallet", AGENT) == wallet.address


def test_a_transfer_removes_the_wallet(registries: Registries) -> None:
    registries.identity("transferFrom", OWNER.address, STRANGER.address, AGENT)
    assert registries.identity.events("MetadataSet")[0]["metadataValue"] == b""
    assert registries.identity("getAgentWallet", AGENT) == ZERO


def test_interfaces_are_those_of_a_token_with_uris(registries: Registries) -> None:
    interfaces = ("01ffc9a7", "80ac58cd", "5b5e139f", "49064906")
    supported = [registries.identity("supportsInterface", bytes.fromhex(x)) for x in interfaces]
    assert supported == [True] * 4
    assert not registries.identity("supportsInterface", b"\xff" * 4)


# -- reputation -- #


def test_feedback_is_kept_and_revoked(registries: Registries) -> None:
    reputation = registries.reputation
    registries.rate(-32, 1, "tradingYield", "day")
    (event,) = reputation.events("NewFeedback")
    assert event["indexedTag1"] == int.from_bytes(keccak(text="tradingYield"))
    assert (event["feedbackIndex"], event["feedbackURI"]) == (1, "ipfs://feedback")
    read = (AGENT, STRANGER.address, 1)
    assert reputation("readFeedback", *read) == (-32, 1, "tradingYield", "day", False)
    reputation("revokeFeedback", AGENT, 1, sender=STRANGER)
    assert reputation("readFeedback", *read)[-1]
    assert reputation("getSummary", AGENT, [STRANGER.address], "", "") == (0, 0, 0)
    with reverts("Error", "Already revoked"):
        reputation("revokeFeedback", AGENT, 1, sender=STRANGER)
    with reverts("Error", "index must be > 0"):
        reputation("readFeedback", AGENT, STRANGER.address, 0)
    with reverts("Error", "index out of bounds"):
        reputation("readFeedback", AGENT, STRANGER.address, 2)


def test_feedback_has_bounds_and_is_not_the_owners(registries: Registries) -> None:
    with reverts("Error", "too many decimals"):
        registries.rate(1, 19)
    for value in (10**38 + 1, -(10**38) - 1):
        with reverts("Error", "value too large"):
            registries.rate(value)
    with reverts("Error", "Self-feedback not allowed"):
        registries.reputation("giveFeedback", AGENT, 1, 0, "", "", "", "", EVIDENCE)
    with reverts("ERC721NonexistentToken", 7):
        registries.reputation("giveFeedback", 7, 1, 0, "", "", "", "", EVIDENCE)


def test_a_summary_is_an_average_of_named_clients(registries: Registries) -> None:
    reputation = registries.reputation
    with reverts("Error", "clientAddresses required"):
        reputation("getSummary", AGENT, [], "", "")
    for value, decimals, tag in [(9977, 2, "uptime"), (90, 0, "uptime"), (1, 0, "other")]:
        registries.rate(value, decimals, tag)
    clients = [STRANGER.address]
    assert reputation("getSummary", AGENT, clients, "uptime", "") == (2, 94, 0)  # of 94.885
    assert reputation("getSummary", AGENT, clients, "", "") == (3, 63, 0)
    registries.rate(-1, 2, "uptime")
    assert reputation("getSummary", AGENT, clients, "uptime", "") == (3, 6325, 2)
    assert reputation("getSummary", AGENT, [WALLET.address], "", "") == (0, 0, 0)


def test_all_feedback_is_listed(registries: Registries) -> None:
    for value in (1, 2, 3):
        registries.rate(value, 0, "odd" if value % 2 else "even")
    registries.reputation("revokeFeedback", AGENT, 3, sender=STRANGER)
    who = STRANGER.address
    listed = registries.reputation("readAllFeedback", AGENT, [], "odd", "", True)  # noqa: FBT003
    assert listed == (
        (who, who), (1, 3), (1, 3), (0, 0), ("odd", "odd"), ("", ""), (False, True)
    )  # fmt: skip
    kept = registries.reputation("readAllFeedback", AGENT, [who], "", "", False)  # noqa: FBT003
    assert kept[1] == (1, 2)
    assert registries.reputation("getClients", AGENT) == (who,)
    assert registries.reputation("getLastIndex", AGENT, who) == 3


def test_responses_are_counted(registries: Registries) -> None:
    reputation, who = registries.reputation, STRANGER.address
    registries.rate(1)
    registries.rate(2)
    for index, sender in [(1, OWNER), (1, OWNER), (2, STRANGER)]:
        response = (AGENT, who, index, "ipfs://response", EVIDENCE)
        reputation("appendResponse", *response, sender=sender)
    for arguments, count in [
        ((AGENT, ZERO, 0, []), 3),
        ((AGENT, who, 0, [OWNER.address]), 2),
        ((AGENT, who, 2, []), 1),
        ((AGENT, who, 2, [OWNER.address]), 0),
    ]:
        assert reputation("getResponseCount", *arguments) == count
    with reverts("Error", "Empty URI"):
        reputation("appendResponse", AGENT, who, 1, "", EVIDENCE)
    with reverts("Error", "index out of bounds"):
        reputation("appendResponse", AGENT, who, 3, "ipfs://response", EVIDENCE)


# -- validation -- #


def test_a_validator_answers_a_request_as_often_as_it_wishes(registries: Registries) -> None:
    validation, who = registries.validation, STRANGER.address
    validation("validationRequest", who, AGENT, "ipfs://request", REQUEST)
    assert validation("getSummary", AGENT, [], "") == (0, 0)
    for response in (0, 100):
        arguments = (REQUEST, response, "ipfs://answer", EVIDENCE, "reexecution")
        validation("validationResponse", *arguments, sender=STRANGER)
    (event,) = validation.events("ValidationResponse")
    assert (event["response"], event["tag"], event["requestHash"]) == (
        100, "reexecution", int.from_bytes(REQUEST)
    )  # fmt: skip
    timestamp = registries.evm.vm.state.timestamp
    status = (who, AGENT, 100, EVIDENCE, "reexecution", timestamp)
    assert validation("getValidationStatus", REQUEST) == status
    assert validation("getSummary", AGENT, [who], "reexecution") == (1, 100)
    assert validation("getSummary", AGENT, [], "other") == (0, 0)
    assert validation("getSummary", AGENT, [OWNER.address], "") == (0, 0)
    assert validation("getAgentValidations", AGENT) == (REQUEST,)
    assert validation("getValidatorRequests", who) == (REQUEST,)


def test_requests_are_the_owners_and_answers_the_validators(registries: Registries) -> None:
    validation, who = registries.validation, STRANGER.address
    with reverts("Error", "Not authorized"):
        validation("validationRequest", who, AGENT, "", REQUEST, sender=STRANGER)
    with reverts("Error", "bad validator"):
        validation("validationRequest", ZERO, AGENT, "", REQUEST)
    for function, arguments in [
        ("validationResponse", (REQUEST, 1, "", EVIDENCE, "")),
        ("getValidationStatus", (REQUEST,)),
    ]:
        with reverts("Error", "unknown"):
            validation(function, *arguments)
    validation("validationRequest", who, AGENT, "", REQUEST)
    with reverts("Error", "not validator"):
        validation("validationResponse", REQUEST, 1, "", EVIDENCE, "")
    with reverts("Error", "resp>100"):
        validation("validationResponse", REQUEST, 101, "", EVIDENCE, "", sender=STRANGER)


def test_whoever_is_first_takes_a_request_hash(registries: Registries) -> None:
    """The interface's flaw. A hash that binds the agent's ID and a salt is free again."""
    identity, validation = registries.identity, registries.validation
    squatter = identity("register", sender=STRANGER)
    validation("validationRequest", OWNER.address, squatter, "", REQUEST, sender=STRANGER)
    with reverts("Error", "exists"):
        validation("validationRequest", STRANGER.address, AGENT, "", REQUEST)
    assert validation("getAgentValidations", AGENT) == ()
    other = keccak(REQUEST + AGENT.to_bytes(32) + b"another salt")
    validation("validationRequest", STRANGER.address, AGENT, "", other)
    assert validation("getValidationStatus", other)[1] == AGENT


@pytest.mark.parametrize("name", ["ReputationRegistry", "ValidationRegistry"])
def test_a_registry_names_the_identity_registry(evm: Evm, name: str) -> None:
    registry = evm.deploy(name, OWNER.address)
    assert registry("getIdentityRegistry") == OWNER.address
    slot = evm.vm.state.get_storage(to_canonical_address(registry.address), 0)
    assert slot == int(OWNER.address, 16)
    with reverts("Error", "bad identity"):
        evm.deploy(name, ZERO)
