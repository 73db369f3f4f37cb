"""Try a regular expression on texts, in a process that may be ended: see `_patterns`.

It is run as a file and imports the standard library alone, so that it starts at once.
"""

from __future__ import annotations

import json
import re
import sys

BEGUN = b"begun"
ENDED = b" and ended"


def main() -> None:
    """Search the texts that come in, after the pattern, on stdin."""
    try:
        from signal import ITIMER_VIRTUAL, setitimer
    except ImportError:  # Windows; there the parent waits some time

        def allow(seconds: float) -> None:
            pass
    else:

        def allow(seconds: float) -> None:
            setitimer(ITIMER_VIRTUAL, seconds)  # the signal that it sends ends the process

    seconds = float(sys.argv[1])
    pattern, *probes = json.load(sys.stdin)
    sys.stdout.buffer.write(BEGUN)
    sys.stdout.buffer.flush()
    allow(seconds)
    compiled = re.compile(pattern)
    for probe in probes:
        allow(seconds)
        compiled.findall(probe)
    allow(0)
    sys.stdout.buffer.write(ENDED)


if __name__ == "__main__":
    main()
