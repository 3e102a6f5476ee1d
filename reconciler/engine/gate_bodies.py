"""Reads the body of a request at a gate: of a given length, or in chunks, as Go sends what it reads from a stream.

What is too long or broken off is None: a call is judged by the whole of its body or not at all.
"""

from __future__ import annotations

from email.message import Message
from typing import Final, Protocol

# User data is the longest body that any call has: 128 KiB.
_LIMIT: Final = 1 << 20
_LINE: Final = 64


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


def read_body(stream: _Stream, headers: Message) -> bytes | None:
    """The body of a request, of a given length or in chunks; None when it is too long or not what it says."""
    coding = headers.get("Transfer-Encoding", "").lower()
    if coding:
        return _read_chunks(stream) if coding == "chunked" else None
    length = headers.get("Content-Length", "0")
    if not length.isdecimal() or int(length) > _LIMIT:
        return None
    body = stream.read(int(length))
    return body if len(body) == int(length) else None


def _read_chunks(stream: _Stream) -> bytes | None:
    body = bytearray()
    while True:
        try:
            size = int(stream.readline(_LINE).partition(b";")[0].strip(), 16)
        except ValueError:
            return None
        if size < 0 or len(body) + size > _LIMIT:
            return None
        chunk = stream.read(size)
        if len(chunk) < size or stream.readline(_LINE) != b"\r\n":  # a trailer too is more than we read
            return None
        if not size:
            return bytes(body)
        body += chunk
