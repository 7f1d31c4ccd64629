"""One connection to the broker with one private queue, for answers and events. Both are made anew when they break."""

import random
import time
import uuid
from collections import deque

import pika
from pika.exceptions import AMQPError, NackError, UnroutableError

from berth.common.v1 import error_pb2

from .errors import BerthError, Refused

# Between two tries: growing, and never the same for all who try.
FIRST_PAUSE_S = 0.05
MAX_PAUSE_S = 3
# For one look at the connection: no limit is none that pika takes.
LONGEST_WAIT_S = 60
# Messages that wait for who listens.
MAX_HEARD = 100_000


class Connection:
    """Not for several threads at once (pika's BlockingConnection is not)."""

    def __init__(self, url, timeout, retry_for):
        self.parameters = pika.URLParameters(url)
        self.user = self.parameters.credentials.username
        self.is_tenant = self.user.startswith("project.")
        self.timeout = timeout
        self.retry_for = retry_for
        self._topics = []
        self._listeners = []
        self._connection = None
        self._channel = None
        self._answers = {}
        self.persistently(self._open)

    def persistently(self, action, until=None):
        """Does it again, with growing pauses, while the broker or Berth is away: every request is idempotent.

        until  by time.monotonic(); from now on for `retry_for` when not given
        """
        until = time.monotonic() + self.retry_for if until is None else until
        pause = FIRST_PAUSE_S
        while True:
            try:
                if self._connection is None or self._connection.is_closed or self._channel.is_closed:
                    self._open()
                return action()
            except (AMQPError, OSError) as error:
                self._drop()
                if time.monotonic() >= until:
                    message = f"the broker at {self.parameters.host} is away: {error!r}"
                    raise BerthError("UNAVAILABLE", "broker_away", message) from error
            except BerthError as error:
                if not error.retryable or time.monotonic() >= until:
                    raise
            time.sleep(max(0, min(pause * random.uniform(0.5, 1), until - time.monotonic())))
            pause = min(2 * pause, MAX_PAUSE_S)

    def publish(self, queue, type_name, body, **properties):
        """Puts a message into a queue; returns when the broker has it."""
        exchange, key = ("berth.requests", f"{queue}.{self.user}") if self.is_tenant else ("", queue)
        properties = pika.BasicProperties(type=type_name, user_id=self.user, **properties)
        try:
            self._channel.basic_publish(exchange, key, body, properties, mandatory=True)
        except NackError as error:
            raise BerthError("RESOURCE_EXHAUSTED", "queue_full", f"queue '{queue}' is full") from error
        except UnroutableError as error:
            raise BerthError("UNAVAILABLE", "no_such_queue", f"nobody serves '{queue}' now") from error

    def call(self, queue, request, answer_type):
        """Asks whoever serves a queue and waits for the answer."""
        body = request.SerializeToString()
        call_id = str(uuid.uuid4())
        return self.persistently(lambda: self._call_once(queue, request, body, call_id, answer_type))

    def listen(self, *topics):
        """A Listener for what is published under these topics, from now on."""
        for topic in topics:
            if topic not in self._topics:
                self._topics.append(topic)
                self.persistently(lambda topic=topic: self._bind(topic))
        listener = Listener(self, topics)
        self._listeners.append(listener)
        return listener

    def leave(self, listener):
        if listener in self._listeners:
            self._listeners.remove(listener)

    def process(self, until):
        """Takes in what has come, or waits for more until then (time.monotonic()), through losses of the connection."""

        def once():
            self._connection.process_data_events(time_limit=max(0, min(LONGEST_WAIT_S, until - time.monotonic())))

        self.persistently(once, until)

    def close(self):
        self._drop()

    def _call_once(self, queue, request, body, call_id, answer_type):
        self.publish(
            queue,
            request.DESCRIPTOR.full_name,
            body,
            message_id=call_id,
            correlation_id=call_id,
            reply_to=self._queue,
            expiration=str(int(self.timeout * 1000)),
        )
        until = time.monotonic() + self.timeout
        while call_id not in self._answers:
            left = until - time.monotonic()
            if left <= 0:
                raise BerthError("DEADLINE_EXCEEDED", "no_answer", f"no answer from '{queue}' in {self.timeout} s")
            self._connection.process_data_events(time_limit=left)
        properties, answer = self._answers.pop(call_id)
        if (properties.headers or {}).get("berth-error") in (True, "true"):
            raise Refused.of(error_pb2.Error.FromString(answer))
        return answer_type.FromString(answer)

    def _open(self):
        self._connection = pika.BlockingConnection(self.parameters)
        self._channel = self._connection.channel()
        self._channel.confirm_delivery()
        self._queue = f"private.{self.user}.{uuid.uuid4()}"
        self._channel.queue_declare(self._queue, exclusive=True)
        self._channel.basic_consume(self._queue, self._take, auto_ack=True)
        for topic in self._topics:
            self._bind(topic)

    def _bind(self, topic):
        self._channel.queue_bind(self._queue, "berth.events", topic)

    def _take(self, _channel, method, properties, body):
        if method.exchange == "berth.events":
            for listener in self._listeners:
                listener.take(method.routing_key, properties, body)
        elif properties.correlation_id is not None:
            # Answers that nobody waits for any more would pile up.
            self._answers.clear()
            self._answers[properties.correlation_id] = (properties, body)

    def _drop(self):
        connection, self._connection = self._connection, None
        try:
            if connection is not None and connection.is_open:
                connection.close()
        except (AMQPError, OSError):
            pass


class Listener:
    """What is published under some topics, for one who listens. What is published while the connection is broken is missed."""

    def __init__(self, connection, topics):
        self._connection = connection
        self._topics = [topic.split(".") for topic in topics]
        self._heard = deque()
        self._is_late = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.leave(self)

    def take(self, key, properties, body):
        words = key.split(".")
        if not any(_matches(topic, words) for topic in self._topics):
            return
        if len(self._heard) < MAX_HEARD:
            self._heard.append((properties, body))
        else:
            self._is_late = True

    def next(self, until):
        """The next message, as its properties and body, or None when none came until then (time.monotonic())."""
        while not self._heard:
            if self._is_late:
                message = f"{MAX_HEARD} events waited to be read; listen to fewer, or read faster"
                raise BerthError("RESOURCE_EXHAUSTED", "listener_too_slow", message)
            if time.monotonic() >= until:
                return None
            self._connection.process(until)
        return self._heard.popleft()


def _matches(topic, words):
    return len(topic) == len(words) and all(one in ("*", word) for one, word in zip(topic, words))
