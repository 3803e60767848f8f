"""How modules of other packages are imported: py-evm's curves late, and the fastest keccak.

Every fork of py-evm names precompiles of elliptic curves in Python, and the proof of work. Their
modules compute tables of curves (py-ecc), a third of the import of py-evm. The chains of this
project have precompiles of their own and no proof of work, so nothing here calls them. eth-keyfile
needs the same tables for keystores of validators. Such modules are imported when one of their
functions is called, not when it is named.

eth-hash takes pycryptodome before pysha3, which hashes the node of a trie in a quarter of the time.
`ETH_HASH_BACKEND` goes before this choice, as eth-hash documents.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

DEFERRED = {
    "eth.consensus.ethash": ("get_dataset_full_size", "hashimoto_light", "mkcache"),
    "eth.precompiles.bls12_381": (
        "bls12_g1_add",
        "bls12_g1_msm",
        "bls12_map_fp_to_g1",
        "bls12_g2_add",
        "bls12_g2_msm",
        "bls12_map_fp2_to_g2",
        "bls12_pairing_check",
    ),
    "eth.precompiles.ecadd": ("ecadd",),
    "eth.precompiles.ecmul": ("ecmul",),
    "eth.precompiles.ecpairing": ("ecpairing",),
    "eth_keyfile.keyfile": (
        "create_keyfile_json",
        "decode_keyfile_json",
        "extract_key_from_keyfile",
        "load_keyfile",
    ),
}
"""The functions that py-evm and eth-keyfile import from each module."""

TYPES = {"eth_keyfile.keyfile": {"KDFType": Literal["pbkdf2", "scrypt"]}}
"""The types that eth-account imports from the modules, to annotate its functions."""

CURRIED = frozenset({"ecadd", "ecmul", "ecpairing"})
"""py-evm binds their prices by name when it is imported."""

HASH_MODULE, FASTEST_BACKEND = "eth_hash.auto", "pysha3"


class _DeferredLoader(Loader):
    """Gives a module functions that execute the module's own code when one is called."""

    def __init__(
        self, loader: Loader, functions: Sequence[str], types: Mapping[str, object]
    ) -> None:
        self._loader = loader
        self._types = types
        self._functions = functions
        self._lock = RLock()
        self._is_executed = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        def get(name: str) -> Any:  # noqa: ANN401 - whatever the module has
            if name.startswith("__"):  # what the import system asks for
                raise AttributeError(name)
            with self._lock:
                if not self._is_executed:
                    self._is_executed = True
                    del module.__dict__["__getattr__"]
                    self._loader.exec_module(module)
            return getattr(module, name)

        module.__dict__.update(self._types, __getattr__=get)
        for name in self._functions:
            setattr(module, name, _defer(partial(get, name), is_curried=name in CURRIED))


def _defer(get: Callable[[], Callable[..., Any]], *, is_curried: bool) -> Callable[..., Any]:
    """Return a function that gets the real one when it is called.

    Input: is_curried: whether a call with names alone binds them.
    """

    def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - the function's own
        if is_curried and not arguments:
            return partial(call, **named)
        return get()(*arguments, **named)

    return call


class _FastHashLoader(Loader):
    """Executes `eth_hash.auto`, whose `keccak` then uses the fastest backend that is installed."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        use_fast_hash(module)


def use_fast_hash(module: ModuleType) -> None:
    """Make the `keccak` of `eth_hash.auto` use the fastest backend, unless the user chose one."""
    from eth_hash.utils import get_backend_in_environment, load_backend  # noqa: PLC0415 - after it

    if get_backend_in_environment():
        return
    try:
        backend = load_backend(FASTEST_BACKEND)
    except ImportError:
        return
    module.keccak.hasher, module.keccak.preimage = backend.keccak256, backend.preimage


class _Finder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != HASH_MODULE and fullname not in DEFERRED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = (
                _FastHashLoader(spec.loader)
                if fullname == HASH_MODULE
                else _DeferredLoader(spec.loader, DEFERRED[fullname], TYPES.get(fullname, {}))
            )
        return spec


def prepare_imports() -> None:
    """Make later imports of this process those; a hash that is chosen already is chosen again."""
    sys.meta_path.insert(0, _Finder())
    if HASH_MODULE in sys.modules:
        use_fast_hash(sys.modules[HASH_MODULE])
