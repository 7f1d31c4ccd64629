"""A client of Berth for Python: asks for builds, waits for them, lists, moves, terminates, and listens. See ../README.md."""

from .client import OPERATED, STATES, Build, Client, Seen
from .errors import BerthError, NotSettled, Refused

__all__ = ["BerthError", "Build", "Client", "NotSettled", "OPERATED", "Refused", "STATES", "Seen"]
