"""What net-snmp's agent runs for ``pass_persist``: it hands each question on to the laboratory, line by line.

``python -m iojoule.meters.lab.snmp_agent PORT``. On stdin and stdout it speaks the protocol of snmpd.conf(5).
"""

from __future__ import annotations

import sys

from iojoule.meters.lab.relay import NONE, Laboratory


def main() -> int:
    laboratory = Laboratory(int(sys.argv[1]))
    for command in sys.stdin:
        match command.strip().lower():
            case "ping":
                said = "PONG"
            case "get" | "getnext" as verb:
                found = laboratory.ask(f"{verb} {sys.stdin.readline().strip()}").split(" ", 2)
                said = "\n".join(found) if len(found) == 3 else NONE
            case "set":
                sys.stdin.readline(), sys.stdin.readline()
                said = "not-writable"
            case _:
                break
        print(said, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
