"""Keeps the translations complete: `python -m kbsite.translations` collects every text into the .po file and compiles it.

Written in Python, so that nobody needs the gettext tools. Sentences that are the docstrings of error classes are collected
from the classes themselves. A test fails while a translation is missing, doubtful or not compiled.
"""

from __future__ import annotations

import ast
import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MESSAGES = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
SOURCES = ("documents", "indexing", "kbsite", "templates")
SINGLE = {"_", "gettext", "gettext_lazy", "gettext_noop", "noop"}
COUNTED = {"ngettext", "ngettext_lazy"}
HEADER = (
    "Content-Type: text/plain; charset=UTF-8\n"
    "Content-Transfer-Encoding: 8bit\n"
    "Language: zh_Hans\n"
    "Plural-Forms: nplurals=1; plural=0;\n"
)
_STRING = r"""u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_IN_TEMPLATE = re.compile(rf"(?<!\w)(n?gettext|_)\({_STRING}(?:,\s*{_STRING})?", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class Text:
    """A text to be translated, with the English plural where it depends on a number."""

    single: str
    plural: str = ""


@dataclass(frozen=True, slots=True)
class Translation:
    words: str
    doubtful: bool = False  # marked fuzzy


def collect() -> set[Text]:
    """Every text that the code, the templates and the error classes show."""
    from django.utils.translation.template import templatize

    found = set(_sentences())
    for folder in SOURCES:
        root = ROOT / folder
        for path in root.rglob("*.py"):
            if "migrations" not in path.parts:
                found |= set(_in_code(path.read_text(encoding="utf-8")))
        for path in root.rglob("*.html"):
            found |= set(_in_template(templatize(path.read_text(encoding="utf-8"))))
    return found


def _sentences() -> Iterator[Text]:
    from documents import errors as documents_errors
    from indexing.messages import SENTENCES

    for value in vars(documents_errors).values():
        if isinstance(value, type) and issubclass(value, documents_errors.DocumentsError):
            yield Text(value.sentence())
    yield from map(Text, SENTENCES.values())


def _in_code(source: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        texts = [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if node.func.id in SINGLE and len(texts) == 1 == len(node.args):
            yield Text(texts[0])
        elif node.func.id in COUNTED and len(texts) == 2:
            yield Text(*texts)


def _in_template(source: str) -> Iterator[Text]:
    for name, single, plural in _IN_TEMPLATE.findall(source):
        texts = [str(ast.literal_eval(text)) for text in (single, plural) if text]
        yield Text(*texts) if name == "ngettext" else Text(texts[0])


def read(path: Path = MESSAGES) -> dict[Text, Translation]:
    """The translations of a .po file, the header left out."""
    found: dict[Text, Translation] = {}
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        parts: dict[str, str] = {}
        keyword = ""
        for line in block.splitlines():
            if match := re.match(r'(msgid|msgid_plural|msgstr)(?:\[0\])? (".*")$', line):
                keyword, line = match[1], match[2]
                parts[keyword] = ""
            if line.startswith('"'):
                parts[keyword] += ast.literal_eval(line)
        if parts.get("msgid"):
            text = Text(parts["msgid"], parts.get("msgid_plural", ""))
            found[text] = Translation(parts["msgstr"], doubtful=bool(re.search(r"^#,.*\bfuzzy\b", block, re.MULTILINE)))
    return found


def write(translations: dict[Text, Translation], path: Path = MESSAGES) -> None:
    """A .po file sorted by text, without line numbers, so that a change of code does not change it."""
    blocks = ['msgid ""\nmsgstr ""\n' + "\n".join(_quoted(line + "\n") for line in HEADER.splitlines())]
    for text, translation in sorted(translations.items(), key=lambda item: item[0]):
        lines = ["#, fuzzy"] if translation.doubtful else []
        lines.append(f"msgid {_quoted(text.single)}")
        if text.plural:
            lines.append(f"msgid_plural {_quoted(text.plural)}")
        lines.append(f"msgstr{'[0]' if text.plural else ''} {_quoted(translation.words)}")
        blocks.append("\n".join(lines))
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def compiled(translations: dict[Text, Translation]) -> bytes:
    """The .mo file of these translations: two tables of lengths and offsets, then the texts, sorted."""
    entries = {"": HEADER}
    for text, translation in translations.items():
        if translation.words and not translation.doubtful:
            entries[f"{text.single}\0{text.plural}" if text.plural else text.single] = translation.words
    pairs = sorted((single.encode(), words.encode()) for single, words in entries.items())
    first = 7 * 4
    at = first + 2 * 8 * len(pairs)
    tables, texts = b"", b""
    for column in range(2):
        for pair in pairs:
            tables += struct.pack("<II", len(pair[column]), at + len(texts))
            texts += pair[column] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), first, first + 8 * len(pairs), 0, at)
    return head + tables + texts


def main() -> int:
    """Collect, keep what is translated, compile. The exit status is 1 while translations are missing."""
    known = read() if MESSAGES.exists() else {}
    translations = {text: known.get(text, Translation("")) for text in collect()}
    write(translations)
    MESSAGES.with_suffix(".mo").write_bytes(compiled(translations))
    missing = sorted(text.single for text, found in translations.items() if not found.words or found.doubtful)
    for text in missing:
        sys.stdout.write(f"not translated: {text}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    django.setup()
    sys.exit(main())
