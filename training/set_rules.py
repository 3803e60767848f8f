"""Copy an adapter with other decoding rules, such as a gate's new threshold, or another chooser.

    python -m training.set_rules ADAPTER.gguf OUT.gguf --rule max_surprisal=20000
    python -m training.set_rules ADAPTER.gguf OUT.gguf --chooser chooser.gguf

Matrices and all other facts stay. A rule with 0 is left out. Needs gguf only.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gguf

from precompiles.decoding_rules import JUDGE, DecodingRules
from pyevm_agents.models.gguf.adapter import CHOOSER, DECODING

if TYPE_CHECKING:
    from collections.abc import Mapping

ARCHITECTURE = "general.architecture"


class RulesError(Exception):
    """The adapter can't be copied with these rules."""


def set_rules(
    source: Path, target: Path, rules: Mapping[str, int], chooser: Path | None = None
) -> dict[str, int]:
    """Write a copy of an adapter; return its decoding rules.

    Input:  rules to change by name; 0 removes one; the chooser's file, None for the same chooser.

    Raises:
        RulesError: the file is not GGUF, or `DecodingRules.parse` refuses the rules.
    """
    try:
        reader = gguf.GGUFReader(source)
    except (OSError, ValueError) as error:
        raise RulesError(f"adapter {source} can't be read: {error}") from error
    fields = {name: one for name, one in reader.fields.items() if not name.startswith("GGUF.")}
    old = {
        name.removeprefix(DECODING): int(fields.pop(name).contents())
        for name in sorted(fields)
        if name.startswith(DECODING)
    }
    new = {name: value for name, value in sorted((old | dict(rules)).items()) if value}
    try:
        DecodingRules.parse(tuple(new.items()))
    except ValueError as error:
        raise RulesError(str(error)) from error
    if chooser is not None:
        fields.pop(CHOOSER, None)
    elif DecodingRules.parse(tuple(new.items())).thresholds and CHOOSER not in fields:
        raise RulesError(f"{JUDGE[0]}: {source} names no chooser; pass its file with --chooser")
    writer = gguf.GGUFWriter(None, str(fields.pop(ARCHITECTURE).contents()))
    for name, field in fields.items():
        inner = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    if chooser is not None:
        writer.add_string(CHOOSER, hashlib.sha256(chooser.read_bytes()).hexdigest())
    for name, value in new.items():
        writer.add_uint64(f"{DECODING}{name}", value)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    write_beside(writer, target).replace(target)
    return new


def write_beside(writer: gguf.GGUFWriter, target: Path) -> Path:
    """Write a GGUF file under an unfinished name beside its own; return that path."""
    unfinished = target.with_name(target.name + ".new")
    writer.write_header_to_file(unfinished)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return unfinished


def read_rules(rules: list[str]) -> dict[str, int]:
    """Parse rules of a command line, `NAME=NUMBER`.

    Raises: RulesError: another form.
    """
    found = {}
    for rule in rules:
        name, _, value = rule.partition("=")
        if not value.isdigit():
            raise RulesError(f"--rule {rule}: must be NAME=NUMBER, such as short_format=2")
        found[name] = int(value)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Copy an adapter; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("adapter", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--rule", action="append", default=[], metavar="NAME=NUMBER", help="a rule; 0 removes it"
    )
    parser.add_argument("--chooser", type=Path, metavar="FILE", help="the chooser that it names")
    options = parser.parse_args(arguments)
    try:
        rules = set_rules(options.adapter, options.out, read_rules(options.rule), options.chooser)
    except (RulesError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    said = ", ".join(f"{name}={value}" for name, value in rules.items()) or "no rules"
    sys.stdout.write(f"{options.out}: {said}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
