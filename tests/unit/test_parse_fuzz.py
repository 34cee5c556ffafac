"""Damaged files of every format, with fixed seeds: no parser crashes, every failure has its code, what is read can be split and
checked. A file found here that breaks something belongs into `tests/hostile`, with its reason."""

from __future__ import annotations

import io
import json
import os
import random
import selectors
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from documents.media_types import BY_EXTENSION, UnsupportedFile, detect
from indexing.blocks import ParsedDocument
from indexing.errors import ParseCrashed, ParseTimeout
from indexing.splitters import split
from indexing.verification import claims_of
from tests.hostile.catalogue import HARMLESS, every_file
from tests.hostile.make import NOWHERE
from tests.unit.parse_sample import CODE
from tests.unit.parse_sample import files as made_files
from tests.unit.pictures import EN, written

PICTURES = {".png": "PNG", ".jpg": "JPEG", ".tiff": "TIFF", ".webp": "WEBP", ".bmp": "BMP", ".gif": "GIF"}
# Those of which sound files are made here or lie in the demo.
FORMATS = (
    *(".csv", ".docx", ".html", ".json", ".md", ".ods", ".pdf", ".pptx", ".txt", ".xls", ".xlsx", ".xml"),
    *sorted(CODE),
    *sorted(PICTURES),
)
SAMPLES = Path(__file__).resolve().parents[2] / "kbsite" / "demo" / "samples"
LONGEST = 80_000  # bytes of a file that is damaged: many small files find more than one large one
VARIANTS = 60  # of a format
VARIANTS_OF_PICTURES = 12  # each takes a second to be read
SECONDS = 60.0  # for one file, before it counts as endless
MEMORY = 1024**3
MOST_FAULTS = 10  # are told of a format


def sound_files(extension: str) -> list[tuple[str, bytes]]:
    """Sound ones, and a few whose hostile part does nothing: they hold rare constructs."""
    found = [(path.name, path.read_bytes()) for path in sorted(SAMPLES.glob(f"*{extension}"))]
    found += [(name, content) for name, content in made_files().items() if name == f"a{extension}"]
    if extension in PICTURES:
        found += [(f"{number}{extension}", picture(extension, number)) for number in (1, 2)]
    for name, file in sorted(every_file().items()):
        if name.endswith(extension) and file.ends == {HARMLESS}:
            found.append((name, file.make(NOWHERE)))
    short = [(name, content) for name, content in found if 0 < len(content) <= LONGEST]
    return short[:: max(1, len(short) // 8)]


def picture(extension: str, frames: int) -> bytes:
    """Of one line of text each; formats of one frame have the first."""
    first, *others = (written([EN[number][:36]], size=(640, 110), letters=24) for number in range(frames))
    file = io.BytesIO()
    several: dict[str, Any] = {"save_all": True, "append_images": others}
    several = several if extension in (".tiff", ".gif", ".webp") else {}
    packed = {"compression": "tiff_deflate"} if extension == ".tiff" else {}
    first.save(file, PICTURES[extension], **several, **packed)
    return file.getvalue()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """One of the ways in which files are damaged; half of a package's damage is within one of its parts."""
    if content.startswith(b"PK\x03\x04") and rng.random() < 0.7:
        return _package_with_damage(content, rng)
    return _bytes_with_damage(content, rng)


def _bytes_with_damage(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    at = rng.randrange(len(data)) if data else 0
    length = rng.choice([1, 4, 64, 1000])
    match rng.randrange(6):
        case 0:
            del data[at:]
        case 1:
            del data[at : at + length]
        case 2:
            data[at:at] = data[at : at + length] * rng.choice([1, 3, 50])
        case 3:
            data[at : at + 1] = rng.choice(
                [b"\0", b"\xff", b"<", b"-1", b"99999999999", "\ud800".encode("utf-8", "surrogatepass")]
            )
        case 4:
            for _ in range(rng.choice([1, 8, 200])):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case _:
            other = rng.randrange(len(data))
            data[at : at + length], data[other : other + length] = data[other : other + length], data[at : at + length]
    return bytes(data)


def _package_with_damage(content: bytes, rng: random.Random) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as package, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
        names = package.namelist()
        hurt = rng.choice(names)
        for name in names:
            part = package.read(name)
            if name == hurt:
                if rng.random() < 0.2:
                    continue  # missing
                part = _bytes_with_damage(part, rng)
            copy.writestr(name, part)
    return written.getvalue()


class ManyChild:
    """The locked process. When it dies, the next wish gets a new one."""

    def __init__(self, media_type: str) -> None:
        self._media_type = media_type
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, content: bytes, wish: dict[str, Any]) -> dict[str, Any]:
        """Its answer, or the error that the worker would make of its silence."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(wish | {"bytes": len(content)}).encode() + b"\n" + content)
        process.stdin.flush()
        for line in self._lines(process):
            if line is None:
                self.end()
                return {"error": {"code": ParseTimeout.code, "detail": "endless"}}
            answer: dict[str, Any] = json.loads(line)
            if "scan" not in answer:
                return answer
        status = process.wait()
        self.end()
        return {"error": {"code": ParseCrashed.code, "detail": f"ended with {status}"}}

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        arguments = [self._media_type, str(MEMORY), "600", str(os.getpid())]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.unit.many_child", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )

    @staticmethod
    def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes | None]:
        """Until it ends; None when no line comes in time."""
        assert process.stdout is not None
        written = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(SECONDS):
                    yield None
                    return
                part = os.read(process.stdout.fileno(), 1 << 20)
                if not part:
                    return
                written += part
                *lines, written = written.split(b"\n")
                yield from lines


def fault_of(child: ManyChild, content: bytes, media_type: str, name: str) -> str:
    """What is wrong with how this file ends; empty where it ends as it should, read or refused."""
    answer = child.ask(content, {"verb": "parse", "fileName": name, "scans": []})
    if "error" in answer:
        error = answer["error"]
        return f"{error['code']} {error['detail']}" if error["code"] in (ParseCrashed.code, ParseTimeout.code) else ""
    document = ParsedDocument.from_json(answer["document"])
    try:
        chunks = split(document, title=name, count_tokens=len, budget=400)
    except Exception as error:
        return f"cannot be split: {error!r}"
    claims = [claim.to_json() for claim in claims_of(document, chunks)]
    told = child.ask(content, {"verb": "verify", "claims": claims})
    return "" if "verification" in told else f"cannot be checked: {told}"


@pytest.mark.slow
@pytest.mark.parametrize("extension", FORMATS)
def test_no_damage_crashes_a_parser(extension: str, tmp_path: Path) -> None:
    media_type = BY_EXTENSION[extension]
    files = sound_files(extension)
    assert files, "there is nothing to damage"
    rng, child, faults = random.Random(f"fuzz {extension}"), ManyChild(media_type), []
    try:
        for number in range(VARIANTS_OF_PICTURES if extension in PICTURES else VARIANTS):
            name, sound = files[number % len(files)]
            content = damaged(sound, rng)
            try:
                detect(content, f"x{extension}")
            except UnsupportedFile:
                continue  # refused before it is stored
            if fault := fault_of(child, content, media_type, name):
                kept = tmp_path / f"{number}{extension}"
                kept.write_bytes(content)
                faults.append(f"variant {number} of {name}, kept as {kept}: {fault}")
                if len(faults) == MOST_FAULTS:
                    break
    finally:
        child.end()
    assert not faults, "\n".join(faults)


def test_damage_is_the_same_in_every_run() -> None:
    name, sound = sound_files(".docx")[0]
    first, second = (random.Random(7), random.Random(7))
    assert [damaged(sound, first) for _ in range(20)] == [damaged(sound, second) for _ in range(20)], name
