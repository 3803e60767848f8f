"""Which builds, settings and quantisations compute the same bits for every shape of a prompt?

    python -m benchmarks.invariance [--quick] [--models NAME …] [--work FOLDER] [--json FILE]

For each combination: the SHA-256 of the logits after a prompt's last token, over all shapes of
`benchmarks/shapes.py` and in a second process, and the speed of reading and writing. Combinations
other than the product's own must be rejected when an engine starts, or must not be selectable. A
model with a LoRA adapter counts as one more quantisation. `--quick` takes the installed build with
the default model alone, or with the models of `--models`. Builds and model files stay in the work
folder; making them takes some ten minutes once. On two quiet cores the rest takes half an hour. The
bar: the product's own combination is invariant in every quantisation.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table

from benchmarks.adapters import BLOCK, RANK, write_random_adapter
from benchmarks.builds import DEFAULT_WORK, OURS, VARIANTS, BuildError, libraries, not_here
from benchmarks.probes import ProbeError, Setting, is_repacked, running_probe, speed_of
from benchmarks.shapes import REFERENCE, UNIFIED
from pyevm_agents.bench.heartbeat import open_heartbeat
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.gguf.files import find_default_adapter, find_default_model
from pyevm_agents.models.llama.build_profile import check_build, parse_build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.probes import RunningProbe, Speed

AS_IT_IS = "default file"
RANDOM = "random"
ADAPTED = " + adapter"
"""Suffix of a quantisation's name: with a LoRA adapter of random weights, of the type of numbers
that follows; without a type, the adapter installed with the default model, if any.
"""

QUANTISATIONS = (
    AS_IT_IS,
    "F16",
    "Q8_0",
    "Q4_0",
    "Q5_0",
    "Q4_K_M",
    f"{RANDOM} Q4_0",
    f"{RANDOM} Q4_K_M",
    f"{RANDOM} Q6_K",
    f"{RANDOM} Q3_K_M",
    f"{RANDOM} IQ4_XS",
    f"{AS_IT_IS}{ADAPTED}",
    f"{RANDOM} Q4_K_M{ADAPTED} F32",
    f"{RANDOM} Q4_K_M{ADAPTED} F16",
    f"{RANDOM} Q4_K_M{ADAPTED} Q8_0",
    f"{RANDOM} Q4_0{ADAPTED} Q8_0",
)
"""The default model's file as it is (Q4_1), converted into others, and random weights in K-quants:
the default model's rows of 576 are not a multiple of 256, hence most of its Q4_K_M is Q5_0 and
Q8_0. The random Q4_0's output is Q6_K, as `llama-quantize` writes it for most models. Adapters
last.
"""

LAYERS = 4
"""Layers of the default model that other quantisations keep for the shapes: every layer runs the
same kernels. Speeds are those of all layers."""

TEXTS = (
    "User: deposit 10 USDC to the vault at addr1.\nThought: the tool for it is deposit.\n" * 8,
    "The rain in Spain falls mainly on 17 plains, said Größe; 量 is another word for it. " * 30,
    "Balance: 731 DAI, 12 ether. Lend half of it where the rate is best, then say why.\n" * 8,
    '{"name": "transfer", "to": "addr7", "amount": "0.25", "why": "asked"}\n' * 12,
)
LENGTHS = (29, 280)
"""Tokens of each prompt: the second exceeds the 256 to which llama.cpp rounds its memory up."""

RANDOM_LENGTHS = (29, 280, 70, 151)
"""For random weights, which are fast: activations are rounded before each product, which mostly
hides a small difference, hence more prompts.
"""

QUICK_LENGTHS = (29, 70)
BY_CODE = "cannot be asked for"
BY_BUILD = "build check"
BY_CANARY = "canary"
BY_NOTHING = "NOTHING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """A quantisation in a build and a setting."""

    quantisation: str
    build: str
    flash_attention: bool = False
    repacking: Literal["as ours", "not as ours", "on"] = "as ours"
    """Whether REPACK changes the layout of weights: as the product does, the opposite, or for any
    file.
    """

    tiled: bool = False

    @property
    def is_askable(self) -> bool:
        """Whether the product runs it on a build that passes its checks."""
        return self.repacking == "as ours" and not (self.flash_attention or self.tiled)

    @property
    def is_product(self) -> bool:
        """Whether the product runs this."""
        return self.build == OURS and self.is_askable


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The measurements of a combination."""

    combination: Combination
    not_run: str = ""
    repacked: bool = False
    """Whether REPACK may change the layout of weights, if compiled in and able to."""

    invariant: bool = False
    """Whether all shapes agree, except the unified cache."""

    differing: tuple[str, ...] = ()
    bits: str = ""
    """The start of the reference's digests, comparable between builds."""

    refused_by: str = ""
    prefill: float = 0
    decode: float = 0
    canary_seconds: float = 0


def settings_of(quantisation: str) -> Iterator[Combination]:
    """Return all combinations of a quantisation: ours, with one switch changed, llama.cpp's own."""
    ours = Combination(quantisation=quantisation, build=OURS)
    yield ours
    yield replace(ours, flash_attention=True)
    yield replace(ours, tiled=True)
    yield replace(ours, repacking="not as ours")
    for build in ("default", "avx2-both"):
        theirs = replace(ours, build=build, repacking="on", tiled=True)
        yield theirs
        yield replace(theirs, flash_attention=True)
    yield replace(ours, build="avx2-llamafile")
    yield replace(ours, build="avx2-neither")
    yield replace(ours, build="native")
    yield replace(ours, build="avx2-lto")
    yield replace(ours, build="avx512")


def model_file(quantisation: str, folder: Path, *, layers: int) -> Path:
    """Return a model's file; make it in a process of its own if absent."""
    quantisation = quantisation.partition(ADAPTED)[0]
    if quantisation == AS_IT_IS:
        return find_default_model()
    is_random = quantisation.startswith(RANDOM)
    kind = quantisation.removeprefix(RANDOM).strip()
    kept = "" if is_random or not layers else f"-{layers}"
    target = folder / f"{RANDOM if is_random else 'default'}-{kind}{kept}.gguf"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    script = (
        "import sys; from pathlib import Path; from benchmarks import model_files as m\n"
        "like, target, kind, layers, random = sys.argv[1:]\n"
        "source = Path(like)\n"
        "if random: source = m.write_random_model(source, Path(random))\n"
        "m.quantise(source, Path(target), kind, layers=int(layers))\n"
    )
    source = str(folder / "random-F16.gguf") if is_random else ""
    arguments = [str(find_default_model()), str(target), kind, str(0 if is_random else layers)]
    subprocess.run(
        [sys.executable, "-c", script, *arguments, source],
        check=True,
        capture_output=True,
        cwd=Path(__file__).resolve().parent.parent,
    )
    return target


def adapter_file(quantisation: str, folder: Path) -> Path | None:
    """Return the adapter of a quantisation that has one; make it if absent."""
    base, adapted, kind = quantisation.partition(ADAPTED)
    if not adapted:
        return None
    installed = find_default_adapter()
    if not kind and installed is not None:
        return installed
    return write_random_adapter(
        model_file(base, folder, layers=0),
        folder / f"adapter-of-{base}{kind}.gguf".replace(" ", "-"),
        kind=kind.strip() or "F16",
        rank=BLOCK if kind.strip() == "Q8_0" else RANK,
    )


def guard_of(combination: Combination, probe: RunningProbe, canary: dict[str, object]) -> str:
    """Return the first of the product's checks that rejects this combination, in words."""
    info = str(probe.ask("system_info")["system_info"])
    try:
        check_build(parse_build(info, ("CPU",), platform.machine()))
    except ConfigError:
        return BY_BUILD
    if not combination.is_askable:
        return f"{BY_CODE}; canary too" if "refused" in canary else BY_CODE
    if "refused" in canary:
        return BY_CANARY
    return "" if combination.build == OURS else BY_NOTHING


def repacks(combination: Combination, model: Path) -> bool:
    """Return whether REPACK may change the layout of a file's weights."""
    if combination.repacking == "on":
        return True
    return is_repacked(model) == (combination.repacking == "as ours")


def examine(combination: Combination, options: argparse.Namespace, lengths: tuple[int, ...]) -> Row:
    """Run a combination through all shapes, in two processes, and measure its speed."""
    variant = VARIANTS[combination.build]
    reason = not_here(variant)
    if reason is not None:
        return Row(combination=combination, not_run=reason)
    models = options.work / "models"
    if combination.quantisation.startswith(RANDOM):
        lengths = RANDOM_LENGTHS
    try:
        pruned = model_file(combination.quantisation, models, layers=LAYERS)
        setting = Setting(
            model=pruned,
            libraries=libraries(combination.build, options.work) if variant.on else None,
            flash_attention=combination.flash_attention,
            extra_buffers=repacks(combination, pruned),
            tiled=combination.tiled,
            adapter=adapter_file(combination.quantisation, models),
        )
        question: dict[str, object] = {"texts": TEXTS[: len(lengths)], "lengths": lengths}
        with running_probe(setting) as probe:
            digests = probe.ask("shapes", **question)["digests"]
            canary = probe.ask("canary")
            guard = guard_of(combination, probe, canary)
        whole = replace(setting, model=model_file(combination.quantisation, models, layers=0))
        with running_probe(setting) as probe:
            digests["another process"] = probe.ask("reference", **question)["digests"]
        with running_probe(whole) as probe:
            speed: Speed = speed_of(probe, rounds=options.rounds)
    except (BuildError, ProbeError, subprocess.CalledProcessError) as error:
        return Row(combination=combination, not_run=str(error))
    expected = digests[REFERENCE]
    differing = tuple(name for name, found in digests.items() if set(found) != set(expected))
    if "refused" in canary:
        differing += (BY_CANARY,)
    return Row(
        combination=combination,
        repacked=setting.extra_buffers,
        invariant=set(differing) <= {UNIFIED},
        differing=differing,
        bits="/".join(digest.split()[1][:4] for digest in expected),
        refused_by=guard,
        prefill=speed.prefill,
        decode=speed.decode,
        canary_seconds=round(canary["seconds"], 3),
    )


def table_of(rows: list[Row], lengths: tuple[int, ...]) -> Table:
    """Return the rows as a table."""
    table = Table(
        title=f"Equal bits over all shapes; prompts of {' and '.join(map(str, lengths))} tokens"
    )
    for name in ("model", "build", "flash", "repack", "tiled", "equal", "bits", "read", "write"):
        table.add_column(name, no_wrap=True)
    for name in ("refused by", "shapes that differ"):
        table.add_column(name, overflow="fold")
    for row in rows:
        it = row.combination
        knobs = ["on" if on else "-" for on in (it.flash_attention, row.repacked, it.tiled)]
        head = [it.quantisation, it.build, *knobs]
        if row.not_run:
            table.add_row(*head, "", "", "", "", "", row.not_run)
            continue
        equal = "yes" if row.invariant else "NO"
        speeds = [f"{row.prefill:.1f}", f"{row.decode:.1f}"]
        table.add_row(*head, equal, row.bits, *speeds, row.refused_by, shortly(row.differing))
    return table


def shortly(differing: tuple[str, ...]) -> str:
    """Return the names of differing shapes, abbreviated for the usual one."""
    return ", ".join("unified" if name == UNIFIED else name for name in differing)


def conclusions(rows: list[Row]) -> list[str]:
    """Return the fastest invariant combination of each quantisation, in words."""
    lines = []
    for quantisation in dict.fromkeys(row.combination.quantisation for row in rows):
        own = [row for row in rows if row.combination.quantisation == quantisation]
        fit = [row for row in own if row.invariant]
        ours = next((row for row in own if row.combination.is_product), None)
        if ours is None or not ours.invariant:
            lines.append(f"{quantisation}: OURS IS NOT INVARIANT")
            continue
        best = max(fit, key=lambda row: row.prefill)
        it = best.combination
        knobs = " with repacked weights" * best.repacked
        lines.append(
            f"{quantisation}: fastest invariant at reading is {it.build}{knobs}, "
            f"{best.prefill:.1f} tok/s; ours {ours.prefill:.1f} ({best.prefill / ours.prefill:.2f})"
        )
    unguarded = [row for row in rows if not row.invariant and row.refused_by in {"", BY_NOTHING}]
    unguarded = [row for row in unguarded if not row.not_run]
    names = "; ".join(
        f"{row.combination.quantisation} in {row.combination.build}" for row in unguarded
    )
    lines.append(f"combinations that differ and that nothing refuses: {names or 'none'}")
    return lines


def main() -> None:
    """Measure, print a table, and exit with status 1 if ours is not invariant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the installed build, default model")
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="builds and models")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each speed")
    parser.add_argument(
        "--models", nargs="+", choices=QUANTISATIONS, metavar="NAME", help="rows of the table"
    )
    parser.add_argument("--builds", nargs="+", default=tuple(VARIANTS), choices=VARIANTS)
    parser.add_argument("--json", type=Path, help="write the measurements to this file as well")
    parser.add_argument("--text", type=Path, help="write the table to this file as well")
    options = parser.parse_args()

    lengths = QUICK_LENGTHS if options.quick else LENGTHS
    if options.quick:
        options.rounds = 1
        names = options.models or (AS_IT_IS,)
        chosen = [Combination(quantisation=name, build=OURS) for name in names]
    else:
        chosen = [it for name in options.models or QUANTISATIONS for it in settings_of(name)]
        chosen = [it for it in chosen if it.build in options.builds]
    rows: list[Row] = []
    for number, combination in enumerate(chosen, 1):
        print(f"{number}/{len(chosen)} {combination}", file=sys.stderr, flush=True)
        rows.append(examine(combination, options, lengths))
        if options.json is not None:  # What is known so far, lest an interruption lose it.
            report = {
                "cores": os.cpu_count(),
                "load": os.getloadavg()[0],
                "lengths": lengths,
                "rows": [asdict(row) for row in rows],
                "conclusions": conclusions(rows),
            }
            options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    console = Console(width=200, record=True)
    console.print(table_of(rows, lengths))
    for line in conclusions(rows):
        console.print(line, highlight=False)
    if options.text is not None:
        options.text.write_text(console.export_text(), encoding="utf-8")
    sys.exit(any(row.combination.is_product and not row.invariant for row in rows))


if __name__ == "__main__":
    with open_heartbeat("benchmarks.invariance"):
        main()
