"""The authorizations of a transaction: accounts that let others' code run for them (EIP-7702).

py-evm's loop takes every exception for an invalid authorization, also that of a remote chain which
does not answer: a block would then lack a delegation that it has elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp
from eth._utils.state import code_is_delegation_designation
from eth.constants import ZERO_ADDRESS
from eth.vm.forks.prague.constants import (
    DELEGATION_DESIGNATION_PREFIX,
    MAGIC,
    PER_AUTH_BASE_COST,
    PER_EMPTY_ACCOUNT_BASE_COST,
)
from eth_keys import keys
from eth_keys.exceptions import BadSignature
from eth_typing import Address
from eth_utils import ValidationError

if TYPE_CHECKING:
    from eth.abc import SetCodeAuthorizationAPI, StateAPI

EXISTING_ACCOUNT_REFUND = PER_EMPTY_ACCOUNT_BASE_COST - PER_AUTH_BASE_COST
"""Gas that an authorization of an account that exists gives back."""


def authorize(authorization: SetCodeAuthorizationAPI, state: StateAPI) -> int:
    """Delegate the signer's account if an authorization is valid; return the refund, in gas.

    Raises: what the reads of the account raise, such as `RemoteFault`.
    """
    authority = _find_authority(authorization, state.execution_context.chain_id)
    if authority is None:
        return 0
    state.mark_address_warm(authority)
    code = state.get_code(authority)
    if code and not code_is_delegation_designation(code):
        return 0
    is_known = state.account_exists(authority)
    if authorization.nonce != (state.get_nonce(authority) if is_known else 0):
        return 0
    if authorization.address == ZERO_ADDRESS:
        state.delete_code(authority)
    else:
        state.set_code(authority, DELEGATION_DESIGNATION_PREFIX + authorization.address)
    state.increment_nonce(authority)
    return EXISTING_ACCOUNT_REFUND if is_known else 0


def _find_authority(authorization: SetCodeAuthorizationAPI, chain_id: int) -> Address | None:
    """Return the account of an authorization for this chain; None if it is invalid by itself."""
    try:
        authorization.validate(chain_id)
    except ValidationError:
        return None
    return recover_authority(authorization)


def recover_authority(authorization: SetCodeAuthorizationAPI) -> Address | None:
    """Return the signer of an authorization; None if the signature has none."""
    message = MAGIC + rlp.encode(
        [authorization.chain_id, authorization.address, authorization.nonce]
    )
    try:
        signature = keys.Signature(vrs=(authorization.y_parity, authorization.r, authorization.s))
        signer = signature.recover_public_key_from_msg(message)
    except (BadSignature, ValidationError):
        return None
    return Address(signer.to_canonical_address())
