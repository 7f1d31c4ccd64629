"""Nova's own fitting of NUMA nodes and PCI devices: reads cases as lines of JSON, writes what Nova makes of each."""
import copy
import json
import sys

import nova.conf
from nova import config, exception, objects
from nova.pci import stats
from nova.virt import hardware

CONF = nova.conf.CONF


def read(kind, primitive):
    return kind.obj_from_primitive(primitive) if primitive else None


def fit(case):
    host = read(objects.NUMATopology, case['host'])
    pools = read(objects.PciDevicePoolList, case['pools'])
    wanted = read(objects.InstanceNUMATopology, case['wanted'])
    requests = read(objects.InstancePCIRequests, case['requests']).requests
    devices = stats.PciDeviceStats(host, stats=pools)
    limits = objects.NUMATopologyLimits(cpu_allocation_ratio=case['cpuRatio'], ram_allocation_ratio=case['ramRatio'])
    networks = read(objects.NetworkMetadata, case['networks'])
    if networks:
        limits.network_metadata = networks
    CONF.set_override('packing_host_numa_cells_allocation_strategy', case['isPacking'], 'compute')
    answer = {'hasDevices': devices.support_requests(requests), 'cells': None, 'left': None}
    fitted = hardware.numa_fit_instance_to_host(host, wanted, limits, requests, devices) if wanted else None
    if wanted and not fitted:
        return answer
    if fitted:
        answer['cells'] = [[cell.id, cell.pagesize or 0] for cell in fitted.cells]
    try:
        after = hardware.numa_usage_from_instance_numa(copy.deepcopy(host), fitted) if fitted else host
        devices.apply_requests(requests, fitted.cells if fitted else None)
    except (exception.PciDeviceRequestFailed, exception.CPUPinningInvalid, exception.CPUPinningUnknown):
        return answer
    answer['left'] = {
        'pools': [pool['count'] for pool in devices.pools],
        'cells': [{
            'id': cell.id, 'cpuUsage': cell.cpu_usage, 'memoryUsageMb': cell.memory_usage,
            'pinnedCount': len(cell.pinned_cpus), 'pages': [pages.used for pages in cell.mempages],
        } for cell in after.cells]}
    return answer


if __name__ == '__main__':
    config.parse_args(['nova-fit'], default_config_files=[])
    objects.register_all()
    for line in sys.stdin:
        print(json.dumps(fit(json.loads(line))), flush=True)
