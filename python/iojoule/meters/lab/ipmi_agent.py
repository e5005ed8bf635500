"""A BMC on loopback, served by pyghmi: sessions and ciphers are the library's, every answer is the laboratory's.

``python -m iojoule.meters.lab.ipmi_agent UDP_PORT LABORATORY_PORT``. A process of its own, since the library keeps one
table of sessions for all BMCs and users of a process. It says ``ready`` when it listens.
"""

from __future__ import annotations

import sys
from typing import Any

from pyghmi.ipmi.bmc import Bmc

from iojoule.meters.lab.relay import NONE, Laboratory

USER, PASSWORD = "reader", "made-password"


class MadeBmc(Bmc):  # type: ignore[misc]
    """Hands each request on as ``raw NETFN COMMAND DATA`` in hex; the answer begins with the completion code."""

    laboratory: Laboratory

    def handle_raw_request(self, request: dict[str, Any], session: Any) -> None:
        data = bytes(request["data"]).hex()
        answer = self.laboratory.ask(f"raw {request['netfn']:02x} {request['command']:02x} {data}")
        if answer == NONE:
            return  # a BMC that does not answer
        try:
            found = bytes.fromhex(answer)
        except ValueError:
            found = answer.encode("ascii", errors="replace")
        session.send_ipmi_response(code=found[0], data=list(found[1:]))


def main() -> int:
    bmc = MadeBmc({USER: PASSWORD}, port=int(sys.argv[1]), address="127.0.0.1")
    bmc.laboratory = Laboratory(int(sys.argv[2]))
    print("ready", flush=True)
    bmc.listen()
    return 0


if __name__ == "__main__":
    sys.exit(main())
