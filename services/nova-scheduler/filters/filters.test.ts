import { inventory } from '#libs/domain/inventory';
import type { SpecFields } from '../testing/nova-spec';
import { aWorld, instance } from '../testing/world';

/* Filters that operators of Nova turn on, by what each refuses. */

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.close());

const IMAGE = '11111111-1111-4111-8111-111111111111';
let count = 0;

async function withFilter(filter: string, settings: Readonly<Record<string, string>> = {}): Promise<void> {
  world = await aWorld([{}, {}], { BERTH_NOVA_FILTERS: filter, ...settings });
}

function putMetadata(host: string, metadata: Readonly<Record<string, string>>): void {
  const aggregate = { id: 1, uuid: 'a', hosts: new Set([host]), metadata: new Map(Object.entries(metadata)) };
  world.facts.putAggregates([aggregate]);
}

/** The hosts that a request may go to, sorted. */
async function hostsFor(fields: SpecFields = {}): Promise<readonly string[]> {
  count += 1;
  const [found = []] = (await world.hosts(fields, { instance_uuids: [instance(count)] })) as string[][];
  return found.toSorted();
}

it('AggregateNumInstancesFilter takes the limit of an aggregate, and for no number the configured one', async () => {
  await withFilter('AggregateNumInstancesFilter');
  putMetadata('h1', { max_instances_per_host: '0' });
  expect(await hostsFor()).toEqual(['h2']);
  putMetadata('h1', { max_instances_per_host: 'many' });
  expect(await hostsFor()).toEqual(['h1', 'h2']);
});

it('AggregateIoOpsFilter takes the limit of an aggregate', async () => {
  await withFilter('AggregateIoOpsFilter');
  putMetadata('h1', { max_io_ops_per_host: ' 0 ' });
  expect(await hostsFor()).toEqual(['h2']);
});

it('AggregateTypeAffinityFilter keeps hosts for the flavors that their aggregates name', async () => {
  await withFilter('AggregateTypeAffinityFilter');
  putMetadata('h1', { instance_type: 'm1.large, m1.tiny' });
  expect(await hostsFor({ flavorName: 'm1.tiny' })).toEqual(['h1', 'h2']);
  expect(await hostsFor({ flavorName: 'm1.small' })).toEqual(['h2']);
});

it('AggregateImagePropertiesIsolation compares properties that have the name of metadata', async () => {
  await withFilter('AggregateImagePropertiesIsolation');
  putMetadata('h1', { os_distro: 'debian,ubuntu', hw_boot_menu: 'True' });
  expect(await hostsFor({ image: { os_distro: 'ubuntu' } })).toEqual(['h1', 'h2']);
  expect(await hostsFor({ image: { os_distro: 'windows' } })).toEqual(['h2']);
  expect(await hostsFor({ image: { hw_boot_menu: true } })).toEqual(['h1', 'h2']);
  expect(await hostsFor({ image: { hw_boot_menu: false } })).toEqual(['h1', 'h2']);
  expect(await hostsFor({ image: { hw_qemu_guest_agent: true } })).toEqual(['h1', 'h2']);
});

it('AggregateImagePropertiesIsolation leaves out what is not of the namespace', async () => {
  await withFilter('AggregateImagePropertiesIsolation', {
    BERTH_NOVA_IMAGE_ISOLATION_NAMESPACE: 'os',
    BERTH_NOVA_IMAGE_ISOLATION_SEPARATOR: '_',
  });
  putMetadata('h1', { os_distro: 'debian', hw_machine_type: 'q35' });
  expect(await hostsFor({ image: { hw_machine_type: 'pc' } })).toEqual(['h1', 'h2']);
  expect(await hostsFor({ image: { os_distro: 'windows' } })).toEqual(['h2']);
});

it.each([
  ['true', IMAGE, ['h1']],
  ['true', undefined, ['h2']],
  ['false', IMAGE, ['h1']],
  ['false', undefined, ['h1', 'h2']],
] as const)('IsolatedHostsFilter, restricted %s, image %s: %s', async (restricted, imageId, hosts) => {
  await withFilter('IsolatedHostsFilter', {
    BERTH_NOVA_ISOLATED_HOSTS: 'h1',
    BERTH_NOVA_ISOLATED_IMAGES: IMAGE,
    BERTH_NOVA_RESTRICT_ISOLATED_HOSTS: restricted,
  });
  expect(await hostsFor({ imageId })).toEqual(hosts);
});

it('IsolatedHostsFilter without images keeps isolated hosts free only where that is restricted', async () => {
  await withFilter('IsolatedHostsFilter', { BERTH_NOVA_ISOLATED_HOSTS: 'h1' });
  expect(await hostsFor()).toEqual(['h2']);
});

it('SimpleCIDRAffinityFilter takes hosts of the network of a hint, of /24 unless it says another', async () => {
  world = await aWorld([{ capabilities: { host_ip: '10.0.1.5' } }, { capabilities: { host_ip: '10.0.2.5' } }], {
    BERTH_NOVA_FILTERS: 'SimpleCIDRAffinityFilter',
  });
  const near = (address: string, cidr?: string) => {
    const hints = { build_near_host_ip: [address], ...(cidr === undefined ? {} : { cidr: [cidr] }) };
    return { more: { scheduler_hints: hints } };
  };
  expect(await hostsFor()).toEqual(['h1', 'h2']);
  expect(await hostsFor(near('10.0.1.9'))).toEqual(['h1']);
  expect(await hostsFor(near('10.0.1.9', '/16'))).toEqual(['h1', 'h2']);
  const asked = { instance_uuids: [instance(++count)] };
  expect(await world.refusal(near('10.0.1.9', 'moon'), asked)).toContain('10.0.1.9moon is no network');
});

describe('JsonFilter', () => {
  const query = (said: unknown) => ({
    more: { scheduler_hints: { query: [typeof said === 'string' ? said : JSON.stringify(said)] } },
  });
  const refusal = (said: unknown) => world.refusal(query(said), { instance_uuids: [instance(++count)] });

  beforeEach(async () => {
    const small = { VCPU: inventory(4), MEMORY_MB: inventory(2_048, { reserved: 512 }), DISK_GB: inventory(50) };
    world = await aWorld([{}, { inventories: small, capabilities: { host_ip: '10.0.0.2' } }], {
      BERTH_NOVA_FILTERS: 'JsonFilter',
    });
  });

  it.each([
    [['>=', '$free_ram_mb', 2_000], ['h1']],
    [['<', '$free_ram_mb', 1_537], ['h2']],
    [['=', '$total_usable_ram_mb', 2_048], ['h2']],
    [['=', '$free_disk_mb', 102_400], ['h1']],
    [['and', ['=', '$vcpus_total', 8], ['=', '$vcpus_used', 0]], ['h1']],
    [['in', '$host', 'h2', 'h9'], ['h2']],
    [['not', ['=', '$host', 'h2']], ['h1']],
    [
      ['or', ['=', '$host_ip', '10.0.0.2'], ['=', '$nodename', 'h1']],
      ['h1', 'h2'],
    ],
    [['=', '$cpu_allocation_ratio', 4], ['h1']],
    [
      ['=', '$service.disabled', false, '$num_instances'],
      ['h1', 'h2'],
    ],
    [[], ['h1', 'h2']],
  ])('%j', async (said, hosts) => {
    expect(await hostsFor(query(said))).toEqual(hosts);
  });

  it('counts instances that were placed before in the request', async () => {
    const two = { instance_uuids: [instance(1), instance(2)], return_alternates: false };
    const asked = query(['and', ['<', '$num_instances', 1], ['=', '$vcpus_used', 0], ['=', '$disk_mb_used', 0]]);
    expect(((await world.hosts(asked, two)) as string[][]).flat().toSorted()).toEqual(['h1', 'h2']);
  });

  it.each([
    ['{', 'the query is not JSON'],
    ['"=a"', 'the query is no list'],
    [['like', '$host', 'h'], 'the query has no operator "like"'],
    [['__proto__', 1, 1], 'the query has no operator "__proto__"'],
    [['=', '$cpu_info', 'x'], "$cpu_info is not known from Nova's database"],
    [['=', '$stats.io_workload', '1'], "$stats is not known from Nova's database"],
    [['=', '$supported_instances', 'x'], "$supported_instances is not known from Nova's database"],
    [['=', '$instances', 'x'], '$instances is not known to Berth'],
    [['=', '$__class__', 'x'], '$__class__ is not known to Berth'],
    [['=', '$host.name', 'x'], '$host.name is not known to Berth'],
    [['>', '$failed_builds', 1], "$failed_builds is not known from Nova's database"],
    [['<', '$host', 4], 'the query compares a text with a number'],
    [['=', '$host', { a: 1 }], 'the query has an object in it'],
    [['=', '$no_such_thing', 1], 'it does not meet the query'],
    [['=', 'a'.repeat(9_000)], 'the query is longer than 8192 bytes'],
    [`${'["not",'.repeat(17)}1${']'.repeat(17)}`, 'the query is nested deeper than 16'],
    [['or', ...Array.from({ length: 201 }, () => 0)], 'the query has more than 200 terms'],
  ])('refuses %j by name', async (said, reason) => {
    expect(await refusal(said)).toContain(`JsonFilter refuses 2 (${reason}: 2)`);
  });
});
