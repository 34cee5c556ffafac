"""A stand-in for `indexing.parsers.child` whose parser does what the file's content says. Only tests start it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from indexing.blocks import ParsedDocument
from indexing.errors import DocumentEncrypted
from indexing.parsers import child


def parse(content: bytes, media_type: str, file_name: str) -> ParsedDocument:
    deed, _, argument = content.decode().partition(" ")
    match deed:
        case "eat":
            hoard = []
            while True:
                hoard.append(bytes(10_000_000))
        case "loop":
            while True:
                pass
        case "sleep":
            time.sleep(3600)
        case "exit":
            os._exit(int(argument))
        case "abort":
            os.abort()
        case "raise":
            raise RuntimeError(f"secret text of the document in {file_name}")
        case "refuse":
            raise DocumentEncrypted("Ask the author.")
        case "print":
            print("noise from a library")
            os.write(1, b"more noise")
        case "spawn":
            grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
            with open(argument, "w") as note:
                note.write(str(grandchild.pid))
            while True:
                time.sleep(1)
        case "note":
            with open(argument, "w") as note:
                note.write(str(os.getpid()))
            while True:
                time.sleep(1)
        case "environment":
            return ParsedDocument(media_type, "\n".join(sorted(os.environ)), ())
        case "limits":
            import resource

            names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_CORE")
            limits = [resource.getrlimit(getattr(resource, name))[0] for name in names]
            return ParsedDocument(media_type, " ".join(map(str, limits)), (), title=file_name)
    return ParsedDocument(media_type, "parsed", ())


if __name__ == "__main__":
    import indexing.parsers

    indexing.parsers.parse = parse
    child.main()
