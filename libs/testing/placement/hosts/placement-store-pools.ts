import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { inventory, type Resources } from '../../../domain/inventory';
import type { ConsumerWrite, JoinPool, PlacementStore, Pool } from '../../../placement/port/placement-store';
import type { PlacementStoreWorld } from '../placement';
import { AT_MS, aReport, aWrite, mustAcquire, mustReport } from '../placement';

const LEASE_MS = 500;
/** A store with its own clock needs real time to pass; the others use `atMs`. */
const LATER_MS = 800;

function aMember(serviceHost: string, fields: Partial<JoinPool> = {}): JoinPool {
  const agentRun = `run of ${serviceHost}`;
  return { atMs: AT_MS, pool: 'metal', serviceHost, agentRun, weight: 1, leaseMs: 60_000, ...fields };
}

/** Pools keep members as long as their leases; only its present holder writes a node. */
export function describePools(open: () => PlacementStoreWorld): void {
  describe('pools of nodes', () => {
    let store: PlacementStore;
    beforeEach(() => {
      store = open().store;
    });
    const leaseRunsOut = () => setTimeout(LATER_MS);
    const mustJoin = async (member: JoinPool, at = store): Promise<Pool> => {
      const answer = await at.joinPool(member);
      if (answer.kind !== 'member') throw new Error(`not a member: ${JSON.stringify(answer)}`);
      return answer.pool;
    };
    const namesOf = ({ members }: Pool) => members.map(({ serviceHost }) => serviceHost);

    it('names all members to each, with their weights, and raises the epoch with each that joins', async () => {
      const first = await mustJoin(aMember('b', { weight: 2.5 }));
      const second = await mustJoin(aMember('a'), await open().another());
      expect(second.epoch).toBeGreaterThan(first.epoch);
      expect(second.members).toEqual([
        { serviceHost: 'a', agentRun: 'run of a', weight: 1 },
        { serviceHost: 'b', agentRun: 'run of b', weight: 2.5 },
      ]);
      expect(await mustJoin(aMember('b', { weight: 2.5 }))).toEqual(second);
    });

    it('raises the epoch when a weight changes, and not when a lease is renewed', async () => {
      const first = await mustJoin(aMember('a'));
      expect((await mustJoin(aMember('a'))).epoch).toBe(first.epoch);
      expect((await mustJoin(aMember('a', { weight: 2 }))).epoch).toBeGreaterThan(first.epoch);
    });

    it('keeps pools apart', async () => {
      await mustJoin(aMember('a'));
      expect(namesOf(await mustJoin(aMember('b', { pool: 'other' })))).toEqual(['b']);
    });

    it('forgets a member whose lease ran out, and raises the epoch once', async () => {
      await mustJoin(aMember('a', { leaseMs: LEASE_MS }));
      const before = await mustJoin(aMember('b'));
      await leaseRunsOut();
      const after = await mustJoin(aMember('b', { atMs: AT_MS + LATER_MS }));
      expect(namesOf(after)).toEqual(['b']);
      expect(after.epoch).toBeGreaterThan(before.epoch);
      expect((await mustJoin(aMember('b', { atMs: AT_MS + LATER_MS }))).epoch).toBe(after.epoch);
    });

    it('takes a member back that was paused beyond its lease, with a higher epoch', async () => {
      const before = await mustJoin(aMember('a', { leaseMs: LEASE_MS }));
      await leaseRunsOut();
      expect((await mustJoin(aMember('a', { atMs: AT_MS + LATER_MS }))).epoch).toBeGreaterThan(before.epoch);
    });

    it('refuses a second run of a service host while the first lives, unless it knows that to be dead', async () => {
      await mustJoin(aMember('a'));
      expect(await store.joinPool(aMember('a', { agentRun: 'second' }))).toEqual({
        kind: 'taken',
        holder: { serviceHost: 'a', agentRun: 'run of a' },
        leftMs: expect.any(Number),
      });
      const next = await mustJoin(aMember('a', { agentRun: 'second', formerRun: 'run of a' }));
      expect(next.members).toMatchObject([{ agentRun: 'second' }]);
    });

    it('ends a membership at once for the run that has it, and for no other', async () => {
      await mustJoin(aMember('a'));
      const before = await mustJoin(aMember('b'));
      await store.leavePool({ pool: 'metal', serviceHost: 'a', agentRun: 'another' });
      expect(await mustJoin(aMember('b'))).toEqual(before);
      await store.leavePool({ pool: 'metal', serviceHost: 'a', agentRun: 'run of a' });
      const after = await mustJoin(aMember('b'));
      expect(namesOf(after)).toEqual(['b']);
      expect(after.epoch).toBeGreaterThan(before.epoch);
      await store.leavePool({ pool: 'metal', serviceHost: 'b', agentRun: 'run of b' });
      expect(namesOf(await mustJoin(aMember('c')))).toEqual(['c']);
    });

    it('writes what is remembered of a node for its present holder alone', async () => {
      const epoch = await mustAcquire(store, { leaseMs: LEASE_MS });
      expect(await store.writeNode({ host: 'host-1', epoch, updatedAtMs: 1, content: 'first' })).toEqual({
        kind: 'written',
      });
      await leaseRunsOut();
      const next = await mustAcquire(store, { agentRun: 'run-2', atMs: AT_MS + LATER_MS });
      const late = { host: 'host-1', epoch, updatedAtMs: 2, content: 'of one that was paused' };
      expect(await store.writeNode(late)).toEqual({ kind: 'epoch', present: next });
      expect(await store.nodes(['host-1', 'host-2'])).toEqual(['first', undefined]);
      await store.writeNode({ host: 'host-1', epoch: next, updatedAtMs: 1, content: 'second' });
      expect(await (await open().another()).nodes(['host-2', 'host-1'])).toEqual([undefined, 'second']);
    });

    it('leaves out what comes late, after a later change of a node under the same epoch', async () => {
      const epoch = await mustAcquire(store, { leaseMs: LEASE_MS });
      const write = (updatedAtMs: number, content: string, by = epoch) =>
        store.writeNode({ host: 'host-1', epoch: by, updatedAtMs, content });
      await write(2, 'active');
      expect(await write(1, 'deploying')).toEqual({ kind: 'written' });
      expect(await store.nodes(['host-1'])).toEqual(['active']);
      await leaseRunsOut();
      const next = await mustAcquire(store, { agentRun: 'run-2', atMs: AT_MS + LATER_MS });
      await write(1, 'as its next holder has it', next);
      expect(await store.nodes(['host-1'])).toEqual(['as its next holder has it']);
    });

    it('refuses to write a node that nobody holds', async () => {
      expect(await store.writeNode({ host: 'host-1', epoch: 7, updatedAtMs: 1, content: '' })).toEqual({
        kind: 'epoch',
        present: undefined,
      });
      expect(await store.nodeNames()).toEqual([]);
    });

    it('says who holds hosts, and of those given back and those that nobody held that nobody does', async () => {
      const epoch = await mustAcquire(store, { hosts: ['host-1'], serviceHost: 'a', agentRun: 'run of a' });
      await mustAcquire(store, { hosts: ['host-2'], serviceHost: 'b', agentRun: 'run of b' });
      await store.releaseHosts({ hosts: ['host-2'], serviceHost: 'b', agentRun: 'run of b' });
      const held = { epoch, serviceHost: 'a', agentRun: 'run of a' };
      expect(await store.holders(['host-3', 'host-1', 'host-2'])).toEqual([undefined, held, undefined]);
      expect(await store.holders([])).toEqual([]);
    });

    it('gives a node of bare metal to one consumer, whatever classes it shows', async () => {
      const [node, by, other] = [randomUUID(), randomUUID(), randomUUID()];
      const whole = (total: number) => inventory(total, { minUnit: total, maxUnit: total });
      const inventories = { VCPU: whole(64), MEMORY_MB: whole(1_024), CUSTOM_BAREMETAL_GOLD: inventory(1) };
      await mustReport(store, aReport({ providerUuid: node, host: 'node-1', inventories }));
      const claim = (uuid: string, resources: Resources, fields: Partial<ConsumerWrite> = {}) =>
        store.commit({
          kind: 'write_allocations',
          atMs: AT_MS,
          consumers: [aWrite({ [node]: resources }, { uuid, owner: 'conductor', ...fields })],
        });
      const amounts = { VCPU: 64, MEMORY_MB: 1_024 };
      const first = await claim(by, amounts);
      expect(first.kind).toBe('committed');
      for (const resources of [{ CUSTOM_BAREMETAL_GOLD: 1 }, { MEMORY_MB: 1_024 }, amounts]) {
        for (const owner of ['conductor', 'api'] as const)
          expect(await claim(other, resources, { owner })).toMatchObject({
            kind: 'capacity',
            refusal: 'capacity',
            providerUuid: node,
          });
      }
      const { claimToken = 0 } = first as { claimToken?: number };
      const healed = await claim(by, { CUSTOM_BAREMETAL_GOLD: 1 }, { expect: { kind: 'claim', claimToken } });
      expect(healed.kind).toBe('committed');
      expect(await claim(other, amounts)).toMatchObject({ kind: 'capacity', refusal: 'capacity' });
      const [consumer] = await store.consumers([by]);
      expect(consumer?.allocations).toEqual({ [node]: { CUSTOM_BAREMETAL_GOLD: 1 } });
    });

    it('names all nodes, sorted', async () => {
      for (const host of ['c', 'a', 'b']) {
        const epoch = await mustAcquire(store, { hosts: [host] });
        await store.writeNode({ host, epoch, updatedAtMs: 1, content: host });
      }
      expect(await store.nodeNames()).toEqual(['a', 'b', 'c']);
    });
  });
}
