"""Nova's own JsonFilter, MetricsFilter and MetricsWeigher: reads cases as lines of JSON, writes what Nova makes of each."""
import json
import sys
from types import SimpleNamespace

import nova.conf
from nova import config, objects
from nova.scheduler.filters import json_filter, metrics_filter
from nova.scheduler.weights import metrics

CONF = nova.conf.CONF


def answer(ask):
    try:
        return ask()
    except Exception:
        return 'failed'


def passes_query(case):
    spec = SimpleNamespace(get_scheduler_hint=lambda name: case['query'])
    return answer(lambda: json_filter.JsonFilter().host_passes(SimpleNamespace(**case['host']), spec))


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
        print(json.dumps(passes_query(case) if 'query' in case else by_metrics(case)), flush=True)
