import type { Bus } from '#libs/bus/port';
import type { Client } from '#libs/client/client';
import { visitDeadLetters } from '#libs/client/dead-letters';
import type { InstanceOperation } from '#libs/contracts/operations';
import type { Clock } from '#libs/domain/clock';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { MAX_BULK } from '../api/instances';
import { rehearsalLine, shownLine, type Words } from '../rehearsals/command-line';
import type { Rehearsals } from '../rehearsals/rehearsals';
import type { Drains } from './drains';
import type { OperatorActions } from './operator-actions';

export interface ActionParts {
  readonly bus: Bus;
  readonly client: Client;
  readonly clock: Clock;
  readonly drains: Drains;
  readonly actions: OperatorActions;
  readonly rehearsals: Rehearsals;
}

/** An operator's action, with its target and its arguments. */
export interface ConsoleAction {
  /** `host_disable`, `instance_terminate`. */
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, string>>;
  /** @throws the error of the service that executes it. */
  readonly work: () => Promise<unknown>;
}

/** Limit of the dead letters searched for the requested one. */
export const MOST_DEAD_LETTERS = 500;

/** An action on a host. @throws BerthError `invalid_argument / bad_action`. */
export function hostAction({ client, drains }: ActionParts, host: string, words: Words, userId: string): ConsoleAction {
  const { action = '', reason = '' } = words;
  const works: Readonly<Record<string, () => Promise<unknown>>> = {
    enable: () => client.setHostEnabled(host, true),
    disable: () => client.setHostEnabled(host, false, reason),
    drain: () => drains.start(host, userId, reason === '' ? 'drained' : reason),
    stop_drain: async () => drains.stop(host),
    trust: () => client.clearHostFailures(host),
    delete: () => client.deleteHost(host),
  };
  return { action: `host_${action}`, target: host, details: given({ reason }), work: workOf(works, action) };
}

const OPERATIONS: readonly InstanceOperation[] = [
  'stop',
  'start',
  'shelve',
  'unshelve',
  'evacuate',
  'migrate',
  'live_migrate',
  'confirm',
  'revert',
];

/** An action on an instance. @throws BerthError `invalid_argument / bad_action`. */
export function instanceAction({ client }: ActionParts, uuid: string, words: Words): ConsoleAction {
  const { action = '', targetHost = '', flavor = '' } = words;
  const to = { targetHost: targetHost === '' ? undefined : targetHost };
  const works: Record<string, () => Promise<unknown>> = {
    terminate: async () => {
      // A sent request is not yet done: a missing instance is reported at once.
      await client.instance(uuid);
      await client.terminate(uuid);
    },
    resize: () => client.operate(uuid, 'resize', { resizeTo: { flavor: { name: flavor, version: 0 } } }),
  };
  for (const operation of OPERATIONS) works[operation] = () => client.operate(uuid, operation, to);
  const details = given({ target_host: targetHost, flavor });
  return { action: `instance_${action}`, target: uuid, details, work: workOf(works, action) };
}

/** Actions on several instances at once: those that mean the same for each. */
const BULK_ACTIONS: readonly string[] = [
  'terminate',
  'stop',
  'start',
  'live_migrate',
  'evacuate',
  'shelve',
  'unshelve',
];

/**
 * The same action on each of `uuids`, joined by commas. @throws BerthError `invalid_argument / bad_action`, `/ bad_uuids`.
 */
export function bulkActions(parts: ActionParts, words: Words): readonly ConsoleAction[] {
  const { action = '', uuids = '' } = words;
  if (!BULK_ACTIONS.includes(action)) {
    throw invalidArgument('bad_action', `action must be one of ${BULK_ACTIONS.join(', ')}`, 'action');
  }
  const targets = [...new Set(uuids.split(',').map((uuid) => uuid.trim().toLowerCase()))];
  if (targets.length > MAX_BULK || !targets.every(isUuid)) {
    throw invalidArgument('bad_uuids', `uuids must be 1 to ${MAX_BULK} uuids, joined by commas`, 'uuids');
  }
  const details = targets.length > 1 ? { bulk: `one of ${targets.length}` } : {};
  return targets.map((uuid) => ({ ...instanceAction(parts, uuid, { action }), details }));
}

/** Requeues dead letters: the named one, or all with a reason. @throws BerthError `invalid_argument`. */
export function dead({ bus, clock }: ActionParts, words: Words): ConsoleAction {
  const { action = '', id = '', reason = '' } = words;
  if (id === '' && reason === '') throw invalidArgument('missing_field', 'id or reason is missing', 'id');
  const requeue = async () => {
    let found = 0;
    const [refused] = await visitDeadLetters(bus, clock, MOST_DEAD_LETTERS, (letter) => {
      const isMeant = (id === '' || letter.id === id) && (reason === '' || letter.reason === reason);
      if (!isMeant || letter.queue === '' || letter.reason === 'expired') return 'leave';
      found += 1;
      return 'requeue';
    });
    if (refused !== undefined) throw refused.error;
    if (found === 0)
      throw new BerthError('not_found', 'no_such_dead_letter', 'no dead letter that can be sent again is meant');
  };
  return {
    action: `dead_letters_${action}`,
    target: id,
    details: given({ reason }),
    work: workOf({ requeue }, action),
  };
}

/** Starts a rehearsal, or cancels the one with `id`. @throws BerthError `invalid_argument / bad_action`, `/ bad_rehearsal`. */
export function rehearsalAction({ rehearsals }: ActionParts, words: Words, userId: string): ConsoleAction {
  const { action = '', id = '' } = words;
  if (action !== 'start') {
    const cancel = async () => rehearsals.cancel(id);
    return { action: `rehearsal_${action}`, target: id, details: {}, work: workOf({ cancel }, action) };
  }
  const line = rehearsalLine(words);
  const details = { line: shownLine(line) };
  return { action: 'rehearsal_start', target: line.name, details, work: async () => rehearsals.start(userId, line) };
}

function workOf(works: Readonly<Record<string, () => Promise<unknown>>>, action: string): () => Promise<unknown> {
  const work = Object.hasOwn(works, action) ? works[action] : undefined;
  if (work === undefined) {
    throw invalidArgument('bad_action', `action must be one of ${Object.keys(works).join(', ')}`, 'action');
  }
  return work;
}

/** The non-empty arguments. */
function given(words: Words): Words {
  return Object.fromEntries(Object.entries(words).filter(([, word]) => word !== ''));
}
