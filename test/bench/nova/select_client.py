"""
Callers of a Nova scheduler, and an echo to compare with, by oslo.messaging. select_client.py FOLDER TRANSPORT_URL

FOLDER has nova_client.py, which makes the spec. Each line on stdin is an order, each line on stdout its answer:
{"select": TOPIC, "seconds": S} calls until S seconds have passed, once at least, {"sync": TOPIC, "hosts": [...]} says that these hosts run nothing,
{"echo": TOPIC} serves calls that are answered with their spec.
"""
import json
import sys
import time
import uuid

sys.path.insert(0, sys.argv[1])

import oslo_messaging
from nova import config, context, objects, rpc
from nova.objects import base
from nova_client import CONF, spec

PATIENCE = 600


class Echo:
    target = oslo_messaging.Target(version='4.5')

    def select_destinations(self, ctxt, spec_obj, **args):
        return spec_obj


def prepared(topic, **more):
    target = oslo_messaging.Target(exchange='nova', topic=topic, version='4.5', **more)
    return oslo_messaging.get_rpc_client(TRANSPORT, target, timeout=PATIENCE)


def select(client):
    """One call. The spec is serialized once for all, as the answers are read once: the callers share the machine with the callee."""
    return client.call(
        CONTEXT, 'select_destinations', spec_obj=SPEC, instance_uuids=[str(uuid.uuid4())], return_objects=True,
        return_alternates=True)


def run(topic, seconds):
    client = prepared(topic)
    durations = []
    started = time.perf_counter()
    until = started + seconds
    answer = None
    while answer is None or time.perf_counter() < until:
        at = time.perf_counter()
        answer = select(client)
        durations.append(round(1000 * (time.perf_counter() - at), 3))
    hosts = [] if isinstance(answer, dict) else [
        base.NovaObjectSerializer().deserialize_entity(CONTEXT, one).service_host for one in answer[0]]
    return {'durations': durations, 'elapsed': 1000 * (time.perf_counter() - started), 'hosts': hosts}


def sync(topic, hosts):
    client = prepared(topic, fanout=True)
    for host in hosts:
        client.cast(CONTEXT, 'sync_instance_info', host_name=host, instance_uuids=[])
    return {}


def echo(topic):
    target = oslo_messaging.Target(exchange='nova', topic=topic, server='echo')
    server = oslo_messaging.get_rpc_server(TRANSPORT, target, [Echo()], executor='threading')
    server.start()
    return {}


if __name__ == '__main__':
    config.parse_args(['select-client'], default_config_files=[])
    CONF.set_override('transport_url', sys.argv[2].replace('amqp:', 'rabbit:'))
    objects.register_all()
    rpc.init(CONF)
    TRANSPORT = rpc.TRANSPORT
    CONTEXT = context.get_admin_context().to_dict()
    SPEC = base.NovaObjectSerializer().serialize_entity(None, spec())
    for line in sys.stdin:
        order = json.loads(line)
        if 'select' in order:
            said = run(order['select'], order['seconds'])
        elif 'sync' in order:
            said = sync(order['sync'], order['hosts'])
        else:
            said = echo(order['echo'])
        print(json.dumps(said), flush=True)
