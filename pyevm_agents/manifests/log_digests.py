"""Digests of the entries of a log, each over the entry before."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyevm_agents.manifests.documents import Document

NO_DIGEST = "0x" + "00" * 32
"""Digest before the first run."""


def compute_run_digest(run: Document) -> str:
    """Return the SHA-256 of a run's canonical JSON, the own `previousDigest` included.

    Canonical: members sorted by name, no spaces, UTF-8, as in RFC 8785 for texts and integers.
    """
    text = json.dumps(run, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "0x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
