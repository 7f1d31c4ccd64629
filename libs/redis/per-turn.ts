/**
 * A function whose calls of one turn of the event loop are answered together, by one `run` for as many as have at most
 * `maxSize` (a call that is larger by itself has a run of its own). Runs start in the order of their calls.
 *
 * A call that comes alone waits for nothing but the end of the turn. When a run fails, all of its calls fail with the
 * same error: what is one call's own must be in its answer.
 */
export function perTurn<Q, A>(
  maxSize: number,
  sizeOf: (question: Q) => number,
  run: (questions: readonly Q[]) => Promise<readonly A[]>,
): (question: Q) => Promise<A> {
  let waiting: Waiting<Q, A>[] = [];

  const sendAll = () => {
    const all = waiting;
    waiting = [];
    let group: Waiting<Q, A>[] = [];
    let size = 0;
    for (const one of all) {
      size += sizeOf(one.question);
      if (group.length > 0 && size > maxSize) {
        void send(group, run);
        group = [];
        size = sizeOf(one.question);
      }
      group.push(one);
    }
    void send(group, run);
  };

  return (question) =>
    new Promise((resolve, reject) => {
      // After all sockets that have something were read: what they bring travels together, too.
      if (waiting.push({ question, resolve, reject }) === 1) setImmediate(sendAll);
    });
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
    for (const { reject } of group) reject(thrown);
  }
}
