#!/usr/bin/env python3
"""Reads the names and numbers of NVML's C interface out of NVIDIA's header and writes data/nvml/*.yaml.

usage: nvml_facts.py NVML_H VERSION [OUTPUT_FOLDER]

Facts only: names, types, sizes, offsets, values. Needs clang-19. Run it when the interface grows; the header itself (PyPI:
nvidia-nvml-dev) is read, never kept. Functions of earlier headers that clients still look up stay in EARLIER.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

EARLIER = {
    "nvmlDeviceGetPowerMode": "nvmlDevice_t device, unsigned int *powerModeId",
    "nvmlDeviceGetSupportedPowerModes": "nvmlDevice_t device, unsigned int *supportedPowerModes",
    "nvmlDeviceSetPowerMode": "nvmlDevice_t device, unsigned int powerModeId",
    "nvmlGetBlacklistDeviceCount": "unsigned int *deviceCount",
    "nvmlGetBlacklistDeviceInfoByIndex": "unsigned int index, nvmlExcludedDeviceInfo_t *info",
}
CLANG = ["clang-19", "-x", "c", "-w"]


def run(command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def plain(node_type) -> str:
    """"unsigned int[8]" and "struct nvmlX_st" as the header's users write them."""
    return re.sub(r"\b(struct|enum|union) (?=nvml)", "", node_type["qualType"])


class Header:
    def __init__(self, path: str):
        self.path = path
        self.tree = json.loads(run(CLANG + ["-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-Xclang", "-ast-dump=json",
                                            "-fsyntax-only", path]))["inner"]
        self.records = {node["id"]: node for node in self.nodes("RecordDecl")}
        self.enums_by_id = {node["id"]: node for node in self.nodes("EnumDecl")}
        self.macros = self.read_macros()

    def nodes(self, kind):
        return [node for node in self.tree if node["kind"] == kind]

    def read_macros(self) -> dict[str, str]:
        text = run(CLANG + ["-E", "-dM", self.path])
        builtin = set(re.findall(r"#define (\w+)", run(CLANG + ["-E", "-dM", "/dev/null"])))
        macros = dict(re.findall(r"#define (\w+) (.+)", text))
        return {name: body for name, body in macros.items() if name not in builtin}

    # name -> prototype
    def functions(self) -> dict[str, str]:
        found = {}
        for node in self.nodes("FunctionDecl"):
            arguments = [a for a in node.get("inner", []) if a["kind"] == "ParmVarDecl"]
            spelled = [re.sub(r"\* ", "*", f"{plain(a['type'])} {a['name']}") for a in arguments]
            found[node["name"]] = ", ".join(spelled)
        return found

    def fields(self, record) -> list:
        rows, nested = [], []
        for node in record.get("inner", []):
            if node["kind"] == "RecordDecl":
                nested.append(node)
            elif node["kind"] == "FieldDecl":
                written = node["type"]["qualType"]
                if "unnamed" in written or "anonymous" in written:
                    array = re.search(r"(\[\d+\])*$", written)[0]
                    of = nested[-1]
                    rows.append({"name": node.get("name", ""), "kind": of["tagUsed"], "array": array,
                                 "fields": self.fields(of)})
                else:
                    rows.append({"name": node["name"], "type": plain(node["type"])})
        return rows

    def typedefs(self):
        records, aliases, handles, enums = {}, {}, {}, {}
        for node in self.nodes("TypedefDecl"):
            name = node["name"]
            if not name.startswith("nvml"):
                continue
            tag = next((i for i in self.tag_ids(node)), None)
            if tag in self.records and "*" not in node["type"]["qualType"] and self.is_direct(node):
                if tag in records:
                    aliases[name] = records[tag][0]
                else:
                    records[tag] = (name, self.records[tag])
            elif tag in self.enums_by_id and self.is_direct(node):
                enums[name] = self.enums_by_id[tag]
            elif "*" in node["type"]["qualType"]:
                handles[name] = re.sub(r"struct (\w+) \*", r"\1", node["type"]["qualType"])
            else:
                aliases[name] = plain(node["type"])
        return dict(records.values()), aliases, handles, enums

    @staticmethod
    def is_direct(node) -> bool:
        return "typeAliasDeclId" not in node["type"]

    @staticmethod
    def tag_ids(node):
        def walk(inner):
            for at in inner:
                if "ownedTagDecl" in at:
                    yield at["ownedTagDecl"]["id"]
                if at.get("kind") in ("RecordType", "EnumType") and "decl" in at:
                    yield at["decl"]["id"]
                yield from walk(at.get("inner", []))
        yield from walk(node.get("inner", []))


def ask_compiler(path: str, expressions: dict[str, str]) -> dict[str, str]:
    """Values of integer and text expressions; those that are none are left out."""
    values, left = {}, dict(expressions)
    while left:
        lines = [f'#include "{path}"', "#include <stdio.h>", "#include <stddef.h>",
                 '#define SHOW(n, e) printf(_Generic((e), char *: "%s\\t\\"%s\\"\\n", '
                 'unsigned long long: "%s\\t%llu\\n", unsigned long: "%s\\t%lu\\n", unsigned int: "%s\\t%u\\n", '
                 'long long: "%s\\t%lld\\n", long: "%s\\t%ld\\n", default: "%s\\t%d\\n"), n, e);',
                 "int main(void) {"]
        first = len(lines) + 1
        lines += [f'SHOW("{name}", {expression})' for name, expression in left.items()] + ["return 0; }"]
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "show.c")
            source.write_text("\n".join(lines))
            program = f"{folder}/show"
            made = subprocess.run(CLANG + ["-ferror-limit=0", str(source), "-o", program], capture_output=True, text=True)
            if made.returncode == 0:
                for line in run([program]).splitlines():
                    name, value = line.split("\t")
                    values[name] = value
                return values
            wrong = {int(n) - first for n in re.findall(r"show\.c:(\d+):\d+: error", made.stderr)}
            names = list(left)
            if not wrong or max(wrong) >= len(names):
                raise SystemExit(f"the probe does not compile:\n{made.stderr[:2000]}")
            for at in wrong:
                left.pop(names[at])
    return values


def layout_questions(name, rows, prefix="") -> dict[str, str]:
    asked = {}
    for row in rows:
        member = prefix + row["name"]
        if row["name"] and "[" not in member:
            asked[f"{name}.{member}"] = f"offsetof({name}, {member})"
        if "fields" in row and not row["array"]:
            asked |= layout_questions(name, row["fields"], member + "." if row["name"] else prefix)
    return asked


def write_fields(lines, name, rows, offsets, indent, prefix=""):
    for row in rows:
        member = prefix + row["name"]
        at = offsets.get(f"{name}.{member}") if row["name"] else None
        offset = f", offset: {at}" if at is not None else ""
        if "fields" in row:
            lines.append(f"{indent}- of: {row['kind']}")
            if row["name"]:
                lines.append(f"{indent}  name: \"{row['name']}{row['array']}\"")
            if at is not None:
                lines.append(f"{indent}  offset: {at}")
            lines.append(f"{indent}  fields:")
            inner = member + "." if row["name"] else prefix
            write_fields(lines, name, row["fields"], offsets, indent + "    ", inner)
        else:
            lines.append(f"{indent}- {{type: \"{row['type']}\", name: {row['name']}{offset}}}")


def version_of(name: str, versions: dict[str, int]):
    macro = re.sub(r"_t$", "", name)
    return macro if macro in versions else None


def main() -> int:
    path, version = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    header = Header(path)
    out = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else pathlib.Path(__file__).parent.parent / "data/nvml")
    source = f"source: NVML's C interface as nvidia-nvml-dev {version} (PyPI) declares it; gathered by tools/nvml_facts.py"
    records, aliases, handles, enums = header.typedefs()
    functions = header.functions()

    lines = [source, f"interface: \"{version}\"", "# Each answers nvmlReturn_t; nvmlErrorString gives text.", "functions:"]
    lines += [f"  {name}: \"{arguments}\"" for name, arguments in functions.items()]
    lines += ["# In earlier headers only; clients still look them up.", "earlier:"]
    lines += [f"  {name}: \"{arguments}\"" for name, arguments in EARLIER.items()]
    (out / "functions.yaml").write_text("\n".join(lines) + "\n")

    rows = {name: header.fields(node) for name, node in records.items()}
    asked = {name: f"sizeof({name})" for name in rows}
    for name in rows:
        asked |= layout_questions(name, rows[name])
    layout = ask_compiler(path, asked)
    macro_names = [m for m in header.macros if not m.startswith("__") and header.macros[m] not in functions]
    values = ask_compiler(path, {m: m for m in macro_names if re.match(r"(nvml|NVML|INVALID|MAX_CLK)", m)})
    versions = {m: int(values[m]) >> 24 for m, body in header.macros.items()
                if m in values and body.startswith("NVML_STRUCT_VERSION")}

    lines = [source, "# Opaque pointers.", "handles:"]
    lines += [f"  {name}: {of}" for name, of in handles.items()]
    lines += ["aliases:"] + [f"  {name}: {of}" for name, of in aliases.items()]
    lines += ["# size in bytes; version: the number in the struct's version macro, which is its name without _t.", "structs:"]
    for name, fields in rows.items():
        lines.append(f"  {name}:")
        lines.append(f"    size: {layout[name]}")
        if records[name]["tagUsed"] == "union":
            lines.append("    union: true")
        if macro := version_of(name, versions):
            lines.append(f"    version: {versions.pop(macro)}")
        lines.append("    fields:")
        write_fields(lines, name, fields, layout, "      ")
    (out / "structs.yaml").write_text("\n".join(lines) + "\n")
    if versions:
        print("version macros of no struct:", versions)

    lines = [source, "enums:"]
    enum_values = ask_compiler(path, {f"{name}.{item['name']}": item["name"] for name, node in enums.items()
                                             for item in node["inner"] if item["kind"] == "EnumConstantDecl"})
    for name, node in enums.items():
        lines.append(f"  {name}:")
        lines += [f"    {item['name']}: {enum_values[name + '.' + item['name']]}" for item in node["inner"]
                  if item["kind"] == "EnumConstantDecl"]
    lines.append("constants:")
    lines += [f"  {m}: {values[m]}" for m in macro_names
              if m in values and not header.macros[m].startswith("NVML_STRUCT_VERSION")]
    (out / "enums.yaml").write_text("\n".join(lines) + "\n")
    print(f"{len(functions)} functions, {len(rows)} structs, {len(aliases)} aliases, {len(handles)} handles, "
          f"{len(enums)} enums")
    return 0


if __name__ == "__main__":
    sys.exit(main())
