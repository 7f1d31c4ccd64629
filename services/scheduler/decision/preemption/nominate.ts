import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { SchedulerConfig } from '../../options';
import type { NoteNotHeld } from '../alternates/not-held';
import type { SelectRequest } from '../complete-request';
import { instancesOf } from '../gang/kinds';
import type { DecidedPreemption } from './find-preemption';

/** Keeps the room that others are about to make for a request, or gives up what was kept for it. */
export type Nominate = (request: SelectRequest, preemption: DecidedPreemption | undefined) => Promise<void>;

export interface NominateParts {
  readonly placement: Pick<PlacementStore, 'commit'>;
  readonly mirror: Pick<PlacementView, 'nominations'> & Pick<Mirror, 'apply'>;
  readonly clock: Clock;
  readonly notHeld: NoteNotHeld;
  readonly config: Pick<SchedulerConfig, 'nominationMs'>;
}

/**
 * Notes in the store, before anybody is told whose place a request could take, where its instances would go: schedulers place
 * nobody of the same or a lower priority there meanwhile (`filters/limits/nominated.ts`). It ends with the claim, or by its time. What
 * can't be noted is not kept: then a new request may come first, and the preemptor looks for other room.
 */
export function nominator({ placement, mirror, clock, notHeld, config }: NominateParts): Nominate {
  return async (request, preemption) => {
    const { spec, priority = 0 } = request;
    const { projectId } = spec;
    const atMs = clock.now();
    const commands = preemption
      ? [...preemption.places].map(([consumerUuid, { rootUuid, allocations }]) => {
          const places = [{ rootUuid, allocations, likelihood: 1 }];
          const untilMs = atMs + config.nominationMs;
          const lease = { kind: 'nomination', consumerUuid, projectId, priority, untilMs, places } as const;
          return { kind: 'write_lease', atMs, lease } as const;
        })
      : givingUp(instancesOf(request), mirror, atMs);
    const note = async (command: (typeof commands)[number]) => {
      const uuid = command.kind === 'write_lease' ? command.lease.consumerUuid : (command.consumerUuids[0] ?? '');
      try {
        const result = await placement.commit(command);
        if (result.kind === 'committed') mirror.apply(result.change);
        else if (result.kind !== 'unchanged') notHeld('nomination', uuid, result.kind);
      } catch (thrown) {
        notHeld('nomination', uuid, BerthError.from(thrown).reason);
      }
    };
    await Promise.all(commands.map(note));
  };
}

function givingUp(instanceUuids: readonly string[], mirror: NominateParts['mirror'], atMs: number) {
  const nominated = new Set(mirror.nominations().map(({ consumerUuid }) => consumerUuid));
  const consumerUuids = instanceUuids.filter((uuid) => nominated.has(uuid));
  return consumerUuids.length === 0 ? [] : [{ kind: 'end_leases', atMs, consumerUuids } as const];
}
