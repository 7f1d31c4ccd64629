import { BerthError } from '../domain/errors';

/*
 * Batching of work from several callers. A tick is one turn of Node's event loop: each readable socket is read, and its
 * callback and promises run, one socket after the other; then comes `setImmediate`'s phase. There are two moments to batch
 * at, and a reason for each:
 *
 * - the end of the tick (`batchPerTick`), for runs of the store's script: the input of all sockets, such as hundreds of HTTP
 *   requests, shares one commit.
 * - the end of the callback (`atEndOfCallback`, `process.nextTick`), for output: frames and acks of the bus, and the bytes
 *   of sockets. One socket's callback brings the bus's whole input, so waiting for other sockets would gain nothing, and
 *   would leave the receivers idle while this process works.
 */

const actions: (() => void)[] = [];
const flushes: (() => void)[] = [];

/**
 * Runs an action, which must not throw, at the end of this callback, in order of registration. Actions may add others,
 * which run at the same end.
 */
export function atEndOfCallback(action: () => void): void {
  if (actions.length + flushes.length === 0) process.nextTick(runAll);
  actions.push(action);
}

/**
 * Runs an action, which must not throw, after all actions of this callback: to send the bytes that they write to a
 * socket.
 */
export function afterCallback(action: () => void): void {
  if (actions.length + flushes.length === 0) process.nextTick(runAll);
  flushes.push(action);
}

function runAll(): void {
  try {
    // Array iteration also visits actions that are added meanwhile.
    for (const action of actions) action();
    for (const flush of flushes) flush();
  } finally {
    actions.length = 0;
    flushes.length = 0;
  }
}

/**
 * Batches the calls of one tick: each group of them (`inGroups`) is answered by one `run`. Runs start in the order of
 * their calls.
 *
 * When a run fails because the store is away, all its calls fail with that error. When it fails by a defect
 * (`internal`), it did nothing, and each call is run again alone, so a bad input fails only its own call.
 */
export function batchPerTick<Q, A>(
  maxSize: number,
  sizeOf: (question: Q) => number,
  run: (questions: readonly Q[]) => Promise<readonly A[]>,
): (question: Q) => Promise<A> {
  let waiting: Waiting<Q, A>[] = [];
  const sendAll = () => {
    const all = waiting;
    waiting = [];
    for (const group of inGroups(all, maxSize, ({ question }) => sizeOf(question))) void send(group, run);
  };
  return (question) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ question, resolve, reject }) === 1) setImmediate(sendAll);
    });
}

/** Splits a list, in order, into groups of at most `maxSize`; a larger item is a group of its own. */
export function* inGroups<T>(
  items: readonly T[],
  maxSize: number,
  sizeOf: (item: T) => number,
): Iterable<readonly T[]> {
  let group: T[] = [];
  let size = 0;
  for (const item of items) {
    const itemSize = sizeOf(item);
    if (group.length > 0 && size + itemSize > maxSize) {
      yield group;
      group = [];
      size = 0;
    }
    group.push(item);
    size += itemSize;
  }
  if (group.length > 0) yield group;
}

interface Waiting<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

/** Never rejects. */
async function send<Q, A>(
  group: readonly Waiting<Q, A>[],
  run: (questions: readonly Q[]) => Promise<readonly A[]>,
): Promise<void> {
  try {
    const answers = await run(group.map(({ question }) => question));
    for (const [i, { resolve }] of group.entries()) resolve(answers[i] as A);
  } catch (thrown) {
    if (group.length > 1 && BerthError.from(thrown).code === 'internal') {
      for (const one of group) await send([one], run);
    } else {
      for (const { reject } of group) reject(thrown);
    }
  }
}
