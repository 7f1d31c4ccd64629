import type { InstanceView } from '../../contracts/messages';
import { type Clock, sleep } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import type { InstanceState } from '../../domain/instance';
import { groupKey } from '../../domain/server-group';
import { mapConcurrently } from '../../runtime/concurrent';
import { groupBy } from '../../runtime/group-by';
import type { Client } from '../client';
import { nextMove } from './next-move';

export interface DrainOptions {
  readonly host: string;
  readonly reason: string;
  /** Instances that are moved at once. */
  readonly parallel: number;
  /** How long one instance may take. */
  readonly timeoutMs: number;
}

/** What a drain needs of a client. */
export type DrainClient = Pick<Client, 'setHostEnabled' | 'instances' | 'instance' | 'operate' | 'moveInstances'>;

export interface DrainParts {
  readonly client: DrainClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** After each instance that has left, or stays. */
  readonly onProgress: (done: number, all: number, what: Drained) => void;
}

/** How it went with one instance. */
export interface Drained {
  readonly uuid: string;
  readonly name: string;
  /** Where it is now; '' for nowhere. */
  readonly host: string;
  readonly state: string;
  /** Why it stays; undefined when it has left. */
  readonly stays: string | undefined;
}

/** Between two looks at an instance. */
const POLL_MS = 200;

/**
 * Takes a host out of service and moves away what is there: while it runs where the driver can, else stopped and started, and
 * confirmed at once; what is stopped stays so. What is under way there is waited for, and what was claimed there before it was out of service is found when all
 * else has left. It keeps nothing of its own: the host is disabled, and what is left
 * is what is still there, so that a drain which was interrupted, or left something, is begun again.
 *
 * @throws BerthError `not_found / no_such_host`, `unavailable`; the host stays disabled.
 */
export async function drainHost(parts: DrainParts, options: DrainOptions): Promise<Drained[]> {
  const { client, signal, onProgress } = parts;
  const { host, reason, parallel } = options;
  await client.setHostEnabled(host, false, reason);
  const all: Drained[] = [];
  for (;;) {
    const isNew = ({ uuid }: InstanceView) => !all.some((one) => one.uuid === uuid);
    const there = (await instancesOf(client, host)).filter(isNew);
    if (there.length === 0) return all;
    const count = all.length + there.length;
    const drain = async (instance: InstanceView) => {
      const drained = await drainOne(parts, options, instance);
      all.push(drained);
      onProgress(all.length, count, drained);
    };
    for (const members of groupsOf(there)) await drainTogether(parts, options, members);
    await mapConcurrently(there, parallel, drain, signal);
    if (signal.aborted) return all;
  }
}

/** What is on a host, and what is on its way from there, or has left but for what the host keeps of it until that is confirmed. */
async function instancesOf(client: DrainClient, host: string): Promise<InstanceView[]> {
  const moving = Promise.all(ON_A_MOVE.map((state) => client.instances({ state })));
  const [there, moved] = await Promise.all([client.instances({ host }), moving]);
  const elsewhere = moved.flat().filter((one) => one.host !== host && one.migration?.sourceHost === host);
  return [...there, ...elsewhere].filter((one) => nextMove(host, one, []).kind !== 'gone');
}

/** In which a host may have something of what is recorded on another. */
const ON_A_MOVE: readonly InstanceState[] = ['resize', 'migrating', 'verify_resize', 'revert_resize'];

/** Members of groups that may have to leave together: of an affinity group, or of one whose policy only the scheduler knows. */
function groupsOf(there: readonly InstanceView[]): readonly (readonly InstanceView[])[] {
  const mayBeAffinity = ({ requestSpec: { group } }: InstanceView) =>
    group !== undefined && (group.policy === undefined || group.policy === 'affinity');
  const members = there.filter((one) => mayBeAffinity(one) && AT_REST.includes(one.state) && !one.migration);
  const groups = groupBy(members, ({ projectId, requestSpec }) => groupKey(projectId, requestSpec.group?.id ?? ''));
  return [...groups].map(([, some]) => some).filter((some) => some.length > 1);
}

const AT_REST: readonly InstanceState[] = ['active', 'stopped'];

/**
 * Has a group leave as one: its moves are claimed on one host together, live, else cold, and then each has its turn. What stays is tried
 * by itself afterwards, which says why.
 */
async function drainTogether(
  parts: DrainParts,
  options: DrainOptions,
  members: readonly InstanceView[],
): Promise<void> {
  const { client, signal } = parts;
  for (const operation of ['live_migrate', 'migrate'] as const) {
    const now = await Promise.all(members.map(({ uuid }) => client.instance(uuid)));
    const there = now.filter((one) => one.host === options.host && AT_REST.includes(one.state) && !one.migration);
    if (there.length < 2 || signal.aborted) return;
    const moves = there.map(({ uuid }) => ({ instanceUuid: uuid, targetHost: '' }));
    try {
      const { refusal } = await client.moveInstances(operation, moves, { leaveHosts: [options.host] });
      if (refusal !== '') return;
    } catch {
      // Some of it has changed meanwhile, or is not to be moved: each by itself says so.
      return;
    }
    await Promise.all(there.map((one) => drainOne(parts, options, one, ['live_migrate', 'migrate'])));
  }
}

async function drainOne(
  { client, clock, signal }: DrainParts,
  { host, timeoutMs }: DrainOptions,
  first: InstanceView,
  triedBefore: readonly string[] = [],
): Promise<Drained> {
  const untilMs = clock.elapsed() + timeoutMs;
  const tried: string[] = [...triedBefore];
  // It may have changed before it was asked: what is refused twice in the same words is refused.
  let refusedBefore: string | undefined;
  for (let instance = first; ; instance = await client.instance(first.uuid)) {
    const { uuid, name, state } = instance;
    const about = { uuid, name, state, host: instance.host };
    const next = nextMove(host, instance, tried);
    if (next.kind === 'gone') return { ...about, stays: undefined };
    if (next.kind === 'stays') return { ...about, stays: next.reason };
    if (clock.elapsed() > untilMs) return { ...about, stays: `it has not left in ${timeoutMs / 1_000} s: ${state}` };
    if (signal.aborted) return { ...about, stays: 'the drain was interrupted' };
    const refused = next.kind === 'wait' ? undefined : await ask(client, uuid, next);
    if (refused && refused === refusedBefore) return { ...about, stays: refused };
    refusedBefore = refused;
    if (next.kind === 'move' && refused === undefined) tried.push(next.operation);
    await sleep(clock, POLL_MS, signal);
  }
}

/** Why it was refused, if it can't be asked again. */
async function ask(
  client: DrainClient,
  uuid: string,
  next: Extract<ReturnType<typeof nextMove>, { kind: 'move' | 'confirm' }>,
): Promise<string | undefined> {
  try {
    // Confirmed by itself, should the drain be interrupted.
    if (next.kind === 'move') await client.operate(uuid, next.operation, { confirmAfterMs: 1 });
    else await client.operate(uuid, 'confirm');
    return undefined;
  } catch (thrown) {
    const { reason, message } = BerthError.from(thrown);
    // Somebody else has changed it meanwhile: look again.
    if (reason === 'instance_changed' || (next.kind === 'confirm' && reason === 'instance_state')) return undefined;
    return `${reason}: ${message}`;
  }
}
