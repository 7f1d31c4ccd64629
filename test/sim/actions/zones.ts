import { callMethod } from '#libs/bus/typed-calls';
import {
  addAggregateHostMethod,
  createAggregateMethod,
  removeAggregateHostMethod,
  updateAggregateMethod,
} from '#libs/contracts/aggregates';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { type Random, randomInt } from '#libs/domain/random';
import { BAR, HOSTS } from '../settings';
import { confirmed, type Perform, pick, type World } from './common';

/** By its name, the uuid of each zone's aggregate. */
const ZONES = {
  east: 'bbbbbbbb-0000-4000-8000-000000000001',
  west: 'bbbbbbbb-0000-4000-8000-000000000002',
} as const;

/** The names of all zones. */
export const ZONE_NAMES = Object.keys(ZONES) as readonly (keyof typeof ZONES)[];

/** The aggregate whose hosts are for one tenant, or for all again. */
const ISOLATED = { uuid: 'bbbbbbbb-0000-4000-8000-000000000003', name: 'isolated' };
const TENANT = 'filter_tenant_id';
const CALL = { timeoutMs: 1_000 };

/** An operator puts a host into a zone, out of another if it was in one: refused as long as instances are there. */
export function putIntoZone(random: Random): Perform {
  const host = pick(random, HOSTS);
  const zone = pick(random, ZONE_NAMES);
  return (world) => void confirmed(moveToZone(world, host, zone));
}

async function moveToZone({ fleet }: World, host: string, zone: keyof typeof ZONES): Promise<void> {
  const { bus } = fleet.member('operator');
  for (const name of ZONE_NAMES) {
    const created = { uuid: ZONES[name], name, metadata: { availability_zone: name } };
    await callMethod({ bus, queue: RPC_SCHEDULER }, createAggregateMethod, created, CALL);
  }
  for (const aggregate of ZONE_NAMES.filter((name) => name !== zone)) {
    await callMethod({ bus, queue: RPC_SCHEDULER }, removeAggregateHostMethod, { aggregate, host }, CALL);
  }
  await callMethod({ bus, queue: RPC_SCHEDULER }, addAggregateHostMethod, { aggregate: zone, host }, CALL);
}

/** Aggregates whose hosts take nobody: by a taint that no request tolerates, by a filter that the operator declared. */
const BARRED = {
  tainted: { uuid: 'bbbbbbbb-0000-4000-8000-000000000004', metadata: { [`taint:${BAR}`]: 'yes' } },
  ruled: { uuid: 'bbbbbbbb-0000-4000-8000-000000000005', metadata: { [BAR]: 'yes' } },
} as const;

/** An operator taints some hosts, or bars them by a rule of its own, or opens them again. */
export function barsHost(random: Random): Perform {
  const hosts = HOSTS.filter(() => randomInt(random, 2) === 0);
  const name = pick(random, Object.keys(BARRED) as (keyof typeof BARRED)[]);
  const opens = randomInt(random, 4) === 0;
  return ({ fleet }) => {
    const { bus } = fleet.member('operator');
    const on = { bus, queue: RPC_SCHEDULER };
    const bar = async () => {
      await confirmed(callMethod(on, createAggregateMethod, { name, ...BARRED[name] }, CALL));
      const method = opens ? removeAggregateHostMethod : addAggregateHostMethod;
      await Promise.all(hosts.map((host) => callMethod(on, method, { aggregate: name, host }, CALL)));
    };
    void confirmed(bar());
  };
}

/** An operator keeps a host for one tenant, or the hosts that are kept so for the other, or for all. */
export function isolatesTenant(random: Random): Perform {
  const host = pick(random, HOSTS);
  const tenant = pick(random, ['tenant-a', 'tenant-b']);
  const forAll = randomInt(random, 4) === 0;
  return (world) => void confirmed(isolate(world, host, forAll ? undefined : tenant));
}

async function isolate({ fleet }: World, host: string, tenant: string | undefined): Promise<void> {
  const { bus } = fleet.member('operator');
  await confirmed(
    callMethod({ bus, queue: RPC_SCHEDULER }, createAggregateMethod, { ...ISOLATED, metadata: {} }, CALL),
  );
  const setMetadata: Record<string, string> = tenant === undefined ? {} : { [TENANT]: tenant };
  const change = { setMetadata, unsetMetadata: tenant === undefined ? [TENANT] : [] };
  const named = { aggregate: ISOLATED.name, name: '' };
  await callMethod({ bus, queue: RPC_SCHEDULER }, updateAggregateMethod, { ...named, ...change }, CALL);
  await callMethod({ bus, queue: RPC_SCHEDULER }, addAggregateHostMethod, { aggregate: ISOLATED.name, host }, CALL);
}
