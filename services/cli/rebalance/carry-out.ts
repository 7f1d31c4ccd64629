import type { Client } from '#libs/client/client';
import type { InstanceView, PlannedMove } from '#libs/contracts/messages';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { mapConcurrently } from '#libs/runtime/concurrent';

/** What carrying out a plan needs of a client. */
export type MovingClient = Pick<Client, 'instance' | 'operate'>;

export interface MovingParts {
  readonly client: MovingClient;
  readonly clock: Clock;
  /** When it aborts, nothing more is begun, and nothing is undone. */
  readonly signal: AbortSignal;
  /** After each move that has ended; then after each that was undone, with fewer. */
  readonly onProgress: (done: number) => void;
}

export interface MovingOptions {
  /** Instances that are moved at once. */
  readonly parallel: number;
  /** How long one move may take. */
  readonly timeoutMs: number;
}

/** How it went with one move. */
export interface Moved {
  readonly move: PlannedMove;
  /** `waits`: it is claimed, and was not begun. `ended`: its instance was terminated, or shelved, meanwhile. */
  readonly outcome: 'moved' | 'failed' | 'waits' | 'undone' | 'not_undone' | 'ended';
  readonly why: string;
}

/** Between two looks at an instance. */
const POLL_MS = 200;

/**
 * Carries out moves that are claimed, some at once. When one fails no more is begun, and all are undone, the last first: what waits gives
 * its claims back, what has arrived goes back, and what was moved for good is moved back, live if it runs. When all ended well, what its
 * source keeps is confirmed.
 *
 * It keeps nothing of its own. What is claimed says so itself: whoever begins again goes on with that, or undoes it.
 */
export async function carryOut(
  parts: MovingParts,
  moves: readonly PlannedMove[],
  options: MovingOptions,
): Promise<Moved[]> {
  const { client, signal, onProgress } = parts;
  const ended: Moved[] = [];
  const failed = new AbortController();
  const oneAfterTheOther = async (move: PlannedMove) => {
    const one = await moveOne(parts, move, options);
    ended.push(one);
    if (one.outcome === 'failed') failed.abort();
    onProgress(ended.length);
  };
  await mapConcurrently(moves, options.parallel, oneAfterTheOther, AbortSignal.any([signal, failed.signal]));
  if (signal.aborted) return [...ended, ...notBegun(moves, ended)];
  if (failed.signal.aborted) return undo(parts, moves, ended, options);
  await Promise.all(ended.map(({ move }) => confirm(client, move)));
  return ended;
}

/** Undoes moves one after the other, the last first, whether they wait, have arrived, or are done. */
export async function undo(
  parts: MovingParts,
  moves: readonly PlannedMove[],
  ended: readonly Moved[],
  options: MovingOptions,
): Promise<Moved[]> {
  const over = ended.filter(({ outcome }) => outcome === 'failed' || outcome === 'ended');
  const done = ended.filter((one) => !over.includes(one)).toReversed();
  const all = [...notBegun(moves, ended), ...done];
  const undone: Moved[] = [];
  for (const { move } of all) {
    undone.push(await undoOne(parts, move, options));
    parts.onProgress(all.length - undone.length);
  }
  return [...over, ...undone];
}

function notBegun(moves: readonly PlannedMove[], ended: readonly Moved[]): Moved[] {
  const rest = moves.filter((move) => !ended.some((one) => one.move === move));
  return rest.map((move) => ({ move, outcome: 'waits', why: '' }));
}

async function moveOne(parts: MovingParts, move: PlannedMove, { timeoutMs }: MovingOptions): Promise<Moved> {
  const { client } = parts;
  const { instanceUuid: uuid, destHost } = move;
  const failed = (why: string): Moved => ({ move, outcome: 'failed', why });
  try {
    const { migration } = await client.instance(uuid);
    if (migration?.phase === 'claimed') await client.operate(uuid, migration.kind);
    const after = await untilAtRest(parts, uuid, timeoutMs);
    if (after === undefined) {
      await client.operate(uuid, 'revert');
      return failed(`it has not arrived in ${timeoutMs / 1_000} s, and goes back`);
    }
    if (isOver(after)) return { move, outcome: 'ended', why: `it is ${after.state}` };
    return after.host === destHost ? { move, outcome: 'moved', why: '' } : failed(faultOf(after));
  } catch (thrown) {
    return failed(sentenceOf(thrown));
  }
}

async function undoOne(parts: MovingParts, move: PlannedMove, { timeoutMs }: MovingOptions): Promise<Moved> {
  const { client } = parts;
  const { instanceUuid: uuid, sourceHost } = move;
  const notUndone = (why: string): Moved => ({ move, outcome: 'not_undone', why });
  try {
    const { state, host, migration } = await client.instance(uuid);
    if (migration?.phase === 'claimed' || state === 'verify_resize') await client.operate(uuid, 'revert');
    else if (host !== sourceHost && state === 'stopped')
      await client.operate(uuid, 'migrate', { targetHost: sourceHost, confirmAfterMs: 1 });
    else if (host !== sourceHost) await client.operate(uuid, 'live_migrate', { targetHost: sourceHost });
    const after = await untilAtRest(parts, uuid, timeoutMs);
    if (after === undefined) return notUndone(`it was not back in ${timeoutMs / 1_000} s`);
    if (isOver(after)) return { move, outcome: 'ended', why: `it is ${after.state}` };
    return after.host === sourceHost ? { move, outcome: 'undone', why: '' } : notUndone(faultOf(after));
  } catch (thrown) {
    return notUndone(sentenceOf(thrown));
  }
}

/** What was moved cold is kept at its source until then. */
async function confirm(client: MovingClient, { instanceUuid }: PlannedMove): Promise<void> {
  const { state } = await client.instance(instanceUuid);
  if (state === 'verify_resize') await client.operate(instanceUuid, 'confirm');
}

/** The instance when it is not on its way any more; undefined when that takes too long. */
async function untilAtRest(
  { client, clock }: MovingParts,
  uuid: string,
  timeoutMs: number,
): Promise<InstanceView | undefined> {
  const untilMs = clock.elapsed() + timeoutMs;
  for (;;) {
    const instance = await client.instance(uuid);
    if (!isOnItsWay(instance)) return instance;
    if (clock.elapsed() > untilMs) return undefined;
    await sleep(clock, POLL_MS);
  }
}

/** On its way, or confirming what is left at its source. */
function isOnItsWay({ state, migration }: InstanceView): boolean {
  return ON_ITS_WAY.includes(state) || (AT_REST.includes(state) && migration !== undefined);
}

const AT_REST: readonly InstanceView['state'][] = ['active', 'stopped'];
const ON_ITS_WAY: readonly InstanceView['state'][] = ['resize', 'migrating', 'revert_resize'];

function isOver({ state }: InstanceView): boolean {
  return OVER.includes(state);
}

const OVER: readonly InstanceView['state'][] = ['deleting', 'deleted', 'shelving', 'shelved_offloaded'];

function faultOf({ fault, state, host }: InstanceView): string {
  return fault ? `${fault.reason}: ${fault.message}` : `it is ${state} on ${host}`;
}

function sentenceOf(thrown: unknown): string {
  const { reason, message } = BerthError.from(thrown);
  return `${reason}: ${message}`;
}
