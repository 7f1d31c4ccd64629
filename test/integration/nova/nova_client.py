"""Nova's own client of its scheduler, and its own objects: one JSON line for each step, which it reads
from stdin, a line each: STEP[:ARGUMENT]. nova_client.py TRANSPORT_URL"""
import json
import sys
import uuid

import nova.conf
from nova import config, context, exception, objects, rpc
from nova.scheduler import rpcapi

CONF = nova.conf.CONF


def spec(extra_specs=None, **fields):
    flavor = objects.Flavor(
        id=1, flavorid='1', name='small', vcpus=1, memory_mb=256, root_gb=5, ephemeral_gb=0, swap=0,
        rxtx_factor=1.0, vcpu_weight=0, disabled=False, is_public=True, extra_specs=extra_specs or {})
    made = objects.RequestSpec(
        flavor=flavor, image=objects.ImageMeta(disk_format='raw', properties=objects.ImageMetaProps()),
        project_id='p' * 32, user_id='u' * 32, num_instances=1, pci_requests=None, numa_topology=None,
        instance_group=None, limits=objects.SchedulerLimits(), retry=None, availability_zone=None,
        ignore_hosts=None, force_hosts=None, force_nodes=None, scheduler_hints={}, is_bfv=False)
    made.obj_set_defaults('requested_destination')
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def shown(selection):
    return {
        'host': selection.service_host, 'node': selection.nodename, 'cell': selection.cell_uuid,
        'uuid': selection.compute_node_uuid, 'zone': selection.availability_zone,
        'version': selection.allocation_request_version, 'limits': selection.limits.to_dict(),
        'claims': json.loads(selection.allocation_request)}


def boot(api, ctx, count=1, uuids=None, **fields):
    uuids = uuids or [str(uuid.uuid4()) for _ in range(count)]
    answer = api.select_destinations(ctx, spec(**fields), uuids, return_objects=True, return_alternates=True)
    return {'uuids': uuids, 'selections': [[shown(one) for one in some] for some in answer]}


def refused(api, ctx):
    try:
        return boot(api, ctx, extra_specs={'trait:CUSTOM_NOPE': 'required'})
    except exception.NoValidHost as error:
        return {'reason': error.kwargs['reason'], 'message': error.format_message(), 'request': ctx.request_id}


def group(api, ctx):
    members = [str(uuid.uuid4()) for _ in range(2)]
    anti = objects.InstanceGroup(uuid=str(uuid.uuid4()), policy='anti-affinity', members=members, hosts=[], _rules={})
    answer = api.select_destinations(
        ctx, spec(instance_group=anti), members, return_objects=True, return_alternates=False)
    return {'hosts': [some[0].service_host for some in answer]}


def old(api, ctx):
    return {'answer': api.select_destinations(ctx, spec(), [str(uuid.uuid4())])}


def fanouts(api, ctx):
    aggregate = objects.Aggregate(
        ctx, id=7, uuid='a' * 8 + '-0000-4000-8000-000000000000', name='az', hosts=['h2'],
        metadata={'availability_zone': 'az1'})
    api.update_aggregates(ctx, [aggregate])
    api.sync_instance_info(ctx, 'h1', [str(uuid.uuid4())])
    api.update_instance_info(ctx, 'h1', objects.InstanceList(objects=[objects.Instance(uuid=str(uuid.uuid4()))]))
    api.delete_instance_info(ctx, 'h1', str(uuid.uuid4()))
    return {}


def stream(api, ctx):
    """Twenty boots, one after the other."""
    return {'boots': [boot(api, ctx) for _ in range(20)]}


def numa(api, ctx):
    """Two processors of its own on one NUMA node, and a PCI device near."""
    cell = objects.InstanceNUMACell(id=0, cpuset=set(), pcpuset={0, 1}, memory=256, cpu_policy='dedicated')
    device = objects.InstancePCIRequest(count=1, spec=[{'vendor_id': '8086'}], alias_name='a', numa_policy='required')
    wanted = {
        'numa_topology': objects.InstanceNUMATopology(cells=[cell]),
        'pci_requests': objects.InstancePCIRequests(requests=[device])}
    try:
        return boot(api, ctx, **wanted)
    except exception.NoValidHost as error:
        return {'reason': error.kwargs['reason']}


STEPS = {
    'boot': boot, 'again': lambda api, ctx, asked: boot(api, ctx, uuids=[asked]), 'many': lambda api, ctx: boot(api, ctx, 4), 'refused': refused, 'group': group, 'old': old,
    'fanouts': fanouts, 'numa': numa, 'stream': stream}

if __name__ == '__main__':
    config.parse_args(['nova-client'], default_config_files=[])
    CONF.set_override('transport_url', sys.argv[1].replace('amqp:', 'rabbit:'))
    objects.register_all()
    rpc.init(CONF)
    for step in sys.stdin:
        name, *more = step.strip().split(':')
        done = STEPS[name](rpcapi.SchedulerAPI(), context.get_admin_context(), *more)
        print(json.dumps(done, default=lambda one: one.obj_to_primitive()), flush=True)
