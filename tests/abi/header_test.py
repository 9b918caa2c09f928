#!/usr/bin/env python3
"""Compares data/nvml with NVIDIA's header: every name on both sides, and by the compiler every size, offset, value and
prototype. The header (PyPI: nvidia-nvml-dev) is fetched to be looked at and is no part of Partita.

usage: header_test.py SOURCE_DIR FOLDER CXX [NVML_H]
"""
import pathlib
import re
import subprocess
import sys

import fetch

# In the header, but no facts of the interface: text formats, bit ranges, macros with arguments and parts of their names.
NO_CONSTANTS = re.compile(r".*_FMT_ARGS$|NVML_STRUCT_VERSION|NVML_.*_(GET|TEST|SET|PTR|MAJOR|MINOR)$|NVML_NO_UNVERSIONED_FUNC_DEFS|"
                          r"NVML_POWER_SMOOTHING_IDX_FROM_FIELD_VAL.*|NVML_VGPU_(PGPU_)?VIRTUALIZATION_CAP_MIGRATION$|NVML_MCDM_SUPPORT|"
                          r"NVML_CPER_CURSOR_HANDLE_INIT|NVML_GPU_FABRIC_HEALTH_MASK(_SHIFT|_WIDTH)?|NVML_NVLINK_|"
                          r"NVML_LIB_EXPORT|NVML_STATIC_IMPORT")


def code_of(header: str) -> str:
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", header, flags=re.S))


def compare_names(api, code: str) -> list[str]:
    wrong = []
    declared = set(re.findall(r"DECLDIR\s*(?:char\s*\*)?\s*(nvml\w+)\s*\(", code))
    wrong += [f"{name}: in NVIDIA's header, not in functions.yaml" for name in sorted(declared - set(api.functions))]
    wrong += [f"{name}: in functions.yaml, not in NVIDIA's header" for name in sorted(set(api.now) - declared)]
    types = set(re.findall(r"\bnvml\w+_t\b", code)) - {"nvmlBlacklistDeviceInfo_t", "nvmlEccBitType_t"}
    known = set(api.structs) | set(api.aliases) | set(api.handles) | set(api.enums)
    wrong += [f"{name}: a type of NVIDIA's header that data/nvml lacks" for name in sorted(types - known)]
    wrong += [f"{name}: a type of data/nvml that NVIDIA's header lacks" for name in sorted(known - types)]
    items = {item for values in api.enums.values() for item in values} | set(api.constants)
    used = set(re.findall(r"\b(?:NVML|INVALID)_[A-Z0-9_a-z]+\b", code))
    wrong += [f"{name}: a constant of NVIDIA's header that data/nvml lacks" for name in sorted(used - items)
              if not NO_CONSTANTS.fullmatch(name)]
    return wrong


def assertions(api) -> str:
    lines = ["#define NVML_NO_UNVERSIONED_FUNC_DEFS", "#include NVML_HEADER", "#include <cstddef>", "#include <cstring>",
             "#include <type_traits>"]

    def check(condition: str, what: str):
        lines.append(f'static_assert({condition}, "{what}");')

    for name, of in api.structs.items():
        check(f"sizeof({name}) == {of['size']}", f"size of {name}")
        for line in api.generate.offsets(name, of["fields"]):
            lines.append(line)
        if "version" in of:
            macro = re.sub(r"_t$", "", name)
            check(f"{macro} == (sizeof({name}) | {of['version']}u << 24)", f"version of {name}")
    for values in api.enums.values():
        for item, value in values.items():
            check(f"static_cast<long long>({item}) == {value}ll", item)
    for name, value in api.constants.items():
        if isinstance(value, str):
            check(f"sizeof({name}) == {len(value) + 1}", name)
        else:
            check(f"static_cast<unsigned long long>({name}) == {value & 0xffffffffffffffff}ull", name)
    for name in api.now:
        arguments = ", ".join(type_ for type_, _ in api.arguments(name))
        returns = "const char*" if name == "nvmlErrorString" else "nvmlReturn_t"
        check(f"std::is_same_v<decltype({name}), {returns}({arguments})>", f"prototype of {name}")
    return "\n".join(lines) + "\nint main() {}\n"


def main() -> int:
    source, folder, compiler = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    sys.path.insert(0, str(source / "src/emulator/abi"))
    import generate

    api = generate.Interface(source / "data/nvml")
    api.generate = generate
    api.now = [name for name in api.functions if name not in api.earlier]
    header = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else fetch.wheel_file("nvidia-nvml-dev", api.version,
                                                                                 "include/nvml.h", folder)
    wrong = compare_names(api, code_of(header.read_text()))
    program = folder / "header_check.cpp"
    program.write_text(assertions(api))
    made = subprocess.run([compiler, "-std=c++20", "-w", "-fsyntax-only", f'-DNVML_HEADER="{header}"', str(program)],
                          capture_output=True, text=True)
    wrong += re.findall(r"error: (?:static assertion failed: )?(.*)", made.stderr)
    for line in wrong[:50]:
        print(line)
    print(f"nvidia-nvml-dev {api.version}: {len(api.now)} functions, {len(api.structs)} structs, "
          f"{sum(map(len, api.enums.values()))} enumerators, {len(api.constants)} constants compared; {len(wrong)} differ")
    return 1 if wrong or made.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
