"""A client of Berth for Python: asks for builds, waits for them, lists, terminates, and listens. See ../README.md."""

from .client import Build, Client
from .errors import BerthError, NotSettled, Refused

__all__ = ["BerthError", "Build", "Client", "NotSettled", "Refused"]
