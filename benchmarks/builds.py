"""Builds of the installed llama.cpp with other flags, to measure them side by side.

    python -m benchmarks.builds [--work FOLDER] [NAME ...]

A build differs from the installed engine in `libggml-cpu` alone: none of the varied flags reaches
another library. One tree is compiled once, and its CPU part anew for each build. A build's
libraries stay in FOLDER/NAME for the next time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ENGINE = "llama-cpp-python"
OURS = "ours"
DEFAULT_WORK = Path(tempfile.gettempdir()) / "pyevm-agents-builds"
CPU_LIBRARY = "libggml-cpu.so"
STAMP = "build.json"

COMMON = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=ON",
    "-DGGML_METAL=OFF",
    "-DGGML_BLAS=OFF",
    "-DGGML_CCACHE=OFF",
    "-DLLAMA_BUILD_COMMON=OFF",
    "-DLLAMA_BUILD_TOOLS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_SERVER=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DCMAKE_INSTALL_RPATH=$ORIGIN",
    "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
    "-DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON",
)
"""Flags that all builds share."""

SWITCHES = (
    "GGML_NATIVE",
    "GGML_SSE42",
    "GGML_AVX",
    "GGML_AVX2",
    "GGML_FMA",
    "GGML_F16C",
    "GGML_BMI2",
    "GGML_AVX512",
    "GGML_AVX512_VNNI",
    "GGML_LLAMAFILE",
    "GGML_CPU_REPACK",
    "GGML_LTO",
)
"""Flags that differ between builds. Each is set explicitly: a tree remembers those of the last
build.
"""

V2 = ("GGML_SSE42",)
V3 = (*V2, "GGML_AVX", "GGML_AVX2", "GGML_FMA", "GGML_F16C", "GGML_BMI2")
V4 = (*V3, "GGML_AVX512", "GGML_AVX512_VNNI")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to compile the engine."""

    name: str
    says: str
    """Description for a table."""

    on: tuple[str, ...] = ()
    """The switches that are on; all others are off. Empty for the installed build."""

    needs: tuple[str, ...] = ()
    """Required CPU features, as /proc/cpuinfo spells them."""


AVX512_FLAGS = ("avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw", "avx512_vnni")

VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant(name=OURS, says="the installed build: x86-64-v3, REPACK, no LLAMAFILE"),
        Variant(
            name="default",
            says="llama.cpp's default: native, LLAMAFILE, REPACK",
            on=("GGML_NATIVE", "GGML_LLAMAFILE", "GGML_CPU_REPACK"),
        ),
        Variant(
            name="avx2-both",
            says="x86-64-v3, LLAMAFILE, REPACK",
            on=(*V3, "GGML_LLAMAFILE", "GGML_CPU_REPACK"),
        ),
        Variant(name="avx2-llamafile", says="x86-64-v3, LLAMAFILE", on=(*V3, "GGML_LLAMAFILE")),
        Variant(name="avx2-neither", says="x86-64-v3, neither", on=V3),
        Variant(name="native", says="native, REPACK", on=("GGML_NATIVE", "GGML_CPU_REPACK")),
        Variant(
            name="avx2-lto",
            says="x86-64-v3, REPACK, GGML_LTO",
            on=(*V3, "GGML_CPU_REPACK", "GGML_LTO"),
        ),
        Variant(
            name="avx512",
            says="AVX-512 with VNNI, REPACK",
            on=(*V4, "GGML_CPU_REPACK"),
            needs=AVX512_FLAGS,
        ),
        Variant(name="sse42", says="x86-64-v2 (SSE4.2), neither", on=V2),
        Variant(
            name="avx",
            says="AVX and F16C, neither (processors of 2012)",
            on=(*V2, "GGML_AVX", "GGML_F16C"),
        ),
    )
}


class BuildError(Exception):
    """A build can't be made or run here."""


def processor_flags() -> frozenset[str]:
    """Return the names of this processor's features."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    found = (line.partition(":")[2].split() for line in lines if line.startswith("flags"))
    return frozenset(next(found, []))


def not_here(variant: Variant) -> str | None:
    """Return the reason why this machine cannot run a build, or None."""
    missing = [name for name in variant.needs if name not in processor_flags()]
    if not missing:
        return None
    return f"not run here: processor lacks {missing[0].upper()}"


def engine_version() -> str:
    """Return the version of the installed llama-cpp-python."""
    return metadata.version(ENGINE)


def installed_libraries() -> Path:
    """Return the folder with the installed engine's libraries."""
    path = metadata.distribution(ENGINE).locate_file("llama_cpp/lib")
    return Path(str(path))


def libraries(name: str, work: Path) -> Path:
    """Return the folder of a build's libraries; compile them if absent.

    Raises:
        BuildError: the machine can't run it, or it can't be compiled.
    """
    variant = VARIANTS[name]
    if not variant.on:
        return installed_libraries()
    reason = not_here(variant)
    if reason is not None:
        raise BuildError(reason)
    folder = work / name
    wanted = json.dumps({"engine": engine_version(), "on": sorted(variant.on)})
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return folder
    work.mkdir(parents=True, exist_ok=True)
    compiled = compile_cpu(variant, source_of(work), work)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(installed_libraries(), folder)
    shutil.copyfile(compiled, folder / CPU_LIBRARY)
    stamp.write_text(wanted, encoding="utf-8")
    return folder


def source_of(work: Path) -> Path:
    """Return the folder with llama.cpp's source; fetch it with pip if absent.

    Raises:
        BuildError: pip is missing or does not find it.
    """
    top = work / f"llama_cpp_python-{engine_version()}"
    source = top / "vendor" / "llama.cpp"
    if source.is_dir():
        return source
    command = ["pip", "download", "--no-deps", "--no-binary", ENGINE, "--dest", str(work)]
    run([*command, f"{ENGINE}=={engine_version()}"], work / "download.log")
    with tarfile.open(top.with_name(top.name + ".tar.gz")) as archive:
        archive.extractall(work, filter="data")
    return source


def compile_cpu(variant: Variant, source: Path, work: Path) -> Path:
    """Compile the CPU part with a build's switches; return its library.

    Raises:
        BuildError: the compiler fails.
    """
    tree, log = work / "tree", work / f"{variant.name}.log"
    flags = [f"-D{switch}={'ON' if switch in variant.on else 'OFF'}" for switch in SWITCHES]
    print(f"compiling {variant.name} ({variant.says}), some minutes; log: {log}", file=sys.stderr)
    run(["cmake", "-S", str(source), "-B", str(tree), *COMMON, *flags], log)
    run(["cmake", "--build", str(tree), "--target", "ggml-cpu", "--parallel"], log)
    return tree / "bin" / CPU_LIBRARY


def run(command: list[str], log: Path) -> None:
    """Run a command with its output in the log.

    Raises:
        BuildError: it fails or is not installed.
    """
    with log.open("a", encoding="utf-8") as output:
        try:
            status = subprocess.run(
                command, stdout=output, stderr=subprocess.STDOUT, check=False
            ).returncode
        except FileNotFoundError as error:
            raise BuildError(f"{command[0]} is not installed; install it and run again") from error
    if status != 0:
        raise BuildError(f"{' '.join(command[:3])} … failed with status {status}; see {log}")


def main() -> None:
    """Make the named builds, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(VARIANTS)}")
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="where builds are kept")
    options = parser.parse_args()
    for name in options.names or VARIANTS:
        try:
            print(f"{name}: {libraries(name, options.work)}", flush=True)
        except BuildError as error:
            print(f"{name}: {error}", flush=True)


if __name__ == "__main__":
    main()
