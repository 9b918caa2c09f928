#!/usr/bin/env python3
"""The shipped YAML files say what their schemas allow, and each schema has files: usage: check_schemas.py SOURCE_FOLDER"""
import json
import pathlib
import sys

import yaml

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)  # skipped

# schema -> its files in data/
FILES = {
    "board": "boards/*.yaml",
    "board_readings": "board_readings.yaml",
    "driver_names": "driver_names.yaml",
    "driver_rules": "driver_rules.yaml",
    "index": "boards/index.yaml",
    "node": "nodes/*.yaml",
    "sources": "sources.yaml",
    "study": "studies/*.yaml",
    "weights": "policies/*.yaml",
    "workload": "workloads/*.yaml",
}


class Loader(yaml.SafeLoader):
    """Dates stay text, as in JSON."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def problems(data):
    for path in sorted((data / "schemas").glob("*.schema.json")):
        name = path.name.removesuffix(".schema.json")
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        files = set(data.glob(FILES[name])) if name in FILES else set()
        if name == "board":
            files.discard(data / "boards/index.yaml")
        if not files:
            yield f"{path.name}: no file of data/ is known to follow it; name some in {pathlib.Path(__file__).name}"
        for file in sorted(files):
            for error in validator.iter_errors(yaml.load(file.read_text(), Loader)):
                where = ".".join(str(part) for part in error.absolute_path)
                yield f"{file.relative_to(data)}: {where or 'top'}: {error.message[:200]}"


found = list(problems(pathlib.Path(sys.argv[1]) / "data"))
print("\n".join(found))
sys.exit(1 if found else 0)
