import type { Clock } from '../domain/clock';
import { BerthError } from '../domain/errors';
import type { Mirror } from '../placement/mirror/mirror';
import type { AggregateCommand, GroupCommand, PlacementStore, RefusedCommit } from '../placement/port/placement-store';

/** Dependencies of the calls about aggregates, zones and groups. */
export interface GroupingDeps {
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly clock: Clock;
  /** Waits until the mirror shows all that the store has seen. */
  readonly catchUp: () => Promise<void>;
}

/** Commits a change, which the mirror shows afterwards. @throws BerthError saying why it is refused. */
export async function commitGrouping(
  command: AggregateCommand | GroupCommand,
  { placement, mirror, clock, catchUp }: GroupingDeps,
): Promise<void> {
  const result = await placement.commit({ ...command, atMs: clock.now() });
  if (result.kind === 'committed') return mirror.apply(result.change);
  if (result.kind !== 'unchanged') throw refusalOf(result);
  // Whoever made it so before may have been another scheduler.
  await catchUp();
}

function refusalOf(result: RefusedCommit): BerthError {
  switch (result.kind) {
    case 'not_found': {
      const [reason, what] = NAMES[result.subject as keyof typeof NAMES];
      return new BerthError('not_found', `no_such_${reason}`, `there is no ${what} '${result.key}'`);
    }
    case 'exists': {
      const [reason, what] = NAMES[result.subject as keyof typeof NAMES];
      const message = `there is another ${what} '${result.key}'`;
      return new BerthError('already_exists', `${reason}_exists`, message);
    }
    case 'zone': {
      const message = `host ${result.host} is in zone '${result.zone}', and would be in two`;
      return new BerthError('failed_precondition', 'other_zone', message, { details: { host: result.host } });
    }
    case 'full': {
      const [reason, what] = NAMES[result.subject as keyof typeof NAMES];
      const message = `the limit of ${result.most} is reached: delete a ${what} first`;
      return new BerthError('resource_exhausted', `too_many_${reason}s`, message);
    }
    case 'in_use':
      return result.subject === 'host'
        ? new BerthError(
            'failed_precondition',
            'host_in_use',
            `host ${result.key} has instances, and would change its zone under them`,
            { details: { host: result.key } },
          )
        : new BerthError('failed_precondition', 'aggregate_in_use', 'the aggregate has hosts: take them out first');
    default:
      return new BerthError('internal', 'unexpected_commit', `the store answered '${result.kind}'`);
  }
}

const NAMES = {
  host: ['host', 'host'],
  aggregate: ['aggregate', 'aggregate'],
  server_group: ['group', 'group'],
} as const;
