import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { inventory } from '#libs/domain/inventory';
import { SHARING_TRAIT } from '#libs/domain/provider';
import type { RequestSpec } from '#libs/domain/request-spec';
import { aFailure, aWrite, mustCommit } from '#libs/testing/placement/placement';
import { uuidOfHost, type World } from './world';

/* Random histories of a small fleet, and random requests that meet it. */

const HOSTS = ['h0', 'h1', 'h2', 'h3', 'h4', 'h5'];
const CLASSES = ['VCPU', 'MEMORY_MB', 'CUSTOM_GOLD'];
const TRAITS = ['CUSTOM_A', 'CUSTOM_B'];
const AGGREGATES = ['aaaaaaaa-0000-4000-8000-00000000000a', 'aaaaaaaa-0000-4000-8000-00000000000b'];
const SHARED = 'cccccccc-0000-4000-8000-00000000000c';

/** One thing that happens to the fleet. */
export interface Happening {
  readonly name: string;
  run(world: World): Promise<void>;
}

const host = fc.constantFrom(...HOSTS);
const anInventory = fc
  .record({
    total: fc.integer({ min: 0, max: 12 }),
    reserved: fc.integer({ min: 0, max: 3 }),
    allocationRatio: fc.constantFrom(0.5, 1, 1, 1.5, 4),
    minUnit: fc.constantFrom(1, 1, 1, 2),
    maxUnit: fc.constantFrom(100, 100, 3),
    stepSize: fc.constantFrom(1, 1, 1, 2),
  })
  .map(({ total, reserved, ...rest }) => inventory(total, { reserved: Math.min(reserved, total), ...rest }));
const inventories = fc.dictionary(fc.constantFrom(...CLASSES), anInventory, { maxKeys: 3 });
const amounts = fc.dictionary(fc.constantFrom(...CLASSES), fc.integer({ min: 1, max: 5 }), { minKeys: 1, maxKeys: 3 });

const report = fc
  .record({
    host,
    inventories,
    traits: fc.subarray(TRAITS),
    aggregates: fc.subarray(AGGREGATES),
    ioOps: fc.integer({ min: 0, max: 3 }),
    externalInstances: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ host: name, ...fields }) => happening(`report ${name}`, (world) => world.report(name, fields)));

const claimed = { host, resources: amounts, uuid: consumer(), group: fc.boolean(), force: fc.boolean() };
const claim = fc.record(claimed).map((c) =>
  happening(`claim on ${c.host}`, async ({ placement, clock }) => {
    const group = { group: { id: 'g', policy: 'soft-affinity', maxPerHost: 1 }, host: c.host } as const;
    const write = aWrite({ [uuidOfHost(c.host)]: c.resources }, { uuid: c.uuid, ...(c.group ? { group } : {}) });
    await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers: [write], force: c.force });
  }),
);

const release = consumer().map((uuid) =>
  happening(`release ${uuid}`, async ({ placement, clock }) => {
    const write = aWrite({}, { uuid });
    await placement.commit({ kind: 'write_allocations', atMs: clock.now(), consumers: [write] });
  }),
);

const toHost = fc
  .tuple(
    host,
    fc.constantFrom(
      'enable',
      'disable',
      'failure',
      'sweep',
      'time',
      'child',
      'labelled child',
      'gone',
      'share',
      'unshare',
    ),
  )
  .map(([name, what]) =>
    happening(`${what} ${name}`, async (world) => {
      const { placement, clock } = world;
      const atMs = clock.now();
      const providerUuid = uuidOfHost(name);
      switch (what) {
        case 'enable':
        case 'disable':
          await placement.commit({
            kind: 'set_host_enabled',
            atMs,
            host: name,
            enabled: what === 'enable',
            reason: '',
          });
          return;
        case 'failure':
          await placement.commit(aFailure({ host: name, halfLifeMs: 60_000, atMs }));
          return;
        case 'sweep':
          await placement.commit({ kind: 'sweep_hosts', atMs, silentSinceMs: atMs - 5_000, limit: 3 });
          return;
        case 'time':
          await clock.advance(3_000);
          return;
        case 'child':
          await addChild(world, providerUuid, []);
          return;
        case 'labelled child':
          await addChild(world, providerUuid, ['CUSTOM_A']);
          return;
        case 'gone':
          await placement.commit({ kind: 'delete_provider', atMs, uuid: providerUuid });
          return;
        case 'share':
          await share(world, [SHARING_TRAIT, 'CUSTOM_B']);
          return;
        case 'unshare':
          await share(world, []);
      }
    }),
  );

const METADATA = [
  { availability_zone: 'az1', rack: 'r1' },
  { cpu_weight_multiplier: '-2', ram_weight_multiplier: '3,0.5', rack: 'r2' },
  { filter_tenant_id: 'somebody', scheduler_profile: 'headroom' },
];

const regroup = fc.record({ host, n: fc.nat(METADATA.length - 1), isIn: fc.boolean() }).map(({ host: name, n, isIn }) =>
  happening(`${isIn ? 'join' : 'leave'} aggregate ${n}: ${name}`, async ({ placement, clock }) => {
    const uuid = `dddddddd-0000-4000-8000-00000000000${n}`;
    const atMs = clock.now();
    const metadata = METADATA[n] as Record<string, string>;
    await placement.commit({ kind: 'create_aggregate', atMs, uuid, name: `aggregate-${n}`, metadata });
    await placement.commit({ kind: isIn ? 'add_aggregate_host' : 'remove_aggregate_host', atMs, uuid, host: name });
  }),
);

/** Up to `maxLength` happenings, most of them reports and claims. */
export function histories(maxLength: number): fc.Arbitrary<readonly Happening[]> {
  const one = fc.oneof(
    { weight: 5, arbitrary: report },
    { weight: 4, arbitrary: claim },
    { weight: 1, arbitrary: release },
    { weight: 3, arbitrary: toHost },
    { weight: 2, arbitrary: regroup },
  );
  return fc.array(one, { minLength: 1, maxLength, size: 'max' });
}

/** Requests that some of the hosts can meet. */
export const specs: fc.Arbitrary<Partial<RequestSpec>> = fc.record({
  resources: amounts,
  requiredTraits: fc.subarray(TRAITS, { maxLength: 1 }),
  forbiddenTraits: fc.subarray(TRAITS, { maxLength: 1 }),
  preferredTraits: fc.subarray(TRAITS),
  preferredResources: fc.dictionary(fc.constantFrom(...CLASSES), fc.integer({ min: 1, max: 3 }), { maxKeys: 3 }),
  availabilityZone: fc.constantFrom(undefined, undefined, 'az1'),
  memberOf: fc.constantFrom([], [], [AGGREGATES], [[AGGREGATES[0] as string]]),
  forbiddenAggregates: fc.subarray(AGGREGATES, { maxLength: 1 }),
});

function happening(name: string, run: (world: World) => Promise<void>): Happening {
  return { name, run, [fc.toStringMethod]: () => name } as Happening;
}

function consumer(): fc.Arbitrary<string> {
  return fc.integer({ min: 0, max: 9 }).map((n) => `bbbbbbbb-0000-4000-8000-00000000000${n}`);
}

async function addChild({ placement, clock }: World, parentUuid: string, traits: readonly string[]): Promise<void> {
  const atMs = clock.now();
  const uuid = randomUUID();
  const put = { kind: 'put_provider', atMs, uuid, name: uuid, parentUuid, mode: 'create' } as const;
  if ((await placement.commit(put)).kind !== 'committed') return;
  const given = { VCPU: inventory(4), CUSTOM_GOLD: inventory(2) };
  const about = { providerUuid: uuid, generation: undefined } as const;
  await placement.commit({ kind: 'create_name', atMs, catalogue: 'resource_class', name: 'CUSTOM_GOLD' });
  await mustCommit(placement, { kind: 'write_inventories', atMs, inventories: given, replace: true, ...about });
  for (const name of traits) await placement.commit({ kind: 'create_name', atMs, catalogue: 'trait', name });
  await mustCommit(placement, { kind: 'write_traits', atMs, traits, ...about });
}

async function share({ placement, clock }: World, traits: readonly string[]): Promise<void> {
  const atMs = clock.now();
  const about = { providerUuid: SHARED, generation: undefined } as const;
  const put = { kind: 'put_provider', uuid: SHARED, name: 'shared', parentUuid: undefined, mode: 'create' } as const;
  const made = await placement.commit({ ...put, atMs });
  if (made.kind === 'committed') {
    const given = { MEMORY_MB: inventory(20) };
    await mustCommit(placement, { kind: 'write_inventories', atMs, inventories: given, replace: true, ...about });
    await placement.commit({ kind: 'write_aggregates', atMs, aggregates: [AGGREGATES[0] as string], ...about });
  }
  await placement.commit({ kind: 'write_traits', atMs, traits, ...about });
}
