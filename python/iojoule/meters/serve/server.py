"""Sessions on sockets: any number of clients at once, each at its own pace, plain or over TLS."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine

from iojoule.meters.serve.credentials import Credentials, check_listen
from iojoule.meters.serve.protocol import LONGEST_LINE
from iojoule.meters.serve.ptdaemon_bench import Ptdaemon
from iojoule.meters.serve.session import BEAT_S, Hub, Session

#: Seconds a stranger has to say who it is, and a client to take what was sent.
_HELLO_S, _TAKE_S = 10.0, 60.0


def _peer(writer: asyncio.StreamWriter) -> str:
    host, port = (writer.get_extra_info("peername") or ("somebody", "gone"))[:2]
    return f"{host}:{port}"


class Server:
    """Serves a hub until it is cancelled."""

    def __init__(self, hub: Hub, credentials: Credentials, say: Callable[[str], None] = lambda text: None) -> None:
        self._hub, self._credentials, self._say = hub, credentials, say
        self._waiting: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """There is news; may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """CredentialError where strangers could listen, OSError where the address cannot be had."""
        check_listen(host, self._credentials)
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._odd)
        return await asyncio.start_server(
            self._meet, host, port, limit=LONGEST_LINE, ssl=self._credentials.tls,
            ssl_handshake_timeout=_HELLO_S if self._credentials.tls else None,
        )  # fmt: skip

    async def listen_ptdaemon(self, daemon: Ptdaemon, host: str, port: int) -> asyncio.Server:
        """The PTDaemon protocol has no credential: loopback only, ever."""
        check_listen(host, Credentials())
        self._loop = asyncio.get_running_loop()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                text = line.decode("ascii", errors="replace").strip()
                if not text:
                    continue
                # Setting a range restarts a meter, and RL waits for a sample: not in the loop of everybody.
                answer = await asyncio.to_thread(daemon.answer, text)
                writer.write("".join(f"{one}\r\n" for one in answer).encode("ascii", errors="replace"))
                await asyncio.wait_for(writer.drain(), _TAKE_S)

        return await asyncio.start_server(lambda r, w: self._guarded(talk(r, w), w), host, port, limit=LONGEST_LINE)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._guarded(self._talk(reader, writer), writer)

    async def _guarded(self, talk: Coroutine[None, None, None], writer: asyncio.StreamWriter) -> None:
        """No client ends another's conversation, or the server, whatever it does."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        peer = _peer(writer)
        try:
            await talk
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self._say(f"{peer}: {type(error).__name__}: {error}")
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(Exception):
                writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self._hub, self._credentials.token)
        peer = _peer(writer)
        await self._send(writer, [session.greet()])
        first = await asyncio.wait_for(reader.readline(), _HELLO_S)
        if not first.endswith(b"\n"):
            return
        await self._send(writer, session.hear(first))
        if session.ended:
            self._say(f"{peer}: turned away: {session.why}")
            return
        news = asyncio.Event()
        self._waiting.add(news)
        saying = asyncio.create_task(self._pump(session, writer, news))
        try:
            while not session.ended and (line := await reader.readline()).endswith(b"\n"):
                await self._send(writer, session.hear(line))
                news.set()
                if saying.done():
                    break
        finally:
            self._waiting.discard(news)
            saying.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError, TimeoutError):
                await saying

    async def _pump(self, session: Session, writer: asyncio.StreamWriter, news: asyncio.Event) -> None:
        """Say what is new, and after a silence that the server is there."""
        try:
            while not session.ended:
                news.clear()
                if said := session.pump():
                    await self._send(writer, said)
                    continue
                try:
                    await asyncio.wait_for(news.wait(), BEAT_S)
                except TimeoutError:
                    await self._send(writer, [session.beat()])
        finally:
            writer.close()  # a client that takes nothing more is not listened to either

    @staticmethod
    async def _send(writer: asyncio.StreamWriter, lines: list[bytes]) -> None:
        if lines:
            writer.writelines(lines)
            await asyncio.wait_for(writer.drain(), _TAKE_S)

    def _odd(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A handshake that failed, a line that broke: said in one line, never a traceback."""
        self._say(f"{context.get('message', 'a connection failed')}: {context.get('exception', '')}")

    async def hang_up(self) -> None:
        """End every conversation."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
