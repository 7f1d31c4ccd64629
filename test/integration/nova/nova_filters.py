"""Nova's own JsonFilter, MetricsFilter and MetricsWeigher: reads cases as lines of JSON, writes what Nova makes of each."""
import json
import sys
from types import SimpleNamespace

import nova.conf
from nova import config, objects
from nova.scheduler import host_manager
from nova.scheduler.filters import json_filter, metrics_filter
from nova.scheduler.weights import metrics

CONF = nova.conf.CONF
ROW = {
    'id': 1, 'uuid': '00000000-0000-4000-8000-000000000001', 'host': 'h', 'hypervisor_hostname': 'n', 'vcpus': 8, 'memory_mb': 4096,
    'vcpus_used': 0, 'memory_mb_used': 0, 'free_ram_mb': 4096, 'hypervisor_type': 'QEMU', 'hypervisor_version': 1, 'metrics': '[]',
    'cpu_allocation_ratio': 1.0, 'ram_allocation_ratio': 1.0, 'disk_allocation_ratio': 1.0,
}


def answer(ask):
    try:
        return ask()
    except Exception:
        return 'failed'


def passes_query(case):
    spec = SimpleNamespace(get_scheduler_hint=lambda name: case['query'])
    return answer(lambda: json_filter.JsonFilter().host_passes(SimpleNamespace(**case['host']), spec))


def passes_on_row(case):
    """A query on a host as the scheduler makes it of a row of compute_nodes."""
    def ask():
        row = {**dict.fromkeys(objects.ComputeNode.fields), **ROW, **case['row']}
        node = objects.ComputeNode._from_db_object(None, objects.ComputeNode(), row)
        host = host_manager.HostState('h', 'n', None)
        host._update_from_compute_node(node)
        spec = SimpleNamespace(get_scheduler_hint=lambda name: case['query'])
        return json_filter.JsonFilter().host_passes(host, spec)
    return answer(ask)


def by_metrics(case):
    for option in ('weight_setting', 'required', 'weight_of_unavailable', 'weight_multiplier'):
        CONF.set_override(option, case[option], 'metrics')
    told = objects.MonitorMetricList.from_json(json.dumps(case['metrics']))
    host = SimpleNamespace(host='h', nodename='h', metrics=told, aggregates=[])
    return {
        'passes': metrics_filter.MetricsFilter().host_passes(host, None),
        'weight': answer(lambda: metrics.MetricsWeigher()._weigh_object(host, None)),
    }


if __name__ == '__main__':
    config.parse_args(['nova-filters'], default_config_files=[])
    objects.register_all()
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(passes_on_row(case) if 'row' in case else passes_query(case) if 'query' in case else by_metrics(case)), flush=True)
