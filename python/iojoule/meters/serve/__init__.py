"""The meters of another machine, over TCP.

1. ``bench``  runs the meters and hands their readings to
2. ``spool``  a bounded store on disk, where every reading has its number; it survives the server
3. ``session``  one client's conversation (``protocol``), without a socket: what is heard, what is to be said
4. ``server``  sessions on sockets, plain or TLS (``credentials``); beside them ``ptdaemon``, SPEC's text protocol

``iojoule.meters.remote`` is the other end: it reads one meter of a server as if it hung on this machine.
"""
