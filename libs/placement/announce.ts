import { type Clock, sleep } from '../domain/clock';
import { BerthError } from '../domain/errors';
import type { Log } from '../runtime/log';
import { berthVersion } from '../runtime/manifest';
import type { Running } from '../runtime/service';
import type { ProcessStore } from './port/processes';

/** A process is silent when it was not seen for three of these. */
export const ANNOUNCE_MS = 10_000;
/** A process that is not ready says so more often, so that its first ready moment is soon seen. */
const UNREADY_MS = 2_000;
/** A process that ended without a word stays to be seen for a day. */
const KEPT_MS = 86_400_000;

export interface AnnounceParts {
  /** The store's clock, by which all processes are compared. */
  readonly clock: Clock;
  readonly log: Log;
  readonly processName: string;
  readonly readiness: Running['readiness'];
}

/**
 * Tells in the store that a process of `service` lives, until it is closed: for the console's page of health. A store that is
 * away misses it.
 */
export function announce(store: ProcessStore, service: string, parts: AnnounceParts): { close(): Promise<void> } {
  const { clock, log, processName: name, readiness } = parts;
  const version = berthVersion();
  const startedAtMs = clock.now();
  const closing = new AbortController();
  const repeat = async () => {
    while (!closing.signal.aborted) {
      const ready = readiness();
      const process = { service, name, version, startedAtMs, problem: ready.ready ? '' : ready.reason };
      await store.noteProcess(process, clock.now(), KEPT_MS).catch((thrown: unknown) => {
        log.debug({ event: 'not_announced', error: BerthError.from(thrown) }, 'not announced in the store, retrying');
      });
      await sleep(clock, ready.ready ? ANNOUNCE_MS : UNREADY_MS, closing.signal);
    }
  };
  const repeating = repeat();
  return {
    async close() {
      closing.abort();
      await repeating;
      await store.forgetProcess(service, name).catch(() => {});
    },
  };
}
