import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Job, Outcome } from './job';

/**
 * Does jobs in several threads, each job in one, and gives what comes of them in the order of the jobs. A run depends on
 * nothing but its seed, so the number of threads changes only how long it all takes.
 */
export async function* runJobs<J extends Job>(
  jobs: readonly J[],
  threadCount: number,
): AsyncGenerator<Outcome[J['kind']]> {
  const outcomes: Outcome[J['kind']][] = [];
  const news = new EventEmitter();
  let begun = 0;
  const threads = Array.from({ length: Math.min(threadCount, jobs.length) }, () => {
    const thread = new Worker(join(__dirname, 'worker.js'));
    let present = 0;
    const goOn = () => {
      present = begun++;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
      if (present < jobs.length) thread.postMessage(jobs[present]);
    };
    thread.on('message', (outcome: Outcome[J['kind']]) => {
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
      yield outcomes[n] as Outcome[J['kind']];
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}
