"""The fork configuration of the chain, and the history that the node serves.

Source: EIP-7910 for `eth_config`; execution-apis for `eth_capabilities`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from eth_typing import Address

from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.method_table import MethodTable

if TYPE_CHECKING:
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

PRECOMPILES = {
    number.to_bytes(20, "big"): name
    for number, name in enumerate(
        (
            "ECREC",
            "SHA256",
            "RIPEMD160",
            "ID",
            "MODEXP",
            "BN254_ADD",
            "BN254_MUL",
            "BN254_PAIRING",
            "BLAKE2F",
            "KZG_POINT_EVALUATION",
            "BLS12_G1ADD",
            "BLS12_G1MSM",
            "BLS12_G2ADD",
            "BLS12_G2MSM",
            "BLS12_PAIRING_CHECK",
            "BLS12_MAP_FP_TO_G1",
            "BLS12_MAP_FP2_TO_G2",
        ),
        start=1,
    )
} | {
    (0x100).to_bytes(20, "big"): "P256VERIFY",
    bytes(EXECUTOR_ADDRESS): "AGENT_EXECUTOR",
    bytes(NUMERIC_MODELS_ADDRESS): "NUMERIC_MODELS",
}
"""Names of precompiles: those of EIP-7910, the executor's, and that of the numeric models."""


@METHODS.method("eth_config")
def config(rpc: RequestContext) -> Json:
    """Return the fork configuration, which is active from genesis on; no fork is scheduled."""
    chain, fork = rpc.node.chain, rpc.node.chain.fork
    state = chain.state()
    addresses = sorted(state.computation_class.get_precompiles())
    return {
        "current": {
            "activationTime": 0,
            "blobSchedule": {
                "baseFeeUpdateFraction": fork.blobs.base_fee_fraction,
                "max": fork.blobs.maximum,
                "target": fork.blobs.target,
            },
            "chainId": hex(chain.config.chain_id),
            # With all forks at genesis, EIP-6122's hash is that of genesis alone. The first block
            # of a fork of a live chain is its fork block.
            "forkId": f"0x{crc32(chain.header(chain.first_number).hash):08x}",
            "precompiles": {PRECOMPILES[key]: serializers.encode_data(key) for key in addresses},
            "systemContracts": {
                name: serializers.encode_data(address)
                for name, address in fork.system_contracts
                if state.get_code(Address(address))
            },
        },
        "next": None,
        "last": None,
    }


@METHODS.method("eth_capabilities")
def capabilities(rpc: RequestContext) -> Json:
    """Return the head, and the oldest block whose state, transactions and logs are served: 0."""
    head = rpc.node.chain.head
    served = {"disabled": False, "oldestBlock": "0x0"}
    kinds = ("state", "tx", "logs", "receipts", "blocks", "stateproofs")
    return {
        "head": {"number": hex(head.block_number), "hash": serializers.encode_data(head.hash)},
        **{kind: dict(served) for kind in kinds},
    }
