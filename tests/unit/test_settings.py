"""The page of settings tells of every variable there is, and of no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.environment import ROOT


def test_the_page_lists_what_the_settings_read() -> None:
    source = (ROOT / "kbsite" / "settings.py").read_text()
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source))
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), flags=re.MULTILINE))
    assert read == told
    assert len(read) > 30


def test_the_environment_is_read_in_one_place() -> None:
    """A variable that another module reads would be missing on the page, and in `check`."""
    readers = {
        str(path.relative_to(ROOT))
        for folder in ("kbsite", "documents", "indexing")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"""(environ|getenv)[^\n]*["'](KB_|DATABASE_)""", path.read_text())
    }
    assert readers == set()


def test_options_of_the_url_do_not_drop_ours() -> None:
    """A frozen process would keep its locks for ever, because somebody asked for a shorter statement."""
    url = "postgresql://kb@db.example/kb?options=-c%20statement_timeout%3D5000"
    program = "from kbsite.settings import DATABASES; print(DATABASES['default']['OPTIONS']['options'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    for ours in ("idle_in_transaction_session_timeout=", "lock_timeout=", "plan_cache_mode="):
        assert ours in done.stdout, done.stderr
    assert done.stdout.rstrip().endswith("-c statement_timeout=5000")
