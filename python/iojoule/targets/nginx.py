"""nginx as a target: static files with sendfile, no access log, its own files in the run's folder.

What differs from nginx's defaults is written down here and in the manual: keep-alive connections are not closed after
1000 requests, and logging is off, for both would measure something else than serving.
"""

from __future__ import annotations

import os
from textwrap import indent

from iojoule.targets.server import MIME_TYPES, Job, Launch, file_limit, find_binary, quoted, version_line


def launch(job: Job) -> Launch:
    """Write nginx.conf and say how to start nginx with it."""
    binary = find_binary("nginx", "nginx-light")
    text, warnings = _config(job)
    conf = job.folder / "nginx.conf"
    conf.write_text(text)
    command = [binary, "-p", str(job.folder), "-e", str(job.error_log), "-c", str(conf)]
    # Workers run as whoever started nginx: the content was made by that user and is readable to it.
    return Launch(command, version_line([binary, "-v"]), text, user="root" if _root() else "", warnings=warnings)


def _config(job: Job) -> tuple[str, list[str]]:
    config = job.config
    each = -(-config.max_connections // config.workers)
    files, warnings = file_limit(each)
    temporary = "\n".join(
        f"    {kind}_temp_path {quoted(job.folder / 'temp')};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    types = "\n".join(f"        {kind} {endings};" for kind, endings in MIME_TYPES.items())
    listen = f"listen {job.address} backlog=4096" + (" ssl;" if job.certificate else ";")
    tls = ""
    if job.certificate:
        tls = (
            f"\n        ssl_certificate {quoted(job.certificate.chain)};"
            f"\n        ssl_certificate_key {quoted(job.certificate.key)};"
        )
    more = indent(config.directives.rstrip() + "\n", " " * 8) if config.directives.strip() else ""
    text = f"""\
{"user root;" if _root() else "# workers run as the user who starts nginx"}
daemon off;
worker_processes {config.workers};
worker_rlimit_nofile {files};
pid {quoted(job.folder / "nginx.pid")};
error_log {quoted(job.error_log)} warn;
events {{
    worker_connections {each + 16};
}}
http {{
    access_log off;
    server_tokens on;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout {round(config.keepalive_timeout * 1000)}ms;
    keepalive_requests 1000000000;
    reset_timedout_connection on;
    types {{
{types}
    }}
    default_type application/octet-stream;
{temporary}
    server {{
        {listen}{tls}
        root {quoted(job.content)};
        index index.html;
{more}    }}
}}
"""
    return text, warnings


def _root() -> bool:
    return os.geteuid() == 0
