"""What the demo says: progress on standard error, and how to go on from here."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from kbsite.demo.publishing import Standing

WELCOME = """
The knowledge base is ready.

  Search   {url}/
  Admin    {url}/admin/
  API      {url}/api/v1/docs/

  Log in as   password
  editor      {editor:<14}uploads and publishes (admin)
  reader      {reader:<14}reads what is open to everyone, and the group hr's documents
  outsider    {outsider:<14}reads what is open to everyone
  operator    {operator:<14}watches the queue and retries what failed (admin)

Three things to try:
  1. As reader, search for “翠鸟计划的总预算是多少” or “Kingfisher pay review budget”; then as outsider, who finds nothing
     of it.
  2. As editor, open the travel allowance policy in the admin, upload and publish a new version, and watch INDEXING become
     SEARCHABLE; a reader finds the old text until then.
  3. As editor, open “Quarterly Report”: it FAILED, and says why and what to do.

Logs: {logs}/*.log. Ctrl-C stops everything; “make demo” goes on from here, “make demo ARGS=--reset” starts over.
"""


class Progress:
    """A line for every change, with the seconds since the start."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._said: dict[str, str] = {}

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def say(self, text: str) -> None:
        print(f"[{self.seconds:5.1f} s] {text}", file=sys.stderr, flush=True)  # noqa: T201

    def say_changes(self, standings: Sequence[Standing]) -> None:
        """Tell of every sample whose state is another than when it was told of last."""
        for standing in standings:
            state = standing.state
            if state != "WAITING" and self._said.get(standing.sample.key) != state:
                self._said[standing.sample.key] = state
                done = sum(one.settled for one in standings)
                code = f" {standing.error_code}" if standing.error_code else ""
                self.say(f"{done:2}/{len(standings)}  {state}{code}  {standing.sample.file}")
