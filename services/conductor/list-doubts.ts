import { type ListDoubtsResponse, listDoubtsMethod } from '#libs/contracts/doubts';
import { type Identity, requireService } from '#libs/contracts/identity';
import type { Conductor } from './context';

/**
 * What is in doubt, and when the store may have lost writes.
 *
 * @throws BerthError `permission_denied / services_only`.
 */
export async function listDoubts(c: Conductor, sender: Identity): Promise<ListDoubtsResponse> {
  requireService(sender, listDoubtsMethod.request.type);
  const [doubts, { bornAtMs, jumps }] = await Promise.all([c.instances.listDoubts(), c.placement.identify()]);
  return {
    doubts: doubts.map(({ evidence: _evidence, ...doubt }) => doubt),
    storeBornAtMs: bornAtMs,
    // A server that goes on begins its revisions at the clock's microseconds.
    storeJumpsAtMs: jumps.map(([, next]) => Math.floor(next / 1_000)),
  };
}
