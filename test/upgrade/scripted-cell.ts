import { inventory } from '#libs/domain/inventory';
import type { openInstanceStore } from '#libs/instances/open';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { aFlavor } from '#libs/testing/instances/flavor-contract';
import { anInstance, nextVersion } from '#libs/testing/instances/instance';
import { AT_MS, aReport, aWrite, mustCommit, mustReport } from '#libs/testing/placement/placement';
import type { RecordedCell } from './fixtures';

const uuid = (n: number) => `b0000000-0000-4000-8000-00000000000${n}`;

export const HOST_PROVIDER = aReport().providerUuid;
export const [ACTIVE, SCHEDULING, DELETED] = [uuid(1), uuid(2), uuid(3)];
/** The version of `DELETED` was written then. */
export const DELETED_AT_MS = 1_000;
const GPU_PROVIDER = 'c0000000-0000-4000-8000-000000000001';
const AGGREGATE = 'd0000000-0000-4000-8000-000000000001';

interface Stores {
  readonly placement: PlacementStore;
  readonly instances: Awaited<ReturnType<typeof openInstanceStore>>;
}

/** Writes to an empty cell rows of each kind that processes go on with. */
export async function scriptCell(stores: Stores): Promise<Pick<RecordedCell, 'claimToken' | 'epoch'>> {
  await writeProviders(stores.placement);
  const claimToken = await writeClaims(stores.placement);
  return { claimToken, epoch: await writeInstances(stores.instances, claimToken) };
}

async function writeProviders(placement: PlacementStore): Promise<void> {
  const providerUuid = GPU_PROVIDER;
  await mustCommit(placement, { kind: 'create_name', catalogue: 'resource_class', name: 'CUSTOM_GOLD' });
  await mustCommit(placement, { kind: 'create_name', catalogue: 'trait', name: 'CUSTOM_FAST' });
  await mustReport(placement, aReport());
  const gpu = { uuid: GPU_PROVIDER, name: 'host-1-gpu', parentUuid: HOST_PROVIDER } as const;
  await mustCommit(placement, { kind: 'put_provider', ...gpu, mode: 'create' });
  const inventories = { CUSTOM_GOLD: inventory(2) };
  const replaced = { providerUuid, generation: undefined, inventories, replace: true };
  await mustCommit(placement, { kind: 'write_inventories', ...replaced });
  await mustCommit(placement, { kind: 'write_traits', providerUuid, generation: undefined, traits: ['CUSTOM_FAST'] });
  await placement.reportHost(aReport({ sequence: 2 }));
  const aggregate = { uuid: AGGREGATE, name: 'rack 1', metadata: { cooled: 'yes' } };
  await mustCommit(placement, { kind: 'create_aggregate', ...aggregate });
  await mustCommit(placement, { kind: 'add_aggregate_host', uuid: AGGREGATE, host: 'host-1' });
  await mustCommit(placement, { kind: 'set_host_enabled', host: 'host-1', enabled: false, reason: 'new disks' });
}

/** @returns the token of the claim of `ACTIVE` */
async function writeClaims(placement: PlacementStore): Promise<number> {
  const settings = { policy: 'anti-affinity', maxPerHost: 1 } as const;
  await mustCommit(placement, { kind: 'create_group', projectId: 'project-1', name: 'web', metadata: {}, ...settings });
  const quota = { version: 0, limits: { VCPU: 4 }, borrowLimits: { VCPU: 2 }, cohort: 'research', unset: [] };
  await mustCommit(placement, { kind: 'write_quota', projectId: 'project-1', ...quota });
  const held = { [HOST_PROVIDER]: { VCPU: 2 }, [GPU_PROVIDER]: { CUSTOM_GOLD: 1 } };
  const active = aWrite(held, { uuid: ACTIVE, group: { group: { id: 'g1', ...settings }, host: 'host-1' } });
  const claimed = await placement.commit({
    kind: 'write_allocations',
    consumers: [active],
    withinQuota: true,
    atMs: AT_MS,
  });
  if (claimed.kind !== 'committed') throw new Error(`not claimed: ${JSON.stringify(claimed)}`);
  const scheduling = aWrite({ [HOST_PROVIDER]: { VCPU: 1 } }, { uuid: SCHEDULING, projectId: 'pröjekt', owner: 'api' });
  await mustCommit(placement, { kind: 'write_allocations', consumers: [scheduling] });
  const places = [{ rootUuid: HOST_PROVIDER, allocations: { [HOST_PROVIDER]: { VCPU: 1 } }, likelihood: 0.1 }];
  const lease = { kind: 'nomination', consumerUuid: SCHEDULING, projectId: 'pröjekt', priority: 10 } as const;
  await mustCommit(placement, { kind: 'write_lease', lease: { ...lease, untilMs: AT_MS + 60_000, places } });
  return claimed.claimToken;
}

/** @returns the epoch of the lease that `conductor-1` holds */
async function writeInstances(instances: Stores['instances'], claimToken: number): Promise<number> {
  const active = anInstance({ uuid: ACTIVE, requestId: uuid(5) });
  const attempt = { number: 1, host: 'host-1', outcome: 'active', reason: '', message: '', startedAtMs: 1 } as const;
  const attempts = [{ ...attempt, endedAtMs: 2 }];
  const scheduling = anInstance({ uuid: SCHEDULING, requestId: uuid(6), dueAtMs: AT_MS + 60_000 });
  const deleted = anInstance({ uuid: DELETED, requestId: uuid(7) });
  for (const one of [active, scheduling, deleted]) await instances.create(one.requestId, [one]);
  await instances.update(nextVersion(active, { state: 'active', host: 'host-1', claimToken, attempts }));
  await instances.update(nextVersion(deleted, { state: 'deleted', updatedAtMs: DELETED_AT_MS }));
  for (const { uuid: one } of [active, deleted]) await instances.markPublished(one, 2);
  await instances.noteDoubt({
    instanceUuid: ACTIVE,
    host: 'host-1',
    finding: 'stray',
    message: 'two of it',
    evidence: Uint8Array.of(1, 2),
    seenAtMs: AT_MS,
  });
  await instances.writeFlavor(aFlavor(), undefined);
  const lease = await instances.acquire('audit', 'conductor-1', 60_000);
  if (!lease) throw new Error('the lease is held');
  return lease.epoch;
}
