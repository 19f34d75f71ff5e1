"""Checks outputs against docs/schemas, more strictly than a reader must: keys that no schema names are errors.

Keeps a record of the keys that outputs had, so that a key that no output has is found too.
"""
import copy
import json
import warnings
from pathlib import Path

import jsonschema

NUMBERS = {"integer", "number"}


def nodes(schema, place=()):
    """All schemas within a schema, with their places."""
    if isinstance(schema, dict):
        yield place, schema
        for key, value in schema.items():
            if key != "required":
                yield from nodes(value, place + (key,))
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from nodes(value, place + (index,))


def is_property(place):
    return len(place) > 1 and place[-2] == "properties"


def closed(schema):
    """The same schema without room for further keys."""
    schema = copy.deepcopy(schema)
    for place, node in nodes(schema):
        if isinstance(node.get("properties"), dict) and "$ref" not in node and not (place and place[-1] == "properties"):
            node.setdefault("additionalProperties", False)
    return schema


class Checker:
    def __init__(self, folder):
        self.schemas = {file.name: json.loads(file.read_text(encoding="utf-8"))
                        for file in sorted(Path(folder).glob("*.schema.json"))}
        self.closed = {name: closed(schema) for name, schema in self.schemas.items()}
        self.seen = set()

    def faults(self):
        """What is wrong with the schemas themselves."""
        for name, schema in self.schemas.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            for place, node in nodes(schema):
                where = f"{name}: {'.'.join(map(str, place))}"
                types = node.get("type", [])
                if NUMBERS & set([types] if isinstance(types, str) else types) and not node.get("unit"):
                    yield f"{where} is a number without a unit"
                for key in node.get("required", []):
                    if key not in node.get("properties", {}):
                        yield f"{where} requires {key}, which it does not describe"

    def check(self, name, value, part=None):
        """Fails unless the value is as the schema says (its definition `part`, if given)."""
        name += ".schema.json"
        schema = {"$ref": f"{name}#/$defs/{part}" if part else name}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of newer versions; Debian 12 has 4.10
            resolver = jsonschema.RefResolver("", schema, store=self.closed)
            validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
        errors = [f"{name} {'.'.join(map(str, one.absolute_path))}: {one.message[:300]}"
                  for one in validator.iter_errors(value)]
        assert not errors, "\n".join(errors)
        self._mark(*self._resolve(name, schema), value)

    def _resolve(self, name, schema):
        if "$ref" not in schema:
            return name, (), schema
        file, _, pointer = schema["$ref"].partition("#")
        place = tuple(pointer.strip("/").split("/")) if pointer else ()
        node = self.schemas[file or name]
        for key in place:
            node = node[key]
        return file or name, place, node

    def _mark(self, name, place, schema, value):
        if "$ref" in schema:
            self._mark(*self._resolve(name, schema), value)
        for index, other in enumerate(schema.get("anyOf", [])):
            self._mark(name, place + ("anyOf", index), other, value)
        if isinstance(value, list):
            for one in value:
                self._mark(name, place + ("items",), schema.get("items", {}), one)
        if isinstance(value, dict):
            for key, other in schema.get("properties", {}).items():
                if key in value:
                    self.seen.add((name, place + ("properties", key)))
                    self._mark(name, place + ("properties", key), other, value[key])
            further = schema.get("additionalProperties")
            for key in value.keys() - schema.get("properties", {}).keys() if isinstance(further, dict) else ():
                self._mark(name, place + ("additionalProperties",), further, value[key])

    def unseen(self):
        """Keys that no checked output had: "summary: best.version"."""
        for name, schema in self.schemas.items():
            for place, _ in nodes(schema):
                if is_property(place) and (name, place) not in self.seen:
                    yield f"{name.split('.')[0]}: " + ".".join(str(one) for one in place if one != "properties")
