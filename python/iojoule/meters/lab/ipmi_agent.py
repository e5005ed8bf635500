"""A BMC on loopback, served by pyghmi: sessions and ciphers are the library's, every answer is the laboratory's.

``python -m iojoule.meters.lab.ipmi_agent UDP_PORT LABORATORY_PORT``. A process of its own, since the library keeps one
table of sessions for all BMCs and users of a process. It says ``ready`` when it listens.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from typing import Any

from pyghmi.ipmi.bmc import Bmc

from iojoule.meters.lab.bmc import PASSWORD, USER
from iojoule.meters.lab.relay import NONE, Laboratory

#: RMCP+ (IPMI 2.0, §13.17, §13.24): the type of session, and that of the message after it.
OPEN_REQUEST, OPEN_RESPONSE = b"\x06\x10", 0x11
HMAC_SHA1, NO_CIPHER_MATCH = 1, 0x11


class MadeBmc(Bmc):  # type: ignore[misc]
    """Hands each request on as ``raw NETFN COMMAND DATA`` in hex; the answer begins with the completion code."""

    laboratory: Laboratory

    def sessionless_data(self, data: bytes, sockaddr: Any) -> None:
        """The library knows one cipher suite and takes whatever is proposed for it: another is refused here, as a BMC
        would, and its client proposes the next."""
        if len(data) > 28 and data[4:6] == OPEN_REQUEST and data[28] != HMAC_SHA1:
            refusal = bytes([data[16], NO_CIPHER_MATCH, 0, 0]) + bytes(data[20:24])
            head = bytes([*data[:4], 6, OPEN_RESPONSE]) + bytes(8) + len(refusal).to_bytes(2, "little")
            self.serversocket.sendto(head + refusal, sockaddr)
            return
        super().sessionless_data(data, sockaddr)

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
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: nobody is left to end it when its bench was killed
    bmc = MadeBmc({USER: PASSWORD}, port=int(sys.argv[1]), address="127.0.0.1")
    bmc.laboratory = Laboratory(int(sys.argv[2]))
    print("ready", flush=True)
    bmc.listen()
    return 0


if __name__ == "__main__":
    sys.exit(main())
