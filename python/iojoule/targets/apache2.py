"""Apache as a target: the event MPM over static files with sendfile, no access log, its own files in the run's folder.

Apache refuses to serve as root (`BIG_SECURITY_HOLE` is a compile-time choice), so under root its workers are
`www-data`. They often may not enter the folders above the content; then the content directory is handed to them as
an open descriptor and served through `/proc/self/fd`, which is said aloud, for it costs a look-up per request.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from iojoule.errors import HostError
from iojoule.targets.server import MIME_TYPES, Job, Launch, file_limit, find_binary, quoted, version_line

MODULES = Path("/usr/lib/apache2/modules")
WORKER_USER = "www-data"
_MOST_THREADS = 1024


def launch(job: Job) -> Launch:
    """Write httpd.conf and say how to start Apache with it."""
    binary = find_binary("apache2", "apache2-bin")
    root, user, warnings, keep_open = _reachable_content(job.content)
    text = _config(job, root, user)
    warnings += file_limit(job.config.max_connections)[1]
    (job.folder / "mime.types").write_text("".join(f"{kind} {endings}\n" for kind, endings in MIME_TYPES.items()))
    conf = job.folder / "httpd.conf"
    conf.write_text(text)
    command = [binary, "-DFOREGROUND", "-d", str(job.folder), "-E", str(job.error_log), "-f", str(conf)]
    return Launch(command, version_line([binary, "-v"]), text, user or "", warnings, keep_open)


def _config(job: Job, root: Path, user: str | None) -> str:
    config = job.config
    # The event MPM holds ThreadsPerChild busy connections and AsyncRequestWorkerFactor quiet ones per idle thread. With
    # fewer threads than connections it closes kept-alive ones under load, which a client sees as resets.
    each = -(-config.max_connections // config.workers)
    threads = min(each, _MOST_THREADS)
    factor = max(2, -(-each // threads))
    modules = ["mpm_event", "authz_core", "dir", "mime"] + (["socache_shmcb", "ssl"] if job.certificate else [])
    load = "\n".join(
        f"LoadModule {name}_module {quoted(MODULES / f'mod_{name}.so')}"
        for name in modules
        if (MODULES / f"mod_{name}.so").exists()  # the others are compiled in
    )
    idle_ms = round(config.keepalive_timeout * 1000)
    keep_alive = f"On\nKeepAliveTimeout {idle_ms}ms" if idle_ms else "Off"
    tls = ""
    if job.certificate:
        tls = (
            "SSLEngine on\n"
            f"SSLCertificateFile {quoted(job.certificate.chain)}\n"
            f"SSLCertificateKeyFile {quoted(job.certificate.key)}\n"
            "SSLSessionCache shmcb:ssl_cache(512000)\n"
        )
    return f"""\
{load}
ServerName localhost
Listen {job.address}
ListenBacklog 4096
{f"User {user}{chr(10)}Group {_group_of(user)}" if user else "# workers run as the user who starts Apache"}
PidFile {quoted(job.folder / "httpd.pid")}
DefaultRuntimeDir {quoted(job.folder)}
ErrorLog {quoted(job.error_log)}
LogLevel warn
StartServers {config.workers}
ServerLimit {config.workers}
ThreadLimit {threads}
ThreadsPerChild {threads}
MaxRequestWorkers {threads * config.workers}
MinSpareThreads 1
MaxSpareThreads {threads * config.workers}
AsyncRequestWorkerFactor {factor}
MaxConnectionsPerChild 0
KeepAlive {keep_alive}
MaxKeepAliveRequests 0
Timeout 60
EnableSendfile On
HostnameLookups Off
ServerTokens Full
TypesConfig {quoted(job.folder / "mime.types")}
DirectoryIndex index.html
DocumentRoot {quoted(root)}
<Directory "/">
    AllowOverride None
    Options FollowSymLinks
    Require all granted
</Directory>
{tls}{config.directives.rstrip() + chr(10) if config.directives.strip() else ""}"""


def _reachable_content(content: Path) -> tuple[Path, str | None, list[str], list[int]]:
    """Document root, worker user, warnings and descriptors to keep open, so that the workers can read the content."""
    if os.geteuid() != 0:
        return content, None, [], []
    try:
        account = pwd.getpwnam(WORKER_USER)
    except KeyError:
        raise HostError(
            f"Apache does not serve as root and there is no user {WORKER_USER}",
            missing=WORKER_USER,
            remedy=f"adduser --system --group --no-create-home {WORKER_USER}",
        ) from None
    if not _may(account, content, stat.S_IROTH | stat.S_IXOTH):
        raise HostError(
            f"Apache's workers run as {WORKER_USER} and may not read the content directory {content}",
            missing=f"read permission on {content}",
            remedy=f"chmod -R o+rX {content}",
        )
    closed = [folder for folder in content.parents if not _may(account, folder, stat.S_IXOTH)]
    if not closed:
        return content, WORKER_USER, [], []
    descriptor = os.open(content, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    warning = (
        f"{WORKER_USER} may not enter {closed[-1]}; Apache serves the content through an open descriptor, "
        f"at the cost of one more look-up per request (put the content elsewhere to avoid it)"
    )
    return Path(f"/proc/self/fd/{descriptor}"), WORKER_USER, [warning], [descriptor]


def _may(account: pwd.struct_passwd, path: Path, wanted: int) -> bool:
    """Whether the permission bits of owner, group or others, whichever counts, hold the `wanted` bits of others."""
    found = path.stat()
    if found.st_uid == account.pw_uid:
        wanted <<= 6
    elif found.st_gid in os.getgrouplist(account.pw_name, account.pw_gid):
        wanted <<= 3
    return found.st_mode & wanted == wanted


def _group_of(user: str) -> str:
    import grp

    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name
