"""Reads a .http file and sends it over a real socket: variables, named requests, and the expectations in its comments."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

EXPECTATION = re.compile(r"(?P<path>\$\S*) (?P<relation>==|contains|lacks) (?P<value>.+)")
STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


@dataclass
class Step:
    """One request of the file, as it stands there."""

    title: str
    name: str = ""
    expectations: list[str] = field(default_factory=list)
    request: str = ""
    headers: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)


class Journey:
    """The file with its variables; `settings` replaces those at its head."""

    def __init__(self, path: Path, **settings: str) -> None:
        head, *parts = re.split(r"^### ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        self.variables: dict[str, str] = dict(re.findall(r"^@(\w+) = (.*)$", head, flags=re.MULTILINE))
        assert settings.keys() == self.variables.keys(), "the file has other variables than the test knows of"
        self.variables.update(settings)
        self.steps = [_read(part) for part in parts]

    def run(self, step: Step) -> Any:
        """Send one request, hold its answer to what the file expects, and return it."""
        status, answer = self._send(step)
        if step.name:
            self.variables.update({f"{step.name}.response.body.$.{key}": str(value) for key, value in answer.items()})
        for expectation in step.expectations:
            wanted = self._fill(expectation)
            assert holds(wanted, status, answer), f"{step.title}: expected {wanted}, got {status} {answer}"
        return answer

    def _send(self, step: Step) -> tuple[int, Any]:
        method, _, url = self._fill(step.request).partition(" ")
        headers = dict(line.split(": ", 1) for line in map(self._fill, step.headers))
        ending = "\r\n" if "multipart" in headers.get("Content-Type", "") else "\n"
        body = self._fill(ending.join(step.body)).encode()
        address = urlsplit(url)
        connection = http.client.HTTPConnection(address.netloc, timeout=60)
        try:
            connection.request(method, url.split(address.netloc, 1)[1], body or None, headers)
            response = connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content else {}
        finally:
            connection.close()

    def _fill(self, text: str) -> str:
        return re.sub(r"\{\{(.+?)\}\}", lambda match: self.variables[match[1]], text)


def holds(expectation: str, status: int, answer: Any) -> bool:
    """`202`, or `$.path == JSON`, `$.path contains JSON`, `$.path lacks JSON` (of the text of a subtree)."""
    if expectation.isdigit():
        return status == int(expectation)
    match = EXPECTATION.fullmatch(expectation)
    assert match, f"cannot read: {expectation}"
    found, value = look_up(match["path"], answer), json.loads(match["value"])
    if match["relation"] == "==":
        return bool(found == value)
    return (str(value) in json.dumps(found, ensure_ascii=False)) == (match["relation"] == "contains")


def look_up(path: str, answer: Any) -> Any:
    found = answer
    for name, number in STEP.findall(path):
        found = found[name] if name else found[int(number)]
    return found


def _read(part: str) -> Step:
    title, *lines = part.rstrip("\n").split("\n")
    step = Step(title)
    while lines[0].startswith("#"):
        comment = lines.pop(0).removeprefix("# ")
        if comment.startswith("@name "):
            step.name = comment.removeprefix("@name ")
        elif comment.startswith("expect: "):
            step.expectations.append(comment.removeprefix("expect: "))
    step.request = lines.pop(0)
    while lines and lines[0]:
        step.headers.append(lines.pop(0))
    step.body = lines[1:]
    return step
