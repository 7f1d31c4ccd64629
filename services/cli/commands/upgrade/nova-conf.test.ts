import { readConfig } from '#libs/runtime/config';
import { novaOptions } from '../../../nova-scheduler/options';
import { checkNovaConf } from './check-nova-conf';
import { parseNovaConf, valueOf } from './nova-conf';

/** The findings, each after its result. */
function findings(text: string, env: Readonly<Record<string, string>> = {}): readonly string[] {
  const checks = checkNovaConf(parseNovaConf(text), readConfig(novaOptions, env));
  return checks.flatMap(({ result, details }) => details.map((detail) => `${result}: ${detail}`));
}

/** A nova.conf in which the weighers that need Nova's database are off. */
const QUIET = `
[filter_scheduler]
build_failure_weight_multiplier = 0
pci_weight_multiplier = 0
`;

it('reads files as oslo.config does', () => {
  const conf = parseNovaConf(`
# a comment
debug: true
[filter_scheduler]
available_filters = a.b
available_filters = "c.d"
enabled_filters = ComputeFilter,
    # between
    NUMATopologyFilter
; another
[ DEFAULT ]
debug = false
nonsense
`);
  expect(conf.get('filter_scheduler')?.get('available_filters')).toEqual(['a.b', 'c.d']);
  expect(valueOf(conf, 'filter_scheduler', 'enabled_filters')).toBe('ComputeFilter, NUMATopologyFilter');
  expect(valueOf(conf, 'DEFAULT', 'debug')).toBe('false');
});

it('finds nothing in a configuration that Berth has', () => {
  expect(findings(QUIET)).toEqual([]);
});

it("names the weighers that need Nova's database, and what they weigh by", () => {
  expect(findings('')).toEqual([
    'warning: BuildFailureWeigher is in use, and weighs nothing without BERTH_NOVA_DATABASE_URL',
    'warning: PCIWeigher is in use, and weighs nothing without BERTH_NOVA_DATABASE_URL',
  ]);
  const withDatabase = { BERTH_NOVA_DATABASE_URL: 'mysql://nova@db/nova_api' };
  expect(findings('', withDatabase)).toEqual([]);
  expect(findings(QUIET, withDatabase)).toContainEqual(expect.stringContaining('set BERTH_NOVA_WEIGHT_PCI=0'));
  const metrics = `${QUIET}[metrics]\nweight_setting = cpu.percent=1\n`;
  expect(findings(metrics)).toEqual([
    'warning: MetricsWeigher is in use, and weighs nothing without BERTH_NOVA_DATABASE_URL',
    'warning: [metrics] weight_setting: set BERTH_NOVA_METRICS_WEIGHT_SETTING=cpu.percent=1, which is empty',
  ]);
  expect(findings(`${metrics}weight_multiplier = 0`)).not.toContainEqual(expect.stringContaining('weighs nothing'));
  expect(findings(`${metrics}weight_multiplier = 2`, withDatabase)).toContain(
    'warning: [metrics] weight_multiplier: set BERTH_NOVA_WEIGHT_METRICS=2, which is 1',
  );
  expect(findings(`${QUIET}image_props_weight_multiplier = 2`)).toContain(
    'warning: ImagePropertiesWeigher is in use, and weighs nothing without BERTH_NOVA_DATABASE_URL',
  );
});

it.each([
  [
    'enabled_filters = ComputeFilter,JsonFilter',
    'warning: [filter_scheduler] enabled_filters: set BERTH_NOVA_FILTERS=',
  ],
  ['enabled_filters = MetricsFilter', 'warning: MetricsFilter: requests that need it are refused'],
  ['enabled_filters = ComputeFilter,MyFilter', 'failure: MyFilter is no filter of Nova 26 to 33'],
  [
    'available_filters = nova.scheduler.filters.all_filters\navailable_filters = mine.Filter',
    'failure: available_filters names mine.Filter',
  ],
  [
    'enabled_filters = nova.scheduler.filters.numa_topology_filter.NUMATopologyFilter',
    'warning: NUMATopologyFilter: requests that need it are refused',
  ],
  ['weight_classes = mine.Weigher', 'failure: weight_classes names mine.Weigher'],
  [
    'weight_classes = nova.scheduler.weights.cpu.CPUWeigher',
    'warning: weight_classes leaves out RAMWeigher: set BERTH_NOVA_WEIGHT_RAM=0',
  ],
  [
    '[scheduler]\nquery_placement_for_routed_network_aggregates = True',
    'failure: [scheduler] query_placement_for_routed_network_aggregates = True',
  ],
  ['[scheduler]\ndiscover_hosts_in_cells_interval = 300', 'warning: discover_hosts_in_cells_interval = 300'],
  ['unheard_of = 1', 'warning: [filter_scheduler] unheard_of is no option'],
  [
    'ram_weight_multiplier = -1.0',
    'warning: [filter_scheduler] ram_weight_multiplier: set BERTH_NOVA_WEIGHT_RAM=-1, which is 1',
  ],
  ['[scheduler]\nimage_metadata_prefilter = yes', 'set BERTH_NOVA_IMAGE_METADATA_PREFILTER=true, which is false'],
  [
    'enabled_filters = ComputeFilter',
    'set BERTH_NOVA_FILTERS=ComputeFilter, which is ComputeFilter,ComputeCapabilitiesFilter',
  ],
  ['[oslo_messaging_rabbit]\nrabbit_quorum_queue = true', 'set BERTH_NOVA_QUEUES=quorum, which is transient'],
  ['[workarounds]\ndisable_fallback_pcpu_query = true', 'set BERTH_NOVA_FALLBACK_PCPU_QUERY=false, which is true'],
])('finds %s', (line, finding) => {
  expect(findings(`${QUIET}${line}`)).toContainEqual(expect.stringContaining(finding));
});

it('shows no password of a transport_url', () => {
  const [finding] = findings(`[DEFAULT]\ntransport_url = rabbit://nova:s3cret@a:5672,nova:s3cret@b:5672/\n${QUIET}`);
  expect(finding).toContain('takes one host');
  expect(finding).not.toContain('s3cret');
});

it('is content once the settings are those of the file', () => {
  const text = `${QUIET}enabled_filters = ComputeFilter,NUMATopologyFilter\nmax_io_ops_per_host = 12\n`;
  const env = {
    BERTH_NOVA_FILTERS: 'ComputeFilter,NUMATopologyFilter',
    BERTH_NOVA_MAX_IO_OPS_PER_HOST: '12',
    BERTH_NOVA_FALLBACK_TOPIC: 'scheduler.ctl',
  };
  expect(findings(text, env)).toEqual(['warning: NUMATopologyFilter: requests that need it go to scheduler.ctl']);
});
