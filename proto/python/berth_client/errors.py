"""What goes wrong, with the codes of the wire contract (../../README.md, "Errors")."""

from berth.common.v1 import error_pb2

RETRYABLE = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED")


class BerthError(Exception):
    """`code` says what to do, `reason` is a stable symbol."""

    def __init__(self, code, reason, message):
        super().__init__(f"{message} ({code}/{reason})")
        self.code = code
        self.reason = reason

    @classmethod
    def of(cls, error):
        """From a berth.common.v1.Error."""
        code = error_pb2.Code.Name(error.code).removeprefix("CODE_")
        return cls(code, error.reason, error.message)

    @property
    def retryable(self):
        return self.code in RETRYABLE


class Refused(BerthError):
    """The request was refused, and nothing was stored."""


class NotSettled(BerthError):
    """An instance did not come to rest in time; it is still under way."""

    def __init__(self, uuid, seconds):
        super().__init__("DEADLINE_EXCEEDED", "not_settled", f"instance {uuid} did not come to rest within {seconds} s")
