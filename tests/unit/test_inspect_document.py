from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.core.management.base import CommandError

from documents.content import title_of
from indexing.blocks import Block, BlockKind, Chunk, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.inspection import Inspection
from indexing.locators import Locator
from indexing.verification import Verification

ROOT = Path(__file__).resolve().parents[2]
POLICY = "# 休假制度\n\n年假为十五天。\n\n## Pay\n\n| Kind | Days |\n|---|---|\n| Sick | 30 |\n"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.md"
    path.write_text(POLICY)
    return path


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF-1.7\n1 0 obj\n<<")
    return path


def run(*arguments: object) -> tuple[str, int]:
    """What the command prints, and its exit code."""
    stream = io.StringIO()
    try:
        call_command("inspect_document", *map(str, arguments), stdout=stream)
    except SystemExit as end:
        return stream.getvalue(), int(end.code or 0)
    return stream.getvalue(), 0


def test_one_file_is_one_object(policy: Path) -> None:
    printed, code = run(policy, "--format", "json")
    assert code == 0
    result = json.loads(printed)
    for chunk in result["chunks"]:
        assert 0 < chunk.pop("tokens") <= django_settings.KB_CHUNK_TOKENS
    assert set(result.pop("seconds")) == {"parse", "split", "verify"}
    language = result.pop("language")
    assert language in (None, "zh", "en")
    assert result == {
        "file": "policy.md",
        "title": "休假制度",
        "gaps": [],
        "leftOut": [],
        "places": {"found": 2, "failed": [], "notCheckable": 0},
        "mediaType": "text/markdown",
        "pages": None,
        "blocks": [
            {
                "kind": "heading",
                "text": "休假制度",
                "headingPath": [],
                "level": 1,
                "locator": {"span": [0, 4], "lines": [1, 1]},
            },
            {
                "kind": "paragraph",
                "text": "年假为十五天。",
                "headingPath": ["休假制度"],
                "locator": {"span": [6, 13], "lines": [3, 3]},
            },
            {
                "kind": "heading",
                "text": "Pay",
                "headingPath": ["休假制度"],
                "level": 2,
                "locator": {"span": [15, 18], "lines": [5, 5]},
            },
            {
                "kind": "table",
                "text": "Kind | Days\nSick | 30",
                "headingPath": ["休假制度", "Pay"],
                "locator": {"span": [20, 41], "lines": [7, 9]},
                "rows": [["Kind", "Days"], ["Sick", "30"]],
                "headerRows": 1,
            },
        ],
        "tokensAre": "tokens of the pipeline's embedding model",
        "chunks": [
            {
                "ordinal": 0,
                "text": "年假为十五天。",
                "headingPath": ["休假制度"],
                "locator": {"span": [6, 13], "lines": [3, 3]},
                "context": "policy › 休假制度",
            },
            {
                "ordinal": 1,
                "text": "Kind | Days\nSick | 30",
                "headingPath": ["休假制度", "Pay"],
                "locator": {"span": [20, 41], "lines": [7, 9]},
                "context": "policy › 休假制度 › Pay",
            },
        ],
    }


def test_several_files_are_an_array_and_some_failures_are_partial(policy: Path, damaged: Path) -> None:
    printed, code = run(policy, damaged, "--format", "json")
    first, second = json.loads(printed)
    assert code == 3
    assert first["mediaType"] == "text/markdown"
    second.pop("seconds")
    assert second == {
        "file": "report.pdf",
        "errorCode": "DOCUMENT_CORRUPT",
        "message": "The file is damaged and cannot be opened. Open it in its own program, save it again and upload it as "
        "a new version.",
    }


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("empty.md", b"", "NO_TEXT"),
        ("blank.txt", b" \n", "NO_TEXT"),
        ("picture.png", b"\x89PNG", "UNSUPPORTED_DOCUMENT"),
        ("disguised.pdf", b"plain text", "UNSUPPORTED_DOCUMENT"),
        ("protected.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "DOCUMENT_ENCRYPTED"),
    ],
)
def test_a_file_that_cannot_be_indexed(tmp_path: Path, name: str, content: bytes, error: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    printed, code = run(path, "--format", "json")
    result = json.loads(printed)
    assert code == 1
    assert result["errorCode"] == error
    assert set(result) == {"file", "errorCode", "message", "seconds"}
    assert result["message"].endswith(".")


def test_all_of_several_failed(damaged: Path) -> None:
    printed, code = run(damaged, damaged)
    assert code == 1
    assert [result["errorCode"] for result in json.loads(printed)] == ["DOCUMENT_CORRUPT"] * 2


def test_limits_come_from_the_settings(policy: Path, settings: django_settings) -> None:
    settings.KB_CHUNK_TOKENS = 32
    policy.write_text("# T\n\n" + "员工应当遵守规定。" * 20)
    assert len(json.loads(run(policy)[0])["chunks"]) > 3
    settings.KB_PARSE_TIMEOUT = 0.0
    assert json.loads(run(policy)[0])["errorCode"] == "PARSE_TIMEOUT"


def test_a_missing_file_alone_is_a_usage_error_in_one_sentence(tmp_path: Path) -> None:
    for path, sentence in (
        (tmp_path / "none.md", f"There is no file {tmp_path / 'none.md'}."),
        (tmp_path, f"There are no files in {tmp_path}."),
    ):
        with pytest.raises(CommandError) as caught:
            run(path)
        assert str(caught.value) == sentence
        assert caught.value.returncode == 2


def test_a_missing_file_among_several_is_one_that_failed(policy: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none.md"
    printed, code = run(policy, missing)
    read, none = json.loads(printed)
    assert code == 3
    assert read["mediaType"] == "text/markdown"
    assert (none["errorCode"], none["message"]) == ("FILE_UNREADABLE", f"There is no file {missing}.")
    assert run(missing, missing)[1] == 1


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    printed, code = run(tmp_path / "empty.md")
    assert code == 1
    result = json.loads(printed)
    assert (result["errorCode"], result["message"]) == ("NO_TEXT", "The file is empty.")


def test_text_for_a_person(policy: Path, damaged: Path) -> None:
    printed, code = run(policy, damaged, "--format", "text")
    assert code == 3
    assert "policy.md\n  text/markdown, 4 blocks, 2 chunks\n  Title: 休假制度\n" in printed
    assert "  heading 1  line 1       休假制度\n" in printed
    assert "  #1  lines 7–9, " in printed
    assert "report.pdf\n  Cannot be indexed: The file is damaged" in printed


def test_text_says_where_things_are() -> None:
    document = ParsedDocument(
        "application/pdf",
        "word " * 40,
        (Block(BlockKind.PARAGRAPH, "word " * 40, Locator((0, 200), page=3, page_end=4)),),
        pages=1,
    )
    chunk = Chunk(0, "word " * 40, (), Locator((0, 200), page=3), tokens=1)
    lines = Inspection("a.pdf", document, (chunk,)).to_text().split("\n")
    assert lines[1] == "  application/pdf, 1 page, 1 block, 1 chunk"
    assert lines[2] == "  Places: 0 verified, 0 not found, 0 not checkable"
    assert lines[5].startswith("  paragraph  pages 3–4    word word")
    assert lines[5].endswith("…")
    assert lines[8] == "  #0  page 3, 1 token  (no heading)"
    assert max(map(len, lines)) <= 110


def test_as_a_program_without_a_database(policy: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "KB_DEBUG": "1", "DATABASE_URL": "postgres://nobody@192.0.2.1:1/none"}
    arguments = [sys.executable, "manage.py", "inspect_document"]

    def program(*more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*arguments, *map(str, more)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    fine = program(policy, "--format", "json")
    assert fine.returncode == 0, fine.stderr
    assert json.loads(fine.stdout)["blocks"][0]["text"] == "休假制度"
    missing = program(policy.with_name("none.md"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.strip() == f"CommandError: There is no file {policy.with_name('none.md')}."
    assert program().returncode == 2
    assert program(policy, "--format", "xml").returncode == 2


def test_a_folder_is_all_of_its_files(policy: Path, damaged: Path, tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (below / "more.txt").write_text("One sentence.")
    (tmp_path / ".hidden.txt").write_text("Not looked at.")
    printed, code = run(tmp_path, "--format", "text")
    assert code == 3
    summary = printed[printed.index("Summary\n") :].strip().split("\n")
    assert summary[1].startswith("3 files, 0 pages, ")
    assert summary[2] == "Places: 3 verified (100.00 % of those that can be checked), 0 not found, 0 not checkable"
    assert summary[3:5] == ["Gaps: 0", "Files that cannot be indexed: 1 DOCUMENT_CORRUPT"]
    assert summary[5].startswith("Time: parse ")
    assert [item["file"] for item in json.loads(run(tmp_path)[0])] == ["more.txt", "policy.md", "report.pdf"]


def test_another_strategy(policy: Path, settings: django_settings) -> None:
    policy.write_text("# T\n\nOne sentence stands here.\n\nAnother one stands there.\n")
    by_structure = json.loads(run(policy)[0])["chunks"]
    by_characters = json.loads(run(policy, "--strategy", "fixed")[0])["chunks"]
    assert [chunk["headingPath"] for chunk in by_structure] == [["T"]]
    assert by_characters != by_structure


def test_what_is_missing_is_named() -> None:
    text = "A line."
    document = ParsedDocument(
        "application/pdf",
        text,
        (Block(BlockKind.PARAGRAPH, text, Locator((0, 7), page=1)),),
        pages=2,
        gaps=(Gap(GapReason.UNREADABLE, page=2),),
        left_out=(LeftOut(LeftOutReason.PAGE_NUMBER, "1 | 2", (1, 2)),),
    )
    chunk = Chunk(0, text, (), Locator((0, 7), page=1), tokens=1)
    shown = Inspection("a.pdf", document, (chunk,), verification=Verification(0, (0,))).to_text()
    assert "  Gap: page 2: unreadable\n" in shown
    assert "  Left out: Page number, pages 1–2: 1 | 2\n" in shown
    assert "  #0  page 1, NOT FOUND THERE, 1 token" in shown


def test_tokens_are_counted_with_the_title_that_an_upload_gets(policy: Path) -> None:
    """The title of a document is not what its file calls itself, but what its editor does: the file's name, if nothing."""
    counted = [chunk["tokens"] for chunk in json.loads(run(policy)[0])["chunks"]]
    assert title_of("policy.md") == "policy"
    assert json.loads(run(policy)[0])["chunks"][0]["context"] == "policy › 休假制度"
    longer = [chunk["tokens"] for chunk in json.loads(run(policy, "--title", "The company's own policy")[0])["chunks"]]
    assert all(one < other for one, other in zip(counted, longer, strict=True))


def test_a_format_without_places_shows_its_headings_alone(tmp_path: Path) -> None:
    path = tmp_path / "rules.html"
    path.write_text("<main><h1>Rules</h1><h2>请假</h2><p>年假为十五天。</p></main>", encoding="utf-8")
    for kind in ("text", "html"):
        printed, _ = run(path, "--format", kind)
        assert not re.search(r"\blines? \d", printed), kind
    assert re.search(r"\n  #0  \d+ tokens  Rules › 请假\n", run(path, "--format", "text")[0])
    (chunk,) = json.loads(run(path)[0])["chunks"]
    assert set(chunk["locator"]) == {"span"}
