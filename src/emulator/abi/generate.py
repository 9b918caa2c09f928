#!/usr/bin/env python3
"""Makes C++ of data/nvml: the interface's declarations, and what the library answers where nobody wrote an answer.

usage: generate.py DATA_FOLDER OUTPUT_FOLDER SOURCES...

  nvml_abi.inc      types, constants, prototypes; static_asserts of every size and offset
  unsupported.cpp   a definition for each function that SOURCES do not define: it checks what can be checked and answers
                    NOT_SUPPORTED; and the table of all functions
  nvml_calls.inc    one row per function for the fuzz target: how to call it with drawn arguments

SOURCES define a function by `NVML_EXPORT nvmlName(`. Both what is missing and what is there twice fails at link time.
"""
import pathlib
import re
import sys

import yaml


class Interface:
    def __init__(self, folder: pathlib.Path):
        load = lambda name: yaml.load((folder / name).read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        functions, structs, enums = load("functions.yaml"), load("structs.yaml"), load("enums.yaml")
        self.version = functions["interface"]
        self.earlier = functions["earlier"]
        self.functions = {**functions["functions"], **self.earlier}
        self.structs, self.aliases, self.handles = structs["structs"], structs["aliases"], structs["handles"]
        self.enums, self.constants = enums["enums"], enums["constants"]

    def arguments(self, function: str) -> list[tuple[str, str]]:
        rows = []
        for text in filter(None, self.functions[function].split(", ")):
            type_, name = re.fullmatch(r"(.*?)(\w+)", text).groups()
            rows.append((type_.strip(), name))
        return rows

    def resolve(self, type_: str) -> str:
        while type_ in self.aliases:
            type_ = self.aliases[type_]
        return type_

    def struct_of(self, type_: str):
        """The struct a pointer type points to, or None."""
        if not type_.endswith("*"):
            return None
        name = self.resolve(type_[:-1].replace("const", "").strip())
        return name if name in self.structs else None

    def versions(self, struct: str) -> list[int]:
        """What the version field may hold: each version of the same struct."""
        if "version" not in self.structs[struct]:
            return []
        family = re.sub(r"_v\d+_t$", "", struct)
        return [of["size"] | of["version"] << 24 for name, of in self.structs.items()
                if "version" in of and re.sub(r"_v\d+_t$", "", name) == family and of["fields"][0].get("name") == "version"]


def declare(type_: str, name: str) -> str:
    base, array = re.fullmatch(r"([^\[]*)((?:\[\d+\])*)", type_).groups()
    return f"{base.strip()} {name}{array}"


def fields(rows, indent: str) -> list[str]:
    lines = []
    for row in rows:
        if "fields" in row:
            lines.append(f"{indent}{row['of']} {{")
            lines += fields(row["fields"], indent + "  ")
            lines.append(f"{indent}}}{' ' + row['name'] if 'name' in row else ''};")
        else:
            lines.append(f"{indent}{declare(row['type'], row['name'])};")
    return lines


def offsets(struct: str, rows, prefix="") -> list[str]:
    lines = []
    for row in rows:
        name = prefix + re.sub(r"\[\d+\]", "", row.get("name", ""))
        if "offset" in row and "name" in row:
            lines.append(f"static_assert(offsetof({struct}, {name}) == {row['offset']});")
        if "fields" in row and "[" not in row.get("name", ""):
            lines += offsets(struct, row["fields"], name + "." if "name" in row else prefix)
    return lines


def signature(api: Interface, function: str, named: bool) -> str:
    arguments = [declare(t, n if named else "").strip() for t, n in api.arguments(function)]
    returns = "const char*" if function == "nvmlErrorString" else "nvmlReturn_t"
    return f"{returns} {function}({', '.join(arguments)})"


def literal(value) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\") + '"'
    return f"{value}ull" if value > 0x7fffffffffffffff else f"{value}ll" if abs(value) > 0xffffffff else str(value)


def in_order(api: Interface) -> list[str]:
    """Type names so that each comes after those it holds by value."""
    done, order = set(), []

    def held(rows):
        for row in rows:
            if "fields" in row:
                yield from held(row["fields"])
            else:
                yield re.sub(r"(const )|\[.*|\*.*", "", row["type"]).strip()

    def visit(name):
        if name in done or name not in api.structs and name not in api.aliases:
            return
        done.add(name)
        for other in held(api.structs[name]["fields"]) if name in api.structs else [api.aliases[name]]:
            visit(other)
        order.append(name)

    for name in [*api.aliases, *api.structs]:
        visit(name)
    return order


def abi(api: Interface) -> str:
    lines = [f"// Made by generate.py of data/nvml, the interface {api.version}. Enumerations are plain integers: any value that",
             "// a client passes is a value.", "// clang-format off"]
    lines += [f"struct {of};\nusing {name} = {of}*;" for name, of in api.handles.items()]
    for name, values in api.enums.items():
        base = "int" if name == "nvmlReturn_t" or any(v < 0 for v in values.values()) else "unsigned int"
        lines.append(f"using {name} = {base};")
        lines += [f"inline constexpr {name} {item} = {literal(value)};" for item, value in values.items()]
    for name, value in api.constants.items():
        kind = "const char*" if isinstance(value, str) else "auto"
        text = literal(value)
        if not isinstance(value, str) and 0 <= value <= 0xffffffff:
            text += "u"
        lines.append(f"inline constexpr {kind} {name} = {text};")
    for name in in_order(api):
        if name in api.aliases:
            lines.append(f"using {name} = {api.aliases[name]};")
            continue
        struct = api.structs[name]
        lines.append(f"{'union' if struct.get('union') else 'struct'} {name} {{")
        lines += fields(struct["fields"], "  ") + ["};", f"static_assert(sizeof({name}) == {struct['size']});"]
        lines += offsets(name, struct["fields"])
        if "version" in struct:
            lines.append(f"inline constexpr unsigned {re.sub('_t$', '', name)} = sizeof({name}) | {struct['version']}u << 24;")
    lines += ['extern "C" {', "#pragma GCC visibility push(default)"]
    lines += [signature(api, name, True) + ";" for name in api.functions]
    lines += ["#pragma GCC visibility pop", "}"]
    return "\n".join(lines) + "\n"


def unsupported_call(api: Interface, name: str) -> str:
    """The body of a stub: which handle it has, and what of its one pointer can be checked."""
    arguments = api.arguments(name)
    first_type, first = arguments[0] if arguments else ("", "")
    pointers = [(t, n) for t, n in arguments if t.endswith("*")]
    versions = ""
    null = "false"
    if len(pointers) == 1:
        null = f"{pointers[0][1]} == nullptr"
        struct = api.struct_of(pointers[0][0])
        if struct and (numbers := api.versions(struct)):
            versions = ", ".join(f"{number:#x}u" for number in numbers)
            versions = f", version_in({pointers[0][1]}, {{{versions}}})"
    handle = {"nvmlDevice_t": f"Subject::device, {first}", "nvmlGpuInstance_t": f"Subject::gpu_instance, {first}",
              "nvmlUnit_t": f"Subject::unit, {first}",
              "nvmlVgpuInstance_t": f"Subject::vgpu_instance, number_handle({first})",
              "nvmlVgpuTypeId_t": f"Subject::vgpu_type, number_handle({first})"}.get(first_type, "Subject::system, nullptr")
    return f"return unsupported(__func__, {handle}, {null}{versions});"


def stubs(api: Interface, written: set[str]) -> str:
    lines = ["// Made by generate.py: what nobody wrote an answer for.", '#include "emulator/abi/unsupported.h"', "",
             "using namespace partita::emulator::abi;", "", "// clang-format off"]
    for name in api.functions:
        if name not in written:
            silence = "".join(f" (void){n};" for _, n in api.arguments(name))
            lines.append(f"{signature(api, name, True)} {{{silence} {unsupported_call(api, name)} }}")
    lines += ["", "namespace {", "constexpr partita_emulator_function kFunctions[] = {"]
    lines += [f'    {{"{name}", {int(name in written)}}},' for name in sorted(api.functions)]
    lines += ["};", "}  // namespace", "",
              'extern "C" __attribute__((visibility("default"))) unsigned partita_emulator_functions(',
              "    const partita_emulator_function** functions) {",
              "  if (functions != nullptr) *functions = kFunctions;",
              f"  return {len(api.functions)};", "}",
              'extern "C" __attribute__((visibility("default"))) const char* partita_emulator_interface(void) {',
              f'  return "{api.version}";', "}"]
    return "\n".join(lines) + "\n"


def drawn(api: Interface, type_: str, name: str, counted: bool) -> str:
    """An expression that draws an argument; structs are arrays where another argument counts them."""
    base = type_.replace("const", "").strip()
    if base in api.handles:
        return f"draw.handle<{base}>()"
    if base == "char *":
        return "draw.text()"
    if base.endswith("*"):
        to = base[:-1].strip()
        struct = api.struct_of(base)
        if struct is None or counted:
            return f"draw.array<{to}>()"
        numbers = ", ".join(f"{number:#x}u" for number in api.versions(struct))
        rows = api.structs[struct]["fields"]
        places = lambda chosen: ", ".join(str(row["offset"]) for row in rows if "type" in row and chosen(row))
        pointers = places(lambda row: row["type"].endswith("*"))
        handles = places(lambda row: row["type"] in api.handles)
        waits = places(lambda row: row["name"].lower().startswith("timeout"))
        return f"draw.structure<{to}>({{{numbers}}}, {{{{{pointers}}}, {{{handles}}}, {{{waits}}}}})"
    if name.lower().startswith("timeout"):
        return "draw.wait()"
    if re.search(r"(Count|Size)$", name):
        return f"draw.count<{base}>()"
    return f"draw.number<{base}>()"


def calls(api: Interface) -> str:
    lines = ["// Made by generate.py: one row per function.", "// clang-format off"]
    for name in api.functions:
        if name == "nvmlErrorString":
            continue
        counted = any("count" in n.lower() for _, n in api.arguments(name))
        arguments = ", ".join(drawn(api, t, n, counted) for t, n in api.arguments(name))
        lines.append(f'{{"{name}", [](void* f, Draw& draw) {{ (void)draw; return draw.call<decltype(&{name})>(f'
                     f'{", " + arguments if arguments else ""}); }}}},')
    return "\n".join(lines) + "\n"


def main() -> None:
    api = Interface(pathlib.Path(sys.argv[1]))
    out = pathlib.Path(sys.argv[2])
    written = {"nvmlErrorString"}
    for source in sys.argv[3:]:
        written |= set(re.findall(r"^NVML_EXPORT (nvml\w+)\(", pathlib.Path(source).read_text(), re.M))
    if unknown := sorted(written - set(api.functions)):
        sys.exit(f"defined in src/emulator/abi but not in data/nvml/functions.yaml: {', '.join(unknown)}")
    out.mkdir(parents=True, exist_ok=True)
    for file, text in {"nvml_abi.inc": abi(api), "unsupported.cpp": stubs(api, written), "nvml_calls.inc": calls(api)}.items():
        if not (out / file).exists() or (out / file).read_text() != text:
            (out / file).write_text(text)  # else it stays as it is, and nothing is built anew


if __name__ == "__main__":
    main()
