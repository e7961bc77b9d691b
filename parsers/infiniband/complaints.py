"""What the tools of infiniband-diags say when they can't ask: `ibwarn: [4711] mad_rpc: ...`.

Source: rdma-core ibdiag_common.c (IBWARN, IBPANIC, IBEXIT).
"""

from __future__ import annotations

import re

_COMPLAINT = re.compile(
    r"[^\n]{0,60}?\b(?:ibwarn|ibpanic|iberror): ?(?:\[\d{1,10}\] ?)?(?P<words>.{1,2000})"
    r"|(?P<source>src/\w{1,60}\.c:\d{1,6};.{1,2000})"
)


def complaint(line: str) -> str | None:
    """The words of a warning or an error; None of any other line."""
    found = _COMPLAINT.fullmatch(line.strip()[:4000])
    return (found["words"] or found["source"]).strip() if found else None
