"""What a program asks of Berth."""

import time
import uuid
from dataclasses import dataclass

from berth.conductor.v1 import conductor_pb2 as conductor
from berth.scheduler.v1 import scheduler_pb2 as scheduler

from .connection import Connection
from .errors import BerthError, NotSettled, Refused

BUILT = ("ACTIVE", "ERROR")
UNDONE = ("ERROR", "DELETED")
POLL_S = 3


@dataclass(frozen=True)
class Build:
    """A request that the broker has: each of its instances will end ACTIVE or in ERROR."""

    request_id: str
    instance_uuids: list


class Client:
    """A program's hold on Berth. Requests are idempotent and are sent again while the broker or Berth is away.

    url        amqp://project.demo:password@broker:5672/berth, as `berth project credentials` prints it
    timeout    seconds that a call waits for its answer
    retry_for  seconds for which a request is sent again
    """

    def __init__(self, url, timeout=10, retry_for=30):
        self._connection = Connection(url, timeout, retry_for)
        user = self._connection.user
        self.project = user.removeprefix("project.") if self._connection.is_tenant else None

    def build(self, resources, project_id=None, user_id="python", count=1, name="instance", request_id=None, min_count=0, **spec):
        """Asks for instances; returns a Build when the broker has the request. `spec`: other fields of RequestSpec.

        min_count  makes them a gang: so many of count become ACTIVE, or none stays (ERROR, gang_failed)
        """
        build = Build(request_id or str(uuid.uuid4()), [str(uuid.uuid4()) for _ in range(count)])
        request = conductor.BuildRequest(
            request_id=build.request_id,
            request_spec=scheduler.RequestSpec(
                project_id=project_id or self.project or "default", user_id=user_id, resources=resources, **spec
            ),
            count=count,
            name=name,
            instance_uuids=build.instance_uuids,
            published_at_ms=time.time_ns() // 1_000_000,
            min_count=min_count,
        )
        self._publish(request, build.request_id)
        return build

    def build_and_wait(self, resources, timeout=None, **options):
        """Asks for instances and waits until each is ACTIVE or in ERROR; returns their events, in order."""
        self._listen()
        build = self.build(resources, **options)
        events = self._until(build.instance_uuids, BUILT, timeout, build.request_id)
        if sum(_state(event) == "ACTIVE" for event in events) >= options.get("min_count", 0):
            return events
        # A gang that has failed: those that were ACTIVE will not stay so.
        return [event if _state(event) == "ERROR" else self.wait(event.instance_uuid, UNDONE, timeout) for event in events]

    def wait(self, instance_uuid, states=BUILT, timeout=None):
        """Waits until an instance is in one of these states, as it may be already; returns an event or an Instance."""
        self._listen()
        return self._until([instance_uuid], states, timeout)[0]

    def terminate(self, instance_uuid, wait=False, timeout=None):
        """Asks for the end of an instance; with `wait`, returns when it is gone."""
        self._listen()
        request = conductor.TerminateInstance(instance_uuid=instance_uuid, project_id=self.project or "")
        message_id = str(uuid.uuid4())
        self._publish(request, message_id)
        if wait:
            self._until([instance_uuid], ("DELETED",), timeout, message_id)

    def instances(self, **query):
        """All instances that match the fields of ListInstancesRequest, ordered by UUID."""
        marker = ""
        while True:
            request = conductor.ListInstancesRequest(marker=marker, limit=500, **query)
            page = self._connection.call("rpc.conductor", request, conductor.ListInstancesResponse).instances
            yield from page
            if len(page) < 500:
                return
            marker = page[-1].uuid

    def events(self, state="*", instance_uuid="*", timeout=None):
        """What happens to instances from now on, each version once; ends when nothing came for `timeout` seconds."""
        self._connection.listen(self._topic(state.lower(), instance_uuid))
        seen = {}
        while (message := self._connection.heard(timeout)) is not None:
            event = _event(message)
            if event is None:
                continue
            key = (event.instance_uuid, event.request_id)
            if seen.get(key, 0) < event.version:
                seen[key] = event.version
                yield event

    def close(self):
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _publish(self, request, message_id):
        body, type_name = request.SerializeToString(), request.DESCRIPTOR.full_name
        properties = {"message_id": message_id, "delivery_mode": 2}
        self._connection.persistently(
            lambda: self._connection.publish("build.requests", type_name, body, **properties)
        )

    def _listen(self):
        refused = f"request.refused.{_word(self.project)}" if self.project else "request.refused.*"
        self._connection.listen(self._topic("*", "*"), refused)

    def _topic(self, state, instance_uuid):
        return f"instance.{state}.{_word(self.project) if self.project else '*'}.{instance_uuid}"

    def _until(self, uuids, states, timeout, request_id=None):
        """Waits for events; `request_id` is what a refusal would name."""
        until = time.monotonic() + (timeout if timeout is not None else float("inf"))
        found = {}
        read_at = time.monotonic() if request_id is None else time.monotonic() + POLL_S
        while len(found) < len(uuids):
            left = until - time.monotonic()
            if left <= 0:
                raise NotSettled(next(one for one in uuids if one not in found), timeout)
            if time.monotonic() >= read_at:
                # Events that were published while the connection was broken are missed.
                self._read(uuids, states, found, must_exist=request_id is None)
                read_at = time.monotonic() + POLL_S
                continue
            message = self._connection.heard(min(left, read_at - time.monotonic()))
            if message is None:
                continue
            _raise_if_refused(message, request_id)
            event = _event(message)
            if event is not None and event.instance_uuid in uuids and _state(event) in states:
                found[event.instance_uuid] = event
        return [found[one] for one in uuids]

    def _read(self, uuids, states, found, must_exist):
        for one in uuids:
            there = list(self.instances(instance_uuid=one)) if one not in found else []
            if must_exist and not there and one not in found:
                raise BerthError("NOT_FOUND", "no_such_instance", f"there is no instance {one}")
            for instance in there:
                if _state(instance) in states:
                    found[one] = instance


def _event(message):
    properties, body = message
    is_event = properties.type == "berth.conductor.v1.InstanceEvent"
    return conductor.InstanceEvent.FromString(body) if is_event else None


def _raise_if_refused(message, request_id):
    properties, body = message
    if request_id is not None and properties.type == "berth.conductor.v1.BuildRefused":
        refused = conductor.BuildRefused.FromString(body)
        if refused.request_id == request_id:
            raise Refused.of(refused.error)


def _state(instance):
    return conductor.InstanceState.Name(instance.state).removeprefix("INSTANCE_STATE_")


def _word(project):
    """A project as one word of a routing key."""
    return "%2D" if project == "-" else project.replace("%", "%25").replace(".", "%2E")
