# SPDX-License-Identifier: MIT
"""Are the JSON documents on stdin as the schema says? Prints what is not.

usage: validate.py SCHEMA [open|closed]

A member that the schema does not describe is an error, too, unless "open" is given:
the schema allows such members, since later versions may have more, but what this
version sends is to be described.
Exit status: 0 they are, 1 they are not, 77 python3-jsonschema is not installed.
"""
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit(77)


def close(schema):
    """Allow no members but those that are described."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema["additionalProperties"] = False
        schema = schema.values()
    if not isinstance(schema, (str, int)):
        for part in schema:
            close(part)


with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
if "open" not in sys.argv[2:]:
    close(schema)
validator = Draft202012Validator(schema)
text = sys.stdin.read().strip()
wrong = False
while text:
    document, end = json.JSONDecoder().raw_decode(text)
    for error in validator.iter_errors(document):
        print(error.json_path, error.message)
        wrong = True
    text = text[end:].lstrip()
sys.exit(1 if wrong else 0)
