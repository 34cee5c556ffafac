"""What the demo says: progress on standard error, and how to go on from here."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from kbsite.demo.publishing import Standing

ADDRESSES = """
The web server is up.

  Search   {url}/
  Admin    {url}/admin/
  API      {url}/api/v1/docs/

  Log in as   password
  editor      {editor:<14}uploads and publishes (admin)
  reader      {reader:<14}reads what is open to everyone, and the group hr's documents
  outsider    {outsider:<14}reads what is open to everyone
  operator    {operator:<14}watches the queue and retries what failed (admin)
"""
INDEXING = """
The samples are being indexed, which takes about a minute. What has become searchable is found already.

"""
AGAIN = """
The knowledge base is ready: {url}/, {url}/admin/ and {url}/api/v1/docs/
Log in as editor {editor}, reader {reader}, outsider {outsider}, operator {operator}
"""
TO_TRY = """
Three things to try:
  1. As reader, search for “翠鸟计划的总预算是多少” or “Kingfisher pay review budget”; then as outsider, who finds nothing
     of it.
  2. As editor, open the travel allowance policy in the admin, upload and publish a new version, and watch INDEXING become
     SEARCHABLE; a reader finds the old text until then.
  3. As editor, open “Quarterly Report”: it FAILED, and says why and what to do.

Logs: {logs}/*.log. Ctrl-C stops everything; “make demo” goes on from here, “make demo ARGS=--reset” starts over.
"""


class Guide:
    """Says where to go as soon as the web server is up, and what to try once every sample can be tried. The log-ins are said
    again then, if lines of progress have pushed them up the screen."""

    def __init__(self, **values: object) -> None:
        """`values`: url, logs, and the passwords by name."""
        self._values = values
        self._addresses_told = self._all_told = False

    def go_on(self, *, up: bool, settled: bool) -> str:
        """What is to be said now; empty if that was said before."""
        texts = []
        if up and not self._addresses_told:
            self._addresses_told = True
            texts += [ADDRESSES] if settled else [ADDRESSES, INDEXING]
        elif up and settled and not self._all_told:
            texts.append(AGAIN)
        if up and settled and not self._all_told:
            self._all_told = True
            texts.append(TO_TRY)
        return "".join(texts).format(**self._values)


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
