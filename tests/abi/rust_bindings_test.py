#!/usr/bin/env python3
"""Compares data/nvml with the interface as another project declares it: librust-nvml-wrapper-sys-dev (Debian), made of
an earlier header. Each of its functions must be exported, each constant have its value, each struct its layout; what
NVIDIA has changed since is named here.

usage: rust_bindings_test.py SOURCE_DIR FOLDER
"""
import pathlib
import re
import sys

import fetch

BASIC = {"raw::c_char": 1, "raw::c_uchar": 1, "raw::c_short": 2, "raw::c_ushort": 2, "raw::c_int": 4, "raw::c_uint": 4,
         "raw::c_long": 8, "raw::c_ulong": 8, "raw::c_longlong": 8, "raw::c_ulonglong": 8, "f64": 8, "u8": 1, "u16": 2,
         "u32": 4, "u64": 8, "i32": 4, "raw::c_double": 8}
# Longer since: more metrics, counts or types.
GROWN_CONSTANTS = {"NVML_API_VERSION", "NVML_NVLINK_MAX_LINKS", "NVML_FI_MAX", "NVML_GPM_METRIC_MAX", "nvmlEventTypeAll"}
GROWN_STRUCTS = {"nvmlGpmMetricsGet_t"}


class Bindings:
    def __init__(self, text: str):
        self.functions = set(re.findall(r"pub unsafe fn (nvml\w+)\(", text))
        self.structs = {name: (kind, re.findall(r"pub (\w+): ([^,]+(?:\[[^\]]*\])?),", body)) for kind, name, body in
                        re.findall(r"pub (struct|union) (\w+) \{(.*?)\n\}", text, re.S)}
        self.types = dict(re.findall(r"pub type (\w+) =\s*([^;]+);", text))
        self.types |= {name: of for of, name in re.findall(r"pub use self::(\w+) as (\w+);", text)}
        self.constants = {name: int(value) for name, value in
                          re.findall(r"pub const (\w+): \w+ =\s*(-?\d+);", text)}

    def size(self, type_: str) -> tuple[int, int]:
        """Size and alignment."""
        type_ = type_.strip()
        if array := re.fullmatch(r"\[(.*);\s*(\d+)usize\]", type_):
            size, align = self.size(array[1])
            return size * int(array[2]), align
        if type_.startswith("*"):
            return 8, 8
        if type_ in BASIC:
            return BASIC[type_], BASIC[type_]
        if type_ in self.structs:
            size, align, _ = self.layout(type_)
            return size, align
        return self.size(self.types[type_])

    def layout(self, name: str) -> tuple[int, int, dict[str, int]]:
        kind, fields = self.structs[name]
        at, most, align, offsets = 0, 0, 1, {}
        for field, type_ in fields:
            size, field_align = self.size(type_)
            at = 0 if kind == "union" else (at + field_align - 1) // field_align * field_align
            offsets[re.sub(r"_$", "", field)] = at
            at += size
            most, align = max(most, at), max(align, field_align)
        return (most + align - 1) // align * align, align, offsets


def compare_structs(api, rust: Bindings) -> tuple[list[str], int]:
    wrong, compared = [], 0
    by_tag = {target: name for name, target in rust.types.items()}
    for tag in rust.structs:
        name = tag if tag in api.structs else by_tag.get(tag, tag)
        name = api.resolve(name)
        if name not in api.structs:
            continue
        size, _, offsets = rust.layout(tag)
        of = api.structs[name]
        compared += 1
        ours = {row["name"]: row["offset"] for row in of["fields"] if "offset" in row and "name" in row}
        for field, offset in offsets.items():
            key = field if field in ours else next((k for k in ours if k.split("[")[0] == field), None)
            if key is not None and ours[key] != offset:
                wrong.append(f"{name}.{field}: at {ours[key]} here, at {offset} there")
        if of["size"] != size and not (name in GROWN_STRUCTS and of["size"] > size):
            wrong.append(f"{name}: {of['size']} bytes here, {size} there")
    return wrong, compared


def compare_constants(api, rust: Bindings) -> tuple[list[str], int]:
    wrong, compared = [], 0
    ours = dict(api.constants)
    for values in api.enums.values():
        ours |= values
    for name, value in rust.constants.items():
        key = name if name in ours else next((item for item in [re.sub(r"^nvml\w+?_(?:enum|t)_", "", name)] if item in ours), None)
        if key is None or key in GROWN_CONSTANTS or key.endswith("_COUNT"):
            continue
        compared += 1
        if not isinstance(ours[key], int) or (ours[key] ^ value) & 0xffffffff:
            wrong.append(f"{key}: {ours[key]} here, {value} there")
    return wrong, compared


def main() -> int:
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    sys.path.insert(0, str(source / "src/emulator/abi"))
    import generate

    api = generate.Interface(source / "data/nvml")
    path = fetch.debian_file("librust-nvml-wrapper-sys-dev", "usr/share/cargo/registry/nvml-wrapper-sys-*/src/bindings.rs",
                             folder)
    rust = Bindings(path.read_text())
    wrong = [f"{name}: exported by the library they were made from, not here" for name in
             sorted(rust.functions - set(api.functions))]
    structs, compared = compare_structs(api, rust)
    constants, values = compare_constants(api, rust)
    wrong += structs + constants
    for line in wrong:
        print(line)
    print(f"{path.parent.parent.name}: {len(rust.functions)} functions, {compared} structs, {values} constants compared; "
          f"{len(wrong)} differ")
    return 1 if wrong or compared < 50 or values < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
