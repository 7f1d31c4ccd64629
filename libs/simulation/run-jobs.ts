import { EventEmitter, once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The code of threads that answer each job with what came of it, and what they begin with. */
export interface JobWorker {
  readonly file: string;
  readonly data?: unknown;
}

/** Threads for one list of jobs after the other: what they have loaded and compiled serves all lists. */
export interface JobThreads {
  /** See `runJobs`. The next list begins when this one is read to its end. */
  run<O>(jobs: readonly unknown[]): AsyncGenerator<O>;
  close(): Promise<void>;
}

/** Threads start when the first list comes that has jobs for them. */
export function openJobThreads(worker: JobWorker, threadCount: number): JobThreads {
  const threads: Worker[] = [];
  return {
    run: (jobs) => {
      const count = Math.min(threadCount, jobs.length);
      while (threads.length < count) threads.push(new Worker(worker.file, { workerData: worker.data }));
      return runOn(threads, jobs);
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.terminate()));
    },
  };
}

/**
 * Does jobs in several threads, each job in one, and gives what comes of them in the order of the jobs. A run depends on
 * nothing but its seed, so the number of threads changes only how long it all takes.
 */
export async function* runJobs<O>(worker: JobWorker, jobs: readonly unknown[], threadCount: number): AsyncGenerator<O> {
  const threads = openJobThreads(worker, threadCount);
  try {
    yield* threads.run<O>(jobs);
  } finally {
    await threads.close();
  }
}

async function* runOn<O>(threads: readonly Worker[], jobs: readonly unknown[]): AsyncGenerator<O> {
  const outcomes: O[] = [];
  const news = new EventEmitter();
  let begun = 0;
  const stops = threads.map((thread) => {
    let present = 0;
    const goOn = () => {
      present = begun++;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
      if (present < jobs.length) thread.postMessage(jobs[present]);
    };
    const onOutcome = (outcome: O) => {
      outcomes[present] = outcome;
      goOn();
      news.emit('outcome');
    };
    const onError = (error: unknown) => news.emit('error', error);
    thread.on('message', onOutcome).on('error', onError);
    goOn();
    return () => thread.off('message', onOutcome).off('error', onError);
  });
  try {
    for (let n = 0; n < jobs.length; n++) {
      while (outcomes[n] === undefined) await once(news, 'outcome');
      yield outcomes[n] as O;
    }
  } finally {
    for (const stop of stops) stop();
  }
}
