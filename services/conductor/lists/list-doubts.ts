import type { ListDoubtsResponse } from '#libs/contracts/doubts';
import type { Conductor } from '../conductor';

/**
 * Lists doubts, and the time up to which the store may have lost writes.
 */
export async function listDoubts(c: Conductor): Promise<ListDoubtsResponse> {
  const [doubts, { bornAtMs, jumps }] = await Promise.all([c.instances.listDoubts(), c.placement.identify()]);
  return {
    doubts: doubts.map(({ evidence: _evidence, ...doubt }) => doubt),
    storeBornAtMs: bornAtMs,
    // A server that goes on begins its revisions at the clock's microseconds.
    storeJumpsAtMs: jumps.map(([, next]) => Math.floor(next / 1_000)),
  };
}
