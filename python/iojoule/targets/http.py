"""An HTTP target as the experiment file writes it: a URL that is there already, or a server started by us."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from iojoule.quantities import Seconds

ServerName = Literal["nginx", "apache2", "builtin"]


class HttpTarget(BaseModel):
    """A web server: either any `url`, or one of ours, over a content directory on a loopback port."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="Name in tables, pictures and folders.")
    kind: Literal["http"] = "http"
    url: str | None = Field(None, description="A server that runs already, for example http://10.0.0.7:8080/.")
    server: ServerName | None = Field(None, description="A server that iojoule starts and stops.")
    content: Path | None = Field(None, description="Directory to serve; made from the workload if left out.")
    port: int | None = Field(None, ge=1, le=65535, description="Loopback port; a free one if left out.")
    workers: int = Field(1, ge=1, le=1024, description="Processes (nginx, apache2) or threads (builtin).")
    max_connections: int = Field(1024, ge=1, le=1_000_000, description="Open connections the server accepts in all.")
    keepalive_timeout: Seconds = Field(75.0, description="How long an idle connection is kept; 0s closes at once.")
    tls: bool = Field(False, description="HTTPS with a self-signed certificate made for the run.")
    directives: str = Field("", description="More lines for the server's own configuration file.")

    @field_validator("url")
    @classmethod
    def _url_names_a_server(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not a web address; write for example http://127.0.0.1:8080/")
        if parts.query or parts.fragment:
            raise ValueError(f"{url!r} names one page; the address of a target ends with its path")
        _ = parts.port  # raises ValueError for a port that cannot be
        return url if url.endswith("/") else url + "/"

    @model_validator(mode="after")
    def _one_of_url_and_server(self) -> HttpTarget:
        if (self.url is None) == (self.server is None):
            raise ValueError("give exactly one of 'url' (a server that runs already) and 'server' (one that we start)")
        if self.url is not None:
            ours = {"content", "port", "workers", "max_connections", "keepalive_timeout", "tls", "directives"}
            if settled := sorted(ours & self.model_fields_set):
                raise ValueError(f"'{settled[0]}' belongs to a server that we start; with 'url' the server has its own")
        if self.server == "builtin":
            fixed = {"max_connections", "keepalive_timeout"} & self.model_fields_set
            if fixed:
                raise ValueError(f"'{min(fixed)}' of the builtin server is fixed; use nginx or apache2 to set it")
            if self.tls:
                raise ValueError("the builtin server speaks no TLS; use nginx or apache2 with 'tls = true'")
            if self.directives:
                raise ValueError("the builtin server has no configuration file that 'directives' could go into")
        return self
