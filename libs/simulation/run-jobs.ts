import { EventEmitter, once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The code of threads that answer each job with what came of it, and what they begin with. */
export interface JobWorker {
  readonly file: string;
  readonly data?: unknown;
}

/**
 * Does jobs in several threads, each job in one, and gives what comes of them in the order of the jobs. A run depends on
 * nothing but its seed, so the number of threads changes only how long it all takes.
 */
export async function* runJobs<O>(worker: JobWorker, jobs: readonly unknown[], threadCount: number): AsyncGenerator<O> {
  const outcomes: O[] = [];
  const news = new EventEmitter();
  let begun = 0;
  const threads = Array.from({ length: Math.min(threadCount, jobs.length) }, () => {
    const thread = new Worker(worker.file, { workerData: worker.data });
    let present = 0;
    const goOn = () => {
      present = begun++;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
      if (present < jobs.length) thread.postMessage(jobs[present]);
    };
    thread.on('message', (outcome: O) => {
      outcomes[present] = outcome;
      goOn();
      news.emit('outcome');
    });
    thread.on('error', (error) => news.emit('error', error));
    goOn();
    return thread;
  });
  try {
    for (let n = 0; n < jobs.length; n++) {
      while (outcomes[n] === undefined) await once(news, 'outcome');
      yield outcomes[n] as O;
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}
