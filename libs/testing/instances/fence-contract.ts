import type { InstanceStore } from '../../instances/store';
import type { PlacementStore } from '../../placement/port/placement-store';
import { anInstance, nextVersion } from './instance';

/** A store of instances, and the placement store of the same cell. */
export interface FenceWorld {
  readonly store: InstanceStore;
  readonly placement: Pick<PlacementStore, 'acquireHosts' | 'close'>;
  readonly nowMs: () => number;
  readonly pass: (durationMs: number) => Promise<void>;
}

/** Writes behind a fence, which every adapter of the instance store checks in the same commit. */
export function describeFence(adapter: string, open: () => Promise<FenceWorld>): void {
  it(`${adapter}: writes a record behind a fence only while the host is held by that epoch`, async () => {
    const { store, placement, nowMs, pass } = await open();
    const fence = { agentRun: 'a fence', serviceHost: 'h1', hosts: ['h1'], leaseMs: 300, atMs: nowMs() };
    const [grant] = await placement.acquireHosts(fence);
    const epoch = grant?.kind === 'granted' ? grant.epoch : 0;
    const one = anInstance({ state: 'rebuilding', host: 'h1' });
    await store.create(one.requestId, [one]);
    const next = nextVersion(one, { state: 'building', host: 'h2' });
    const unfenced = { updated: false, isUnfenced: true, instance: one };
    expect(await store.update(next, { fence: { host: 'h1', epoch: epoch + 1 } })).toMatchObject(unfenced);
    expect(await store.update(next, { fence: { host: 'h1', epoch } })).toMatchObject({ updated: true });
    await pass(400);
    const later = nextVersion(next, { state: 'active' });
    expect(await store.update(later, { fence: { host: 'h1', epoch } })).toMatchObject({
      updated: false,
      isUnfenced: true,
    });
    expect(await store.get([one.uuid])).toEqual([next]);
    await Promise.all([store.close(), placement.close()]);
  });
}
