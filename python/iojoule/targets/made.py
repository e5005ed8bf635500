"""Files that are made to be measured: filled before they have a name, kept for the campaign, removed at its end.

A file gets its name only when it is full (O_TMPFILE, open(2)): a process that is killed while it fills leaves nothing.
It is written down in the journal of the campaign before it gets its name, so that after a kill it can be removed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from iojoule.errors import HostError
from iojoule.host.identity import identity_of, is_still
from iojoule.host.journal import NAME, Journal, unrestored
from iojoule.host.restore import MARKER, Outcome, undo
from iojoule.targets.base import Opening
from iojoule.targets.keys import Fill
from iojoule.targets.storage import purge_marker

_PIECE = 4 << 20
_TELL_EVERY = 64 << 20
_MADE = ("made", "kept", "folder")
Note = Callable[[str], None]


@contextmanager
def workshop(opening: Opening) -> Iterator[Path]:
    """The folder for what is made. Where no campaign shares it, what was made is removed when the block is left."""
    folder = opening.shared or opening.folder
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        if opening.shared is None:
            remove_made(folder)


def made_file(path: Path, size: int, fill: Fill, folder: Path, note: Note, *, keep: bool = False) -> None:
    """Make ``path``, of ``size`` bytes. HostError where there is no room; nothing is left behind then."""
    _require_room(path.parent, size, fill)
    file = _Unnamed(path)
    with closing(file), Journal(folder / NAME) as journal:
        fill_file(file.descriptor, size, fill, lambda text: note(f"making {path.name}: {text}"))
        os.fsync(file.descriptor)
        facts = identity_of(file.descriptor)
        journal.begin("kept" if keep else "made", path=str(path.absolute()), **facts)
        file.name_it()
    # Made anew in a campaign that goes on: what was purged is not there any more.
    purge_marker(folder, path.resolve()).unlink(missing_ok=True)


def made_folder(path: Path, count: int, size: int, fill: Fill, folder: Path, note: Note) -> list[Path]:
    """Fill the directory ``path`` with ``count`` files of ``size`` bytes, once; returns the files.

    The directory is written down before the first file; its marker is written when all are there.
    """
    files = [path.absolute() / f"iojoule-{number:06d}.dat" for number in range(count)]
    marker, label = path / MARKER, f"{count} files, {size} bytes, {fill}\n"
    if marker.is_file() and marker.read_text() == label:
        return [file.resolve() for file in files]
    made = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    _require_room(path, count * size, fill)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with Journal(folder / NAME) as journal:
        try:
            journal.begin("folder", path=str(path.absolute()), **identity_of(descriptor), made=made)
        finally:
            os.close(descriptor)
    for number, file in enumerate(files):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fill_file(descriptor, size, fill, lambda text: None)
        finally:
            os.close(descriptor)
        note(f"making {path.name}: {number + 1:,} of {count:,} files")
    os.sync()  # once for all: small files would wait for the disk one by one
    marker.write_text(label)
    purge_marker(folder, files[0].resolve()).unlink(missing_ok=True)
    return [file.resolve() for file in files]


def is_ours(path: Path, folder: Path) -> bool:
    """Whether ``path`` is a file that this campaign made."""
    journal = folder / NAME
    if not journal.exists():
        return False
    return any(is_still(path, change.facts) for change in unrestored(journal) if change.kind in _MADE)


def remove_made(folder: Path) -> list[Outcome]:
    """Remove what was made for a campaign and is not to be kept."""
    journal = folder / NAME
    changes = unrestored(journal) if journal.exists() else []
    return [undo(change) for change in reversed(changes) if change.kind != "kept"]


def fill_file(descriptor: int, size: int, fill: Fill, note: Note) -> None:
    """Give the file its size and its data. ``random`` neither compresses nor repeats; ``sparse`` writes nothing."""
    if fill == "sparse":
        os.ftruncate(descriptor, size)
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
    piece = _pieces(fill)
    for start in range(0, size, _PIECE):
        if start % _TELL_EVERY == 0:
            note(f"{start / size:.0%} of {size / 1e9:.3g} GB")
        write_all(descriptor, piece()[: size - start], start)


def write_all(descriptor: int, data: memoryview, offset: int) -> None:
    """Write all of ``data`` at ``offset``, however little the kernel takes at once."""
    while data:
        written = os.pwrite(descriptor, data, offset)
        offset, data = offset + written, data[written:]


def _pieces(fill: Fill) -> Callable[[], memoryview]:
    if fill == "zero":
        zeros = memoryview(bytes(_PIECE))
        return lambda: zeros
    import numpy

    generator = numpy.random.Generator(numpy.random.SFC64())
    return lambda: memoryview(generator.bytes(_PIECE))


def _require_room(folder: Path, size: int, fill: Fill) -> None:
    if not folder.is_dir():
        raise HostError(f"there is no folder {folder}", missing=str(folder), remedy=f"mkdir -p {folder}")
    room = os.statvfs(folder)
    if fill != "sparse" and size > (free := room.f_bavail * room.f_frsize):
        raise HostError(
            f"a file of {size / 1e9:.2f} GB does not fit into {folder}, where {free / 1e9:.2f} GB are free",
            missing="space",
            remedy="give a smaller size, or a path on another file system",
        )


class _Unnamed:
    """A file without a name yet; where the file system knows no such thing, a name that starts with a dot."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.interim: Path | None = None
        try:
            self.descriptor = os.open(path.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                raise HostError(f"cannot make a file in {path.parent}: {error.strerror}") from error
            self.interim = path.with_name(f".{path.name}.iojoule")
            self.interim.unlink(missing_ok=True)
            self.descriptor = os.open(self.interim, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def name_it(self) -> None:
        """Fails where the name is taken: nothing is overwritten."""
        if self.interim is not None:
            os.link(self.interim, self.path)
            return
        # Python asks for linkat(2), which alone follows this link, only where it is given a folder.
        descriptors = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(str(self.descriptor), self.path, src_dir_fd=descriptors, follow_symlinks=True)
        finally:
            os.close(descriptors)

    def close(self) -> None:
        os.close(self.descriptor)
        if self.interim is not None:
            self.interim.unlink(missing_ok=True)
