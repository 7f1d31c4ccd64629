import type { Bus } from '../bus/port';
import { callMethod } from '../bus/typed-calls';
import { RPC_CONDUCTOR } from '../contracts/queues';
import { releaseClaimsMethod } from '../contracts/release-claims';
import type { Destination } from '../contracts/selection';

const CALL_TIMEOUT_MS = 5_000;

/**
 * Gives back what a cell selected and nobody is to build there. A cell that does not hear it has claims without records, which its audit
 * releases: that is their expiry. Throws `unavailable`, `deadline_exceeded`.
 */
export async function giveBack(bus: Bus, destinations: readonly Destination[], signal?: AbortSignal): Promise<void> {
  if (destinations.length === 0) return;
  const claims = destinations.map(({ instanceUuid, claimToken }) => ({ instanceUuid, claimToken }));
  const options = { timeoutMs: CALL_TIMEOUT_MS, ...(signal && { signal }) };
  await callMethod({ bus, queue: RPC_CONDUCTOR }, releaseClaimsMethod, { claims }, options);
}
