import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Log } from '#libs/runtime/log';
import type { SchedulerConfig } from '../../options';
import type { DecidedPreemption, SelectRequest } from '../decide';

/** Keeps the room that others are about to make for a request, or gives up what was kept for it. */
export type Nominate = (request: SelectRequest, preemption: DecidedPreemption | undefined) => Promise<void>;

export interface NominateParts {
  readonly placement: Pick<PlacementStore, 'commit'>;
  readonly mirror: Pick<PlacementView, 'nominations'> & Pick<Mirror, 'apply'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: Pick<SchedulerConfig, 'nominationMs'>;
}

/**
 * Notes in the store, before anybody is told whose place a request could take, where its instances would go: schedulers place
 * nobody of the same or a lower priority there meanwhile (`filters/limits/nominated.ts`). It ends with the claim, or by its time. What
 * can't be noted is not kept: then a new request may come first, and the preemptor looks for other room.
 */
export function nominator({ placement, mirror, clock, log, config }: NominateParts): Nominate {
  return async ({ instanceUuids, spec: { projectId }, priority = 0 }, preemption) => {
    const atMs = clock.now();
    const commands = preemption
      ? [...preemption.places].map(([consumerUuid, { rootUuid, allocations }]) => {
          const places = [{ rootUuid, allocations, likelihood: 1 }];
          const untilMs = atMs + config.nominationMs;
          const lease = { kind: 'nomination', consumerUuid, projectId, priority, untilMs, places } as const;
          return { kind: 'write_lease', atMs, lease } as const;
        })
      : givingUp(instanceUuids, mirror, atMs);
    try {
      const results = await Promise.all(commands.map((command) => placement.commit(command)));
      for (const result of results) if (result.kind === 'committed') mirror.apply(result.change);
    } catch (thrown) {
      const { reason } = BerthError.from(thrown);
      log.warn({ event: 'not_nominated', reason }, 'the room that others are to make is not kept from new requests');
    }
  };
}

function givingUp(instanceUuids: readonly string[], mirror: NominateParts['mirror'], atMs: number) {
  const nominated = new Set(mirror.nominations().map(({ consumerUuid }) => consumerUuid));
  const consumerUuids = instanceUuids.filter((uuid) => nominated.has(uuid));
  return consumerUuids.length === 0 ? [] : [{ kind: 'end_leases', atMs, consumerUuids } as const];
}
