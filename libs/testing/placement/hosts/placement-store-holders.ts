import { setTimeout } from 'node:timers/promises';
import type { PlacementStore } from '../../../placement/port/placement-store';
import type { PlacementStoreWorld } from '../placement';
import { AT_MS, anAcquisition, aReport, commit, mustAcquire, mustCommit, mustReport } from '../placement';

const LEASE_MS = 500;
/** A store with its own clock needs real time to pass; the others use `atMs`. */
const LATER_MS = 800;

/** Each host has one holder at a time, and only its reports are accepted. */
export function describeHolders(open: () => PlacementStoreWorld): void {
  describe('hosts and their holders', () => {
    let store: PlacementStore;
    beforeEach(() => {
      store = open().store;
    });
    const other = { agentRun: 'run-2' };
    const leaseRunsOut = () => setTimeout(LATER_MS);

    it('gives a host to one run at a time, and says who has it', async () => {
      const hosts = ['host-1', 'host-2'];
      await mustAcquire(store, { hosts: ['host-1'] });
      const grants = await (await open().another()).acquireHosts(anAcquisition({ ...other, hosts }));
      expect(grants).toEqual([
        { kind: 'taken', holder: { agentRun: 'run-1', serviceHost: 'host-1' }, leftMs: expect.any(Number) },
        { kind: 'granted', epoch: expect.any(Number) },
      ]);
      const [taken] = grants;
      expect(taken?.kind === 'taken' && taken.leftMs > 50_000 && taken.leftMs <= 60_000).toBe(true);
    });

    it('gives a host that many ask for at once to one of them', async () => {
      const runs = Array.from({ length: 20 }, (_, n) => anAcquisition({ agentRun: `run-${n}` }));
      const grants = await Promise.all(runs.map((wanted) => store.acquireHosts(wanted)));
      expect(grants.flat().filter(({ kind }) => kind === 'granted')).toHaveLength(1);
    });

    it('keeps the epoch of a run that asks again', async () => {
      const epoch = await mustAcquire(store);
      expect(await mustAcquire(store)).toBe(epoch);
    });

    it('gives what a run holds to the run that knows it to be dead, with a higher epoch', async () => {
      const epoch = await mustAcquire(store, { hosts: ['host-1'] });
      const next = await mustAcquire(store, { ...other, formerRun: 'run-1' });
      expect(next).toBeGreaterThan(epoch);
      expect(await store.reportHost(aReport({ epoch }))).toEqual({ kind: 'epoch', present: next });
      expect(await store.acquireHosts(anAcquisition({ agentRun: 'run-3', formerRun: 'run-1' }))).toMatchObject([
        { kind: 'taken' },
      ]);
      const stranger = { agentRun: 'run-3', serviceHost: 'rack-1', formerRun: 'run-2' };
      expect(await store.acquireHosts(anAcquisition(stranger))).toMatchObject([{ kind: 'taken' }]);
    });

    it('takes the same run under another service host for another holder', async () => {
      await mustAcquire(store);
      expect(await store.acquireHosts(anAcquisition({ serviceHost: 'rack-1' }))).toMatchObject([{ kind: 'taken' }]);
    });

    it('gives a host whose lease ran out to the next, with a higher epoch, and refuses the reports of the one before', async () => {
      const epoch = await mustAcquire(store, { leaseMs: LEASE_MS });
      await mustReport(store, aReport({ epoch }));
      await leaseRunsOut();
      const next = await mustAcquire(store, { ...other, atMs: AT_MS + LATER_MS });
      expect(next).toBeGreaterThan(epoch);
      const late = [
        aReport({ epoch, sequence: 2 }),
        aReport({ epoch, sequence: 3, ioOps: 5 }),
        aReport({ sequence: 4 }),
      ];
      for (const report of late) expect(await store.reportHost(report)).toEqual({ kind: 'epoch', present: next });
      await mustReport(store, aReport({ ...other, epoch: next }));
    });

    it('renews the lease with every report, those that say nothing new, too', async () => {
      const leaseMs = LATER_MS * 2;
      const epoch = await mustAcquire(store, { leaseMs });
      await mustReport(store, aReport({ epoch }));
      for (const sequence of [2, 3, 4]) {
        await leaseRunsOut();
        const atMs = AT_MS + (sequence - 1) * LATER_MS;
        expect(await store.reportHost(aReport({ epoch, sequence, atMs }))).toEqual({ kind: 'unchanged' });
      }
      const atMs = AT_MS + 4 * LATER_MS;
      expect(await store.acquireHosts(anAcquisition({ ...other, atMs }))).toMatchObject([{ kind: 'taken' }]);
    });

    it('renews the lease with a report that says something new', async () => {
      const epoch = await mustAcquire(store, { leaseMs: LATER_MS * 1.5 });
      await leaseRunsOut();
      await mustReport(store, aReport({ epoch, ioOps: 1, atMs: AT_MS + LATER_MS }));
      await leaseRunsOut();
      const late = anAcquisition({ ...other, atMs: AT_MS + 2 * LATER_MS });
      expect(await store.acquireHosts(late)).toMatchObject([{ kind: 'taken' }]);
    });

    it('gives a host back at once, from which on its reports are refused', async () => {
      const epoch = await mustAcquire(store);
      const { agentRun, serviceHost, hosts } = anAcquisition();
      await store.releaseHosts({ agentRun: 'run-9', serviceHost, hosts });
      await mustReport(store, aReport({ epoch }));
      await store.releaseHosts({ agentRun, serviceHost, hosts });
      expect(await store.reportHost(aReport({ epoch, sequence: 2 }))).toMatchObject({ kind: 'epoch' });
      expect(await mustAcquire(store, other)).toBeGreaterThan(epoch + 1);
    });

    it('refuses the epoch that it does not know, as after a loss of the store', async () => {
      expect(await store.reportHost(aReport({ epoch: 7 }))).toEqual({ kind: 'epoch', present: undefined });
      const epoch = await mustAcquire(store);
      const change = await mustReport(store, aReport({ epoch }));
      expect(change.hosts).toMatchObject([{ name: 'host-1', epoch }]);
      await mustCommit(store, { kind: 'delete_provider', uuid: aReport().providerUuid });
      expect(await store.reportHost(aReport({ epoch, sequence: 2 }))).toEqual({ kind: 'epoch', present: undefined });
    });

    it('commits nothing for an acquisition, which mirrors need not know', async () => {
      await mustReport(store, aReport());
      const revision = await store.revision();
      await mustAcquire(store);
      expect(await store.revision()).toBe(revision);
      expect(await commit(store, { kind: 'sweep_hosts', silentSinceMs: AT_MS - 1, limit: 10 })).toEqual({
        kind: 'unchanged',
      });
    });
  });
}
