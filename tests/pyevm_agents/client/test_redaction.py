"""Secrets of URLs and keys: hidden in each form in which a server may repeat them."""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.client.redaction import Redactor, find_url_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

SECRETS = st.text(
    st.characters(codec="utf-8", exclude_characters="…\x00"), min_size=4, max_size=40
).filter(lambda text: len(text.strip()) >= 4)


def quote_all(text: str, form: str = "%{:02X}") -> str:
    return "".join(form.format(byte) for byte in text.encode())


FORMS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "quoted": lambda text: quote(text, safe=""),
    "as a path": quote,
    "with +": quote_plus,
    "lower hexadecimal": lambda text: quote_all(text, "%{:02x}"),
    "upper hexadecimal": quote_all,
    "quoted twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON of JSON": lambda text: json.dumps(json.dumps(text))[3:-3],
    "PHP's JSON": lambda text: json.dumps(text)[1:-1].replace("/", r"\/"),
    "HTML": html.escape,
    "HTML's numbers": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "hexadecimal": lambda text: text.encode().hex(),
    "Basic": lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
    "Base64 for URLs": lambda text: base64.urlsafe_b64encode(f"ab{text}".encode()).decode(),
    "Base64 quoted": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
}
URLS: dict[str, str] = {
    "user": "https://{}@node.example/v2",
    "password": "https://user:{}@node.example:8545",
    "path": "https://node.example/v3/{}",
    "inner path": "https://node.example/{}/main",
    "query": "https://node.example/?key={}&chain=1",
    "query without a name": "https://node.example/?{}",
}


@pytest.mark.parametrize("place", URLS)
@given(secret=SECRETS, form=st.sampled_from(sorted(FORMS)), around=st.text(max_size=5))
def test_a_secret_of_a_url_is_hidden_in_every_form(
    place: str, secret: str, form: str, around: str
) -> None:
    url = URLS[place].format(quote(secret, safe=""))
    redactor = Redactor(find_url_secrets(urlsplit(url)))
    shown = FORMS[form](secret)
    assert shown not in redactor.redact(f"{around}<{shown}>{around}")
    told = redactor.redact_json({"data": [{shown: shown}, f"x{shown}", 7, None]})
    assert shown not in next(iter(told["data"][0])) + told["data"][0].popitem()[1] + told["data"][1]


@given(secret=SECRETS, form=st.sampled_from(sorted(FORMS)))
def test_a_key_is_hidden_in_every_form(secret: str, form: str) -> None:
    shown = FORMS[form](secret)
    assert shown not in Redactor([secret]).redact(f"bad key {shown}")


@pytest.mark.parametrize(
    "piece",
    ["k+e%2Fy==secret", "p%40ss%3Aword", "a;b,c=d", "%ff%FEbytes", "two+words", "per%%cent%4"],
)
def test_what_is_sent_is_hidden(piece: str) -> None:
    for url in (f"http://node/v2/{piece}", f"http://node/?apikey={piece}", f"http://u:{piece}@n"):
        told = Redactor(find_url_secrets(urlsplit(url))).redact(f"no {piece} at {url}")
        assert piece not in told
        assert "node" in told or "@n" in told


def test_what_is_no_secret_stays() -> None:
    redactor = Redactor(find_url_secrets(urlsplit("https://node/v2/0123456789abcdef?chain=8453")))
    word = f"0x08c379a0{8453:064d}"
    assert redactor.redact_json({"data": word, "code": 3}) == {"data": word, "code": 3}
    assert redactor.redact_json("0x000123456789abcdef") == "0x00…"
    assert redactor.redact("execution reverted at v2") == "execution reverted at v2"
    assert Redactor([]).redact("anything") == "anything"
