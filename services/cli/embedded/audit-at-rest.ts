import { sleep } from '#libs/domain/clock';
import type { Context } from '../context';
import type { Audit } from './audit';
import type { EmbeddedFleet } from './fleet';

/** What has not come right by then is wrong. */
const AUDIT_TIMEOUT_MS = 15_000;
const AUDIT_INTERVAL_MS = 50;

/** Audits a fleet of which nothing is asked any more: the last releases may still be on their way. */
export async function auditAtRest({ clock }: Context, fleet: EmbeddedFleet): Promise<Audit> {
  const untilMs = clock.now() + AUDIT_TIMEOUT_MS;
  for (;;) {
    const audit = await fleet.audit();
    if ((audit.leaked === 0 && audit.overAllocated === 0) || clock.now() > untilMs) return audit;
    await sleep(clock, AUDIT_INTERVAL_MS);
  }
}
