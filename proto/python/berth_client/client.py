"""What a program asks of Berth."""

import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass

from berth.conductor.v1 import conductor_pb2 as conductor
from berth.scheduler.v1 import scheduler_pb2 as scheduler

from .connection import Connection
from .errors import BerthError, NotSettled, Refused

# The names of all states.
STATES = tuple(name.removeprefix("INSTANCE_STATE_") for name in conductor.InstanceState.keys()[1:])
BUILT = ("ACTIVE", "ERROR")
UNDONE = ("ERROR", "DELETED")
# The states in which an operation has ended. A start or a move that failed ends where it began.
OPERATED = {
    "stop": ("STOPPED", "ERROR", "DELETED"),
    "start": ("ACTIVE", "STOPPED", "ERROR", "DELETED"),
    "evacuate": ("ACTIVE", "STOPPED", "UNKNOWN", "ERROR", "DELETED"),
    "shelve": ("SHELVED_OFFLOADED", "ERROR", "DELETED"),
    "unshelve": ("ACTIVE", "SHELVED_OFFLOADED", "ERROR", "DELETED"),
    "resize": ("VERIFY_RESIZE", "ACTIVE", "STOPPED", "ERROR", "DELETED"),
    "migrate": ("VERIFY_RESIZE", "ACTIVE", "STOPPED", "ERROR", "DELETED"),
    "live_migrate": ("ACTIVE", "STOPPED", "ERROR", "DELETED"),
    "confirm": ("ACTIVE", "STOPPED", "ERROR", "DELETED"),
    "revert": ("ACTIVE", "STOPPED", "ERROR", "DELETED"),
}
POLL_S = 3
FOREVER = float("inf")
# Instances that are read at once when they are long waited for.
POLL_LIMIT = 64
PAGE = 500
# Instances whose last version `events` remembers.
MAX_REMEMBERED = 100_000


@dataclass(frozen=True)
class Build:
    """A request that the broker has: each of its instances will end ACTIVE or in ERROR."""

    request_id: str
    instance_uuids: list


class Seen:
    """An instance, or an event of one, with the fields of its schema; its state is a name, such as ACTIVE."""

    def __init__(self, message):
        self.message = message

    @property
    def state(self):
        return conductor.InstanceState.Name(self.message.state).removeprefix("INSTANCE_STATE_")

    def __getattr__(self, field):
        if field == "message":  # of a copy that is not made yet
            raise AttributeError(field)
        return getattr(self.message, field)

    def __repr__(self):
        return f"<{type(self.message).__name__} {self.state}: {self.message}>"


class Client:
    """A program's hold on Berth. Requests are idempotent and are sent again while the broker or Berth is away.

    url        amqp://project.demo:password@broker:5672/berth, as `berth project credentials` prints it
    timeout    seconds that a call waits for its answer
    retry_for  seconds for which a request is sent again; 0 for once only
    """

    def __init__(self, url, timeout=10, retry_for=30):
        self._connection = Connection(url, timeout, retry_for)
        self._retry_for = retry_for
        # Requests of `build`, with the time until which a conductor may not have them yet. Oldest first.
        self._asked = {}
        user = self._connection.user
        self.project = user.removeprefix("project.") if self._connection.is_tenant else None

    def build(
        self,
        resources=None,
        project_id=None,
        user_id="python",
        count=1,
        name="instance",
        request_id=None,
        min_count=0,
        on_loss="",
        admission=None,
        instance_uuids=None,
        published_at_ms=None,
        **spec,
    ):
        """Asks for instances; returns a Build when the broker has the request. `spec`: other fields of RequestSpec, such as
        flavor={"name": "m1.small"} instead of resources.

        min_count        makes them a gang: so many of count become ACTIVE, or none stays (ERROR, gang_failed)
        on_loss          of a gang: "restore" or "end" when members that were ACTIVE are lost
        admission        fields of Admission: how they wait for capacity, whom they give way to, how long they live
        request_id       makes a request that is sent again recognisable, with when it was asked for first (published_at_ms)
        instance_uuids   as many as the count; new ones when not given
        """
        uuids = list(instance_uuids) if instance_uuids else [str(uuid.uuid4()) for _ in range(count)]
        build = Build(request_id or str(uuid.uuid4()), uuids)
        request = _message(
            conductor.BuildRequest,
            request_id=build.request_id,
            request_spec=_message(
                scheduler.RequestSpec,
                project_id=project_id or self.project or "default",
                user_id=user_id,
                resources=resources or {},
                **spec,
            ),
            count=count,
            name=name,
            instance_uuids=build.instance_uuids,
            published_at_ms=published_at_ms or time.time_ns() // 1_000_000,
            min_count=min_count,
            on_loss=f"ON_LOSS_{on_loss.upper()}" if on_loss else None,
            admission=None if admission is None else _message(conductor.Admission, **admission),
        )
        self._publish(request, build.request_id)
        self._note_asked(build)
        return build

    def build_and_wait(self, resources=None, timeout=None, **options):
        """Asks for instances and waits until each is ACTIVE or in ERROR; returns their events, in order."""
        until = _until(timeout)
        with self._listening() as listener:
            build = self.build(resources, **options)
            events = self._settled(listener, build.instance_uuids, BUILT, until, timeout, build.request_id, there_by=FOREVER)
        if sum(event.state == "ACTIVE" for event in events) >= options.get("min_count", 0):
            return events
        # A gang that has failed: those that were ACTIVE will not stay so.
        return [
            event if event.state == "ERROR" else self.wait(event.instance_uuid, UNDONE, _left(until)) for event in events
        ]

    def wait(self, instance_uuid, states=BUILT, timeout=None):
        """Waits until an instance is in one of these states, as it may be already; returns the event, or what it would say. One
        that this client has asked for by `build` may come as late as a request is sent again (retry_for).
        """
        return self._wait(instance_uuid, [state.upper() for state in states], timeout)

    def operate(self, instance_uuid, operation, resize_to=None, target_host="", confirm_after=0):
        """Stops an instance, which keeps its host and what it holds there, or starts it again; shelves it, which gives that
        up, or unshelves it; resizes it, or, for operators, migrates it (migrate, live_migrate) or evacuates it from a dead
        host; confirms or reverts a resize or a migration. Returns the Instance as it is on record then; it is done in a state
        of OPERATED[operation].

        resize_to      of a resize: fields of RequestSpec, resources and extra_specs or a flavor
        target_host    of a migration; any when not given
        confirm_after  seconds after which a resize or a migration confirms itself; 0: as Berth is configured

        Raises Refused: no_such_instance, instance_state, instance_changed, host_alive, services_only and others.
        """
        if operation not in OPERATED:
            message = f"there is no operation '{operation}': {', '.join(OPERATED)}"
            raise BerthError("INVALID_ARGUMENT", "unknown_operation", message)
        seen = self.instance(instance_uuid)
        to = None
        if resize_to is not None:
            to = _message(scheduler.RequestSpec, project_id=seen.project_id, user_id=seen.user_id, **resize_to)
        request = _message(
            conductor.OperateInstanceRequest,
            instance_uuid=instance_uuid,
            operation=f"INSTANCE_OPERATION_{operation.upper()}",
            # The version seen now, so that a late copy of the call changes nothing.
            version=seen.version,
            resize_to=to,
            target_host=target_host,
            confirm_after_ms=round(confirm_after * 1000),
        )
        return Seen(self.call("rpc.conductor", request, conductor.OperateInstanceResponse).instance)

    def operate_and_wait(self, instance_uuid, operation, timeout=None, **options):
        """Likewise, and waits until it is done; returns the event, or what it would say."""
        until = _until(timeout)
        version = self.operate(instance_uuid, operation, **options).version
        # Events of what was before may still be on their way.
        return self._wait(instance_uuid, OPERATED[operation], _left(until), version)

    def terminate(self, instance_uuid, wait=False, timeout=None):
        """Asks for the end of an instance; with `wait`, returns when it is gone."""
        request = conductor.TerminateInstance(instance_uuid=instance_uuid, project_id=self.project or "")
        message_id = str(uuid.uuid4())
        if not wait:
            self._publish(request, message_id)
            return
        until = _until(timeout)
        with self._listening() as listener:
            self._publish(request, message_id)
            self._settled(listener, [instance_uuid], ("DELETED",), until, timeout, message_id, there_by=FOREVER)

    def instance(self, instance_uuid):
        """One instance. Raises BerthError no_such_instance."""
        for found in self.instances(most=1, instance_uuid=instance_uuid):
            return found
        raise _no_such_instance(instance_uuid)

    def instances(self, most=None, **query):
        """All instances, or at most so many, that match the fields of ListInstancesRequest, ordered by UUID; state="ACTIVE"."""
        if isinstance(query.get("state"), str):
            query["state"] = f"INSTANCE_STATE_{query['state'].removeprefix('INSTANCE_STATE_').upper()}"
        marker, left = "", float("inf") if most is None else most
        while left > 0:
            limit = min(PAGE, left)
            request = conductor.ListInstancesRequest(marker=marker, limit=limit, **query)
            page = self.call("rpc.conductor", request, conductor.ListInstancesResponse).instances
            yield from map(Seen, page)
            left -= len(page)
            if len(page) < limit:
                return
            marker = page[-1].uuid

    def events(self, state="*", instance_uuid="*", project_id=None, timeout=None):
        """What happens to instances from now on, each version once and in order; ends when nothing came for `timeout` seconds.

        project_id  for operators; a tenant hears of its own project's
        """
        listener = self._connection.listen(self._topic(state.lower(), instance_uuid, project_id))
        return self._newer(listener, timeout)

    def call(self, queue, request, answer_type):
        """Asks for anything else that the schemas have: call("rpc.scheduler", scheduler.ExplainRequest(...), ExplainResponse)."""
        return self._connection.call(queue, request, answer_type)

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

    def _newer(self, listener, timeout):
        seen = OrderedDict()
        with listener:
            while (message := listener.next(_until(timeout))) is not None:
                event = _event(message)
                if event is None:
                    continue
                # An instance that was adopted, because the store was lost, has another request and begins anew.
                key = (event.instance_uuid, event.request_id)
                if seen.get(key, 0) >= event.version:
                    continue
                seen[key] = event.version
                seen.move_to_end(key)
                if len(seen) > MAX_REMEMBERED:
                    seen.popitem(last=False)
                yield event

    def _listening(self):
        refused = f"request.refused.{_word(self.project)}" if self.project else "request.refused.*"
        return self._connection.listen(self._topic("*", "*"), refused)

    def _topic(self, state, instance_uuid, project_id=None):
        project = project_id or self.project
        return f"instance.{state}.{_word(project) if project else '*'}.{instance_uuid}"

    def _wait(self, instance_uuid, states, timeout, version=0):
        with self._listening() as listener:
            request_id, there_by = self._asked.get(instance_uuid, (None, 0))
            return self._settled(listener, [instance_uuid], states, _until(timeout), timeout, request_id, version, there_by)[0]

    def _note_asked(self, build):
        now = time.monotonic()
        while self._asked and self._asked[first := next(iter(self._asked))][1] <= now:
            del self._asked[first]
        for one in build.instance_uuids:
            self._asked[one] = (build.request_id, now + self._retry_for)

    def _settled(self, listener, uuids, states, until, timeout, request_id=None, version=0, there_by=0):
        """Waits for events, of this version or later; `request_id` is what a refusal would name; who is not there yet may come until
        `there_by` (time.monotonic()), and is read a little later when that is for ever.
        """
        found = {}
        read_at = time.monotonic() + (POLL_S if there_by == FOREVER else 0)
        while len(found) < len(uuids):
            now = time.monotonic()
            if now >= until:
                raise NotSettled(next(one for one in uuids if one not in found), timeout)
            if now >= read_at:
                # Events that were published while the connection was broken are missed.
                waiting = [one for one in uuids if one not in found][:POLL_LIMIT]
                settled = self._read(waiting, states, version, must_exist=now >= there_by)
                found.update((instance.uuid, _event_of(instance)) for instance in settled)
                read_at = time.monotonic() + POLL_S
                continue
            message = listener.next(min(until, read_at))
            if message is None:
                continue
            _raise_if_refused(message, request_id)
            event = _event(message)
            if event is not None and event.instance_uuid in uuids and event.state in states and event.version >= version:
                found[event.instance_uuid] = event
        return [found[one] for one in uuids]

    def _read(self, uuids, states, version, must_exist):
        """Those that are in one of the states. Who does not answer is asked again later."""
        there = []
        for one in uuids:
            try:
                there.append(self.instance(one))
            except BerthError as error:
                if not error.retryable and (must_exist or error.code != "NOT_FOUND"):
                    raise
        return [instance for instance in there if instance.state in states and instance.version >= version]


def _message(kind, **fields):
    """A message; a number that its field can't hold is refused by the field's name."""
    try:
        return kind(**fields)
    except ValueError as error:
        for name, value in fields.items():
            try:
                kind(**{name: value})
            except ValueError:
                raise BerthError("INVALID_ARGUMENT", "bad_number", f"{name}: {error}") from error
        raise


def _until(timeout):
    return FOREVER if timeout is None else time.monotonic() + timeout


def _left(until):
    return None if until == FOREVER else max(0, until - time.monotonic())


def _no_such_instance(instance_uuid):
    return BerthError("NOT_FOUND", "no_such_instance", f"there is no instance {instance_uuid}")


def _event_of(instance):
    """An instance as it is, in the form of the event that brought it there."""
    event = conductor.InstanceEvent(instance_uuid=instance.uuid, at_ms=instance.updated_at_ms)
    for field, value in instance.message.ListFields():
        if field.name not in event.DESCRIPTOR.fields_by_name:
            continue
        if field.name == "attempts":
            event.attempts.extend(value)
        elif field.message_type is not None:
            getattr(event, field.name).CopyFrom(value)
        else:
            setattr(event, field.name, value)
    return Seen(event)


def _event(message):
    properties, body = message
    is_event = properties.type == "berth.conductor.v1.InstanceEvent"
    return Seen(conductor.InstanceEvent.FromString(body)) if is_event else None


def _raise_if_refused(message, request_id):
    properties, body = message
    if request_id is not None and properties.type == "berth.conductor.v1.BuildRefused":
        refused = conductor.BuildRefused.FromString(body)
        if refused.request_id == request_id:
            raise Refused.of(refused.error)


def _word(project):
    """A project as one word of a routing key."""
    return "%2D" if project == "-" else project.replace("%", "%25").replace(".", "%2E")
