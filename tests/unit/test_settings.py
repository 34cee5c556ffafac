"""The page of settings tells of every variable there is, and of no other."""

from __future__ import annotations

import re

from tests.environment import ROOT


def test_the_page_lists_what_the_settings_read() -> None:
    source = (ROOT / "kbsite" / "settings.py").read_text()
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source))
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), flags=re.MULTILINE))
    assert read == told
    assert len(read) > 30


def test_the_environment_is_read_in_one_place() -> None:
    """Elsewhere only what is no setting: process plumbing and Django's own variable."""
    allowed = {"kbsite/settings.py", "kbsite/wsgi.py", "manage.py", "indexing/supervisor.py", "indexing/shutdown.py"}
    readers = {
        str(path.relative_to(ROOT))
        for folder in ("kbsite", "documents", "indexing")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"os\.environ|getenv", path.read_text())
    }
    assert readers - allowed == set()
