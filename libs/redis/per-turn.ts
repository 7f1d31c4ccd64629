/**
 * A function whose calls of one turn of the event loop are answered together, a group of them by one `run`. Runs start in
 * the order of their calls.
 *
 * A call that comes alone waits for nothing but the end of the turn. When a run fails, all of its calls fail with the
 * same error: what is one call's own must be in its answer.
 *
 * @param newGroup  makes what is asked of each call in turn: whether it goes with those before it. The first always does.
 */
export function perTurn<Q, A>(
  newGroup: () => (question: Q) => boolean,
  run: (questions: readonly Q[]) => Promise<readonly A[]>,
): (question: Q) => Promise<A> {
  let waiting: Waiting<Q, A>[] = [];

  const sendAll = () => {
    const all = waiting;
    waiting = [];
    let group: Waiting<Q, A>[] = [];
    let admits = newGroup();
    for (const one of all) {
      if (!admits(one.question)) {
        void send(group, run);
        group = [];
        admits = newGroup();
        admits(one.question);
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

/** Groups of at most `maxSize`; a call that is larger by itself is a group of its own. */
export function upTo<Q>(maxSize: number, sizeOf: (question: Q) => number): () => (question: Q) => boolean {
  return () => {
    let size = 0;
    return (question) => {
      const isFirst = size === 0;
      size += sizeOf(question);
      return isFirst || size <= maxSize;
    };
  };
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
