import { inventory } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { SchedulerConfig } from '../options';
import { aWorld, INVENTORIES, type TestScheduler, type World } from '../testing/world';
import { FILTERS } from './registry';

const AGGREGATE = 'aaaaaaaa-0000-4000-8000-000000000001';
const OTHER_AGGREGATE = 'aaaaaaaa-0000-4000-8000-000000000002';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** Reasons with the number of hosts that each refuses, and which hosts pass. */
async function judge(spec: Partial<RequestSpec>, config: Partial<SchedulerConfig> = {}) {
  const answer = (await world.scheduler(config)).explain({ resources: { VCPU: 1 }, ...spec });
  const reasons = Object.assign({}, ...answer.diagnosis.filters.map((filter) => filter.reasons)) as object;
  return { reasons, passed: answer.hosts.map(({ host }) => host).sort(), diagnosis: answer.diagnosis };
}

function whyNot(scheduler: TestScheduler, host: string, spec: Partial<RequestSpec>): readonly string[] {
  return scheduler.explain(spec, host).hosts[0]?.refusals ?? [];
}

describe('compute', () => {
  it('refuses hosts that are down and hosts that are disabled, each with its reason', async () => {
    await world.report('silent');
    await world.clock.advance(60_000);
    await world.report('good');
    await world.report('off');
    await world.placement.commit({ kind: 'set_host_enabled', host: 'off', enabled: false, reason: 'disk', atMs: 1 });
    const silentSinceMs = world.clock.now() - 1_000;
    await world.placement.commit({ kind: 'sweep_hosts', silentSinceMs, limit: 9, atMs: world.clock.now() });
    expect(await judge({})).toMatchObject({ passed: ['good'], reasons: { host_down: 1, host_disabled: 1 } });
    expect(whyNot(await world.scheduler(), 'off', {})).toEqual(['compute: disabled: disk']);
  });
});

describe('availability_zone', () => {
  it('takes only hosts of the zone asked for, and all when none is', async () => {
    for (const host of ['here', 'there', 'nowhere']) await world.report(host);
    await world.aggregate('one', { availability_zone: 'az1' }, 'here');
    await world.aggregate('two', { availability_zone: 'az2' }, 'there');
    expect(await judge({ availabilityZone: 'az2' })).toMatchObject({
      passed: ['there'],
      reasons: { other_availability_zone: 2 },
    });
    expect((await judge({ availabilityZone: 'nova' })).passed).toEqual(['nowhere']);
    expect((await judge({})).passed).toEqual(['here', 'nowhere', 'there']);
  });
});

describe('taints', () => {
  it('keeps a tainted host for requests that tolerate each of its taints', async () => {
    for (const host of ['plain', 'old', 'older']) await world.report(host);
    await world.aggregate('one', { 'taint:sla': '950' }, 'old');
    await world.aggregate('two', { 'taint:sla': '900', 'taint:team': 'blue,red' }, 'older');
    const tolerating = (extraSpecs: Record<string, string>) => judge({ extraSpecs });
    expect(await judge({})).toMatchObject({ passed: ['plain'], reasons: { tainted: 2 } });
    expect((await tolerating({ 'toleration:sla': '>= 950' })).passed).toEqual(['old', 'plain']);
    expect((await tolerating({ 'toleration:sla': '>= 900' })).passed).toEqual(['old', 'plain']);
    expect((await tolerating({ 'toleration:sla': '>= 900', 'toleration:team': '*' })).passed).toHaveLength(3);
    expect((await tolerating({ 'toleration:sla': '*', 'toleration:team': '<or> blue <or> red' })).passed).toHaveLength(
      3,
    );
    expect((await tolerating({ 'toleration:sla': '*', 'toleration:team': 'blue' })).passed).toEqual(['old', 'plain']);
    expect(whyNot(await world.scheduler(), 'old', {})).toEqual([
      'taints: it is tainted sla=950; the extra spec toleration:sla would tolerate it',
    ]);
  });
});

describe('traits', () => {
  it('looks at the root provider alone where that is asked', async () => {
    await world.report('fast', { traits: ['CUSTOM_FAST'] });
    await world.report('plain');
    expect(await judge({ rootRequiredTraits: ['CUSTOM_FAST'] })).toMatchObject({
      passed: ['fast'],
      reasons: { missing_root_trait_custom_fast: 1 },
    });
    expect(await judge({ rootForbiddenTraits: ['CUSTOM_FAST'] })).toMatchObject({
      passed: ['plain'],
      reasons: { forbidden_root_trait_custom_fast: 1 },
    });
  });
});

describe('capacity', () => {
  it('refuses hosts without the class, and says the same when no host has it', async () => {
    await world.report('plain');
    await world.report('golden', { inventories: { ...INVENTORIES, CUSTOM_GOLD: inventory(1) } });
    expect(await judge({ resources: { CUSTOM_GOLD: 1 } })).toMatchObject({
      passed: ['golden'],
      reasons: { no_inventory_custom_gold: 1 },
    });
    expect(await judge({ resources: { CUSTOM_TIN: 1 } })).toMatchObject({
      passed: [],
      reasons: { no_inventory_custom_tin: 2 },
    });
  });

  it('counts what is used, reserved and over-committed', async () => {
    await world.report('empty');
    await world.report('used');
    await world.occupy('used', { VCPU: 1 });
    await world.report('reserving', { inventories: { VCPU: inventory(8, { reserved: 1 }) } });
    await world.report('sharing', { inventories: { VCPU: inventory(4, { allocationRatio: 2 }) } });
    expect(await judge({ resources: { VCPU: 8 } })).toMatchObject({
      passed: ['empty', 'sharing'],
      reasons: { capacity_vcpu: 2 },
    });
    expect(whyNot(await world.scheduler(), 'used', { resources: { VCPU: 8 } })).toEqual([
      'capacity: wants 8 VCPU, 7 of 8 free',
    ]);
  });

  it.each([
    ['min_unit_vcpu', { minUnit: 3 }],
    ['max_unit_vcpu', { maxUnit: 1 }],
    ['step_size_vcpu', { stepSize: 4 }],
  ])('refuses amounts that are no unit of the inventory: %s', async (symbol, units) => {
    await world.report('host', { inventories: { VCPU: inventory(8, units) } });
    expect(await judge({ resources: { VCPU: 2 } })).toMatchObject({ passed: [], reasons: { [symbol]: 1 } });
    expect(whyNot(await world.scheduler(), 'host', { resources: { VCPU: 2 } })).toEqual([
      expect.stringMatching(/^capacity: wants 2 VCPU, 8 of 8 free, in units from \d to \d in steps of \d$/),
    ]);
  });

  it('tells of every class that lacks, not only of the first', async () => {
    await world.report('host');
    const asked = { VCPU: 9, MEMORY_MB: 20_000, DISK_GB: 1 };
    expect((await judge({ resources: asked })).diagnosis.filters).toEqual([
      { filter: 'capacity', refused: 1, reasons: { capacity_vcpu: 1, capacity_memory_mb: 1 } },
    ]);
  });
});

describe('traits', () => {
  it('takes hosts with all required traits and none of the forbidden', async () => {
    await world.report('both', { traits: ['CUSTOM_A', 'CUSTOM_B'] });
    await world.report('one', { traits: ['CUSTOM_A'] });
    await world.report('none');
    expect(await judge({ requiredTraits: ['CUSTOM_A', 'CUSTOM_B'] })).toMatchObject({
      passed: ['both'],
      reasons: { missing_trait_custom_a: 1, missing_trait_custom_b: 2 },
    });
    expect(await judge({ forbiddenTraits: ['CUSTOM_B'] })).toMatchObject({
      passed: ['none', 'one'],
      reasons: { forbidden_trait_custom_b: 1 },
    });
  });

  it('follows a host whose traits change', async () => {
    await world.report('host', { traits: ['CUSTOM_A'] });
    const scheduler = await world.scheduler();
    expect(whyNot(scheduler, 'host', { requiredTraits: ['CUSTOM_B'] })).toHaveLength(1);
    await world.report('host', { traits: ['CUSTOM_B'] });
    await world.clock.advance(0);
    expect(whyNot(scheduler, 'host', { requiredTraits: ['CUSTOM_B'] })).toEqual([]);
    expect(whyNot(scheduler, 'host', { requiredTraits: ['CUSTOM_A'] })).toHaveLength(1);
  });
});

describe('aggregates', () => {
  it('wants one aggregate of each list and none of the forbidden', async () => {
    await world.report('first', { aggregates: [AGGREGATE] });
    await world.report('both', { aggregates: [AGGREGATE, OTHER_AGGREGATE] });
    await world.report('alone');
    expect(await judge({ memberOf: [[AGGREGATE, OTHER_AGGREGATE], [OTHER_AGGREGATE]] })).toMatchObject({
      passed: ['both'],
      reasons: { not_in_aggregate: 3 },
    });
    expect(await judge({ forbiddenAggregates: [OTHER_AGGREGATE] })).toMatchObject({
      passed: ['alone', 'first'],
      reasons: { in_forbidden_aggregate: 1 },
    });
  });
});

describe('image_properties', () => {
  it('wants the architecture, hypervisor and mode among what the host supports, whatever the case', async () => {
    await world.report('x86', { capabilities: { hw_architecture: ['x86_64', 'i686'], img_hv_type: ['QEMU'] } });
    await world.report('arm', { capabilities: { hw_architecture: ['aarch64'] } });
    await world.report('mute');
    expect(
      await judge({ imageProperties: { hw_architecture: 'X86_64', img_hv_type: 'qemu', other: 'x' } }),
    ).toMatchObject({
      passed: ['x86'],
      reasons: { image_hw_architecture: 2, image_img_hv_type: 2 },
    });
  });
});

describe('aggregate_extra_specs', () => {
  it("matches extra specs with the metadata of the host's aggregates, scoped or bare", async () => {
    for (const host of ['fast', 'far', 'none']) await world.report(host);
    await world.aggregate('fast', { ssd: 'true', rack: 'r1' }, 'fast', 'far');
    await world.aggregate('far', { rack: 'r0, r2' }, 'far');
    const extraSpecs = {
      'aggregate_instance_extra_specs:ssd': 'true',
      rack: '<or> r2 <or> r3',
      'hw:mem_page_size': 'any',
    };
    expect(await judge({ extraSpecs })).toMatchObject({
      passed: ['far'],
      reasons: { extra_spec_ssd: 1, extra_spec_rack: 2 },
    });
  });

  it('takes what the host itself reports as well', async () => {
    await world.report('own', { capabilities: { ssd: ['true'] } });
    expect((await judge({ extraSpecs: { ssd: 'true' } })).passed).toEqual(['own']);
    for (const name of ['constructor', 'toString']) {
      expect((await judge({ extraSpecs: { [name]: 'true' } })).passed).toEqual([]);
    }
  });
});

describe('tenant_isolation', () => {
  it('keeps hosts for the projects that their aggregates name, who may use others as well', async () => {
    for (const host of ['banks', 'shared', 'free']) await world.report(host);
    await world.aggregate('bank', { filter_tenant_id: 'bank' }, 'banks');
    await world.aggregate('some', { filter_tenant_id: 'shop, bank', filter_tenant_id_2: 'school' }, 'shared');
    expect(await judge({ projectId: 'nobody' })).toMatchObject({ passed: ['free'], reasons: { other_tenant: 2 } });
    expect((await judge({ projectId: 'bank' })).passed).toEqual(['banks', 'free', 'shared']);
    expect((await judge({ projectId: 'school' })).passed).toEqual(['free', 'shared']);
    expect(whyNot(await world.scheduler(), 'banks', { projectId: 'shop' })).toEqual([
      'tenant_isolation: its aggregates are for other projects only (filter_tenant_id)',
    ]);
  });

  it('follows an aggregate that is opened, and a project that is named later', async () => {
    await world.report('host');
    const scheduler = await world.scheduler();
    const uuid = await world.aggregate('bank', { filter_tenant_id: 'bank' }, 'host');
    const update = async (change: { readonly set?: Record<string, string>; readonly unset?: readonly string[] }) => {
      const command = { kind: 'update_aggregate', uuid, name: undefined, set: {}, unset: [], ...change } as const;
      await world.placement.commit({ ...command, atMs: 1 });
      await world.clock.advance(0);
    };
    await world.clock.advance(0);
    const isRefused = () => whyNot(scheduler, 'host', { resources: { VCPU: 1 }, projectId: 'shop' }).length > 0;
    expect(isRefused()).toBe(true);
    await update({ set: { filter_tenant_id: 'bank,shop' } });
    expect(isRefused()).toBe(false);
    await update({ set: { filter_tenant_id: 'bank' } });
    expect(isRefused()).toBe(true);
    await update({ unset: ['filter_tenant_id'] });
    expect(isRefused()).toBe(false);
  });
});

describe('instance_limit', () => {
  it('counts claims and what Berth does not manage', async () => {
    await world.report('busy', { externalInstances: 1 });
    await world.occupy('busy', { VCPU: 1 });
    await world.report('idle');
    expect(await judge({}, { maxInstancesPerHost: 2 })).toMatchObject({
      passed: ['idle'],
      reasons: { too_many_instances: 1 },
    });
    expect((await judge({}, { maxInstancesPerHost: 0 })).passed).toEqual(['busy', 'idle']);
  });
});

describe('build_limit', () => {
  it('counts builds that the host reports and claims that it has not reported yet', async () => {
    await world.report('reporting', { ioOps: 2 });
    await world.report('claimed', { ioOps: 1 });
    await world.report('idle');
    await world.clock.advance(1);
    await world.occupy('claimed', { VCPU: 1 });
    expect(await judge({}, { maxBuildsPerHost: 2 })).toMatchObject({
      passed: ['idle'],
      reasons: { too_many_builds: 2 },
    });
  });

  it('forgets a claim as a build once the host reports, or after the settling time', async () => {
    await world.report('reporting');
    await world.report('quiet');
    await world.clock.advance(1);
    await world.occupy('reporting', { VCPU: 1 });
    await world.occupy('quiet', { VCPU: 1 });
    const scheduler = await world.scheduler({ maxBuildsPerHost: 1, claimSettleMs: 5_000 });
    const builds = (host: string) => scheduler.host(host)?.buildsInProgress;
    expect([builds('reporting'), builds('quiet')]).toEqual([1, 1]);
    await world.clock.advance(10);
    await world.report('reporting', { ioOps: 0, externalInstances: 1 });
    await world.clock.advance(1_000);
    expect([builds('reporting'), builds('quiet')]).toEqual([0, 1]);
    await world.clock.advance(5_000);
    expect([builds('reporting'), builds('quiet')]).toEqual([0, 0]);
  });
});

describe('force_hosts and ignore_hosts', () => {
  it('take only the named hosts, or all but these; unknown names are nobody', async () => {
    for (const host of ['a', 'b', 'c']) await world.report(host);
    expect(await judge({ forceHosts: ['a', 'b', 'nobody'], ignoreHosts: ['b', 'nobody'] })).toMatchObject({
      passed: ['a'],
      reasons: { not_forced: 1, ignored: 1 },
      diagnosis: { hostsConsidered: 3, hostsPassed: 1 },
    });
  });
});

describe('same_host and different_host', () => {
  it('look at where the named instances are', async () => {
    for (const host of ['a', 'b', 'c']) await world.report(host);
    const onA = await world.occupy('a', { VCPU: 1 });
    const onB = await world.occupy('b', { VCPU: 1 });
    expect(await judge({ sameHost: [onA, onB], differentHost: [onB] })).toMatchObject({
      passed: ['a'],
      reasons: { not_same_host: 1, same_host_as_other: 1 },
    });
  });

  it("know nothing of another project's instances", async () => {
    for (const host of ['a', 'b']) await world.report(host);
    const onA = await world.occupy('a', { VCPU: 1 });
    const other = { projectId: 'another-project' };
    expect((await judge({ ...other, sameHost: [onA] })).reasons).toEqual({ not_same_host: 2 });
    expect((await judge({ ...other, differentHost: [onA] })).passed).toEqual(['a', 'b']);
  });

  it('find no host for same_host with an instance that nobody knows', async () => {
    await world.report('a');
    expect(await judge({ sameHost: ['bbbbbbbb-0000-4000-8000-000000000001'] })).toMatchObject({
      passed: [],
      reasons: { not_same_host: 1 },
    });
  });
});

describe('group_affinity and group_anti_affinity', () => {
  const affinity = { id: 'g', policy: 'affinity', maxPerHost: 1 } as const;

  it('keep an affinity group where it is, and let its first member go anywhere', async () => {
    for (const host of ['a', 'b']) await world.report(host);
    expect((await judge({ group: affinity })).passed).toEqual(['a', 'b']);
    await world.occupy('b', { VCPU: 1 }, affinity);
    expect(await judge({ group: affinity })).toMatchObject({ passed: ['b'], reasons: { group_is_elsewhere: 1 } });
  });

  it('let an anti-affinity group have as many members on a host as it says', async () => {
    const group = { id: 'g', policy: 'anti-affinity', maxPerHost: 2 } as const;
    for (const host of ['a', 'b']) await world.report(host);
    await world.occupy('a', { VCPU: 1 }, group);
    expect((await judge({ group })).passed).toEqual(['a', 'b']);
    await world.occupy('a', { VCPU: 1 }, group);
    expect(await judge({ group })).toMatchObject({ passed: ['b'], reasons: { group_is_here: 1 } });
  });
});

it('every filter can be left out by its name', async () => {
  await world.report('off');
  const without = (name: string) => FILTERS.map((filter) => filter.name).filter((one) => one !== name);
  const spec = { availabilityZone: 'az2', forceHosts: ['nobody'] };
  expect((await judge(spec)).reasons).toEqual({ other_availability_zone: 1, not_forced: 1 });
  expect((await judge(spec, { filters: without('force_hosts') })).reasons).toEqual({ other_availability_zone: 1 });
  expect((await judge({ availabilityZone: 'az2' }, { filters: without('availability_zone') })).passed).toEqual(['off']);
});
