import type { InstanceView } from '../../contracts/instance';
import { type Clock, sleep } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { isOverBudget } from '../../domain/grouping/disruption-budget';
import type { InstanceState } from '../../domain/instance';
import { groupKey } from '../../domain/server-group';
import { mapConcurrently } from '../../runtime/concurrent';
import { groupBy } from '../../runtime/group-by';
import type { Client } from '../client';
import { nextMove } from './next-move';

export interface DrainOptions {
  readonly host: string;
  readonly reason: string;
  /** Limit of the instances moved at once. */
  readonly parallel: number;
  /** Time limit for moving one instance. */
  readonly timeoutMs: number;
}

/** The client methods that a drain uses. */
export type DrainClient = Pick<Client, 'setHostEnabled' | 'instances' | 'instance' | 'operate' | 'moveInstances'>;

export interface DrainParts {
  readonly client: DrainClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called after each instance that has left, or stays. */
  readonly onProgress: (done: number, all: number, what: Drained) => void;
}

/** The outcome for one instance. */
export interface Drained {
  readonly uuid: string;
  readonly name: string;
  /** Its present host; '' for none. */
  readonly host: string;
  readonly state: string;
  /** Why it stays; undefined once it has left. */
  readonly stays: string | undefined;
}

/** Interval between reads of an instance. */
const POLL_MS = 200;

/**
 * Takes a host out of service and moves its instances away: live where the driver can, else stopped and started, each
 * confirmed at once; stopped instances stay stopped. It waits for operations under way on the host; instances claimed
 * there before it was disabled are found once all others have left. It stores nothing: the host is disabled, and the
 * instances still there are the remaining work, so an interrupted or incomplete drain is just started again.
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
    const note = (drained: Drained) => {
      all.push(drained);
      onProgress(all.length, count, drained);
    };
    const drain = async (instance: InstanceView) => note(await drainOne(parts, options, instance));
    const kept = new Set<string>();
    for (const members of groupsOf(there)) {
      for (const drained of await drainTogether(parts, options, members)) {
        kept.add(drained.uuid);
        note(drained);
      }
    }
    const alone = there.filter(({ uuid }) => !kept.has(uuid));
    await mapConcurrently(alone, parallel, drain, signal);
    if (signal.aborted) return all;
  }
}

/** Instances on a host, on their way from it, or gone except for the copy that it keeps until the move is confirmed. */
async function instancesOf(client: DrainClient, host: string): Promise<InstanceView[]> {
  const moving = Promise.all(ON_A_MOVE.map((state) => client.instances({ state })));
  const [there, moved] = await Promise.all([client.instances({ host }), moving]);
  const elsewhere = moved.flat().filter((one) => one.host !== host && one.migration?.sourceHost === host);
  return [...there, ...elsewhere].filter((one) => nextMove(host, one, []).kind !== 'gone');
}

/** States in which a host may hold a copy of an instance recorded on another. */
const ON_A_MOVE: readonly InstanceState[] = ['resize', 'migrating', 'verify_resize', 'revert_resize'];

/**
 * Members that leave together: of affinity groups, of groups whose policy only the scheduler knows, and of gangs.
 */
function groupsOf(there: readonly InstanceView[]): readonly (readonly InstanceView[])[] {
  const mayBeAffinity = ({ requestSpec: { group } }: InstanceView) =>
    group !== undefined && (group.policy === undefined || group.policy === 'affinity');
  const keyOf = (one: InstanceView) => {
    if (mayBeAffinity(one)) return groupKey(one.projectId, one.requestSpec.group?.id ?? '');
    return isOfGang(one) ? one.requestId : '';
  };
  const members = there.filter((one) => keyOf(one) !== '' && AT_REST.includes(one.state) && !one.migration);
  return [...groupBy(members, keyOf)].map(([, some]) => some).filter((some) => some.length > 1);
}

const AT_REST: readonly InstanceState[] = ['active', 'stopped'];

function isOfGang({ minCount = 0 }: InstanceView): boolean {
  return minCount > 0;
}

/**
 * Moves a group or gang as one: its moves are claimed together, live or else cold, then run one by one. Members of a group that
 * stay are tried alone afterwards, which gives the reason; those of a gang all stay, rather than some of them, also when the moves can't
 * even be asked for.
 *
 * @returns  the members that stay
 */
async function drainTogether(
  parts: DrainParts,
  options: DrainOptions,
  members: readonly InstanceView[],
): Promise<readonly Drained[]> {
  const { client, signal } = parts;
  for (const operation of ['live_migrate', 'migrate'] as const) {
    const now = await Promise.all(members.map(({ uuid }) => client.instance(uuid)));
    const there = now.filter((one) => one.host === options.host && AT_REST.includes(one.state) && !one.migration);
    if (there.length < 2 || signal.aborted) return [];
    const moves = there.map(({ uuid }) => ({ instanceUuid: uuid, targetHost: '' }));
    const isGang = members.every(isOfGang);
    const asked = await askTogether(parts, options, { operation, moves, awaits: isGang });
    if (asked.kind === 'refused') return isGang ? there.map((one) => staysWithGang(one, asked.why)) : [];
    if (asked.kind === 'failed') {
      // Trying each alone gives the reason, but would tear a gang apart. What can't go live, such as what is stopped, may go cold.
      if (!isGang) return [];
      if (operation === 'live_migrate') continue;
      return there.map((one) => staysWithGang(one, asked.why));
    }
    await Promise.all(there.map((one) => drainOne(parts, options, one, ['live_migrate', 'migrate'])));
  }
  return [];
}

/** The answer to moves that are asked for as one: no host for all of them, or why they could not be asked for. */
type AskedTogether = { readonly kind: 'taken' } | { readonly kind: 'refused' | 'failed'; readonly why: string };

interface JointMoves {
  readonly operation: 'live_migrate' | 'migrate';
  readonly moves: Parameters<DrainClient['moveInstances']>[1];
  /** True where a budget that has no room, or a member that somebody changes, is awaited. */
  readonly awaits: boolean;
}

async function askTogether(
  { client, clock, signal }: DrainParts,
  { host, timeoutMs }: DrainOptions,
  { operation, moves, awaits }: JointMoves,
): Promise<AskedTogether> {
  const untilMs = clock.elapsed() + timeoutMs;
  for (;;) {
    try {
      const { refusal } = await client.moveInstances(operation, moves, { leaveHosts: [host] });
      return refusal === '' ? { kind: 'taken' } : { kind: 'refused', why: refusal };
    } catch (thrown) {
      const { reason, message } = BerthError.from(thrown);
      const mayPass = reason === 'instance_changed' || isOverBudget(thrown);
      if (!awaits || !mayPass || signal.aborted || clock.elapsed() > untilMs)
        return { kind: 'failed', why: `${reason}: ${message}` };
      await sleep(clock, POLL_MS, signal);
    }
  }
}

function staysWithGang({ uuid, name, host, state }: InstanceView, refusal: string): Drained {
  return { uuid, name, host, state, stays: `members of its gang leave a host together: ${refusal}` };
}

async function drainOne(
  { client, clock, signal }: DrainParts,
  { host, timeoutMs }: DrainOptions,
  first: InstanceView,
  triedBefore: readonly string[] = [],
): Promise<Drained> {
  const untilMs = clock.elapsed() + timeoutMs;
  const tried: string[] = [...triedBefore];
  // The instance may have changed before the request: only a repeated refusal with the same words is final.
  let refusedBefore: string | undefined;
  for (let instance = first; ; instance = await client.instance(first.uuid)) {
    const { uuid, name, state } = instance;
    const about = { uuid, name, state, host: instance.host };
    const next = nextMove(host, instance, tried);
    if (next.kind === 'gone') return { ...about, stays: undefined };
    if (next.kind === 'stays') return { ...about, stays: next.reason };
    if (clock.elapsed() > untilMs)
      return { ...about, stays: `it has not left in ${timeoutMs / 1_000} s: ${refusedBefore ?? state}` };
    if (signal.aborted) return { ...about, stays: 'the drain was interrupted' };
    const { refused, mayPass } = next.kind === 'wait' ? TAKEN : await ask(client, uuid, next);
    if (refused && !mayPass && refused === refusedBefore) return { ...about, stays: refused };
    refusedBefore = refused;
    if (next.kind === 'move' && refused === undefined) tried.push(next.operation);
    await sleep(clock, POLL_MS, signal);
  }
}

interface Answer {
  /** The reason of a refusal. */
  readonly refused: string | undefined;
  /** True if the same request may succeed later, however often it was refused. */
  readonly mayPass: boolean;
}

const TAKEN: Answer = { refused: undefined, mayPass: true };

const PASSING: readonly string[] = ['instance_changed', 'move_not_finished'];

async function ask(
  client: DrainClient,
  uuid: string,
  next: Extract<ReturnType<typeof nextMove>, { kind: 'move' | 'confirm' }>,
): Promise<Answer> {
  try {
    // Confirmed automatically, in case the drain is interrupted.
    if (next.kind === 'move') await client.operate(uuid, next.operation, { confirmAfterMs: 1 });
    else await client.operate(uuid, 'confirm');
    return TAKEN;
  } catch (thrown) {
    const { reason, message } = BerthError.from(thrown);
    // Someone else changed it meanwhile, or a move of it is being finished: it is read again. A group with too few others available is awaited.
    const isOther = PASSING.includes(reason) || (next.kind === 'confirm' && reason === 'instance_state');
    return { refused: `${reason}: ${message}`, mayPass: isOther || isOverBudget(thrown) };
  }
}
