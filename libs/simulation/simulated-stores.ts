import { BerthError } from '../domain/errors';
import type { Change, Command } from '../placement/port/placement-store';
import type { Link } from './link';
import type { StoreServer, Stores } from './store-server';

/** How long a client of the store waits for an answer. */
const ANSWER_TIMEOUT_MS = 2_000;

/**
 * A process's stores across a link that delays, breaks and loses. When a connection breaks, what was under way may have
 * happened or not; what is answered too late has happened all the same.
 */
export function simulatedStores(link: Link, server: StoreServer): Stores {
  const read: Ask = (what, effect) => ask(link, what, () => server.read(effect));
  const write: Ask = (what, effect) => ask(link, what, () => server.write(link.process.name, what, effect));

  return {
    placement: {
      commit: (command) => write(nameOf(command), ({ placement }) => placement.commit(command)),
      reportHost: (report) => write(`report of ${report.host}`, ({ placement }) => placement.reportHost(report)),
      revision: () => read('revision', ({ placement }) => placement.revision()),
      snapshot: async (onRows) => {
        const { rows, revision } = await read('snapshot', async ({ placement }) => {
          const found: Parameters<typeof onRows>[0][] = [];
          return { rows: found, revision: await placement.snapshot((some) => found.push(some)) };
        });
        rows.forEach(onRows);
        return revision;
      },
      follow: (revision, onChanges, signal) => follow(link, server, revision, onChanges, signal),
      consumers: (uuids) => read(`consumers ${uuids.join(', ')}`, ({ placement }) => placement.consumers(uuids)),
      hosts: (names) => read('hosts', ({ placement }) => placement.hosts(names)),
      scanConsumers: (onRows) =>
        scan(read, 'all consumers', ({ placement }, on) => placement.scanConsumers(on), onRows),
      close: async () => {},
    },
    instances: {
      create: (requestId, instances) => {
        return write(`create ${instances.map(({ uuid }) => uuid).join(', ')}`, ({ instances: store }) =>
          store.create(requestId, instances),
        );
      },
      get: (uuids) => read(`records ${uuids.join(', ')}`, ({ instances }) => instances.get(uuids)),
      update: (next) => {
        return write(`${next.uuid} becomes ${next.state}, v${next.version}`, ({ instances }) => instances.update(next));
      },
      list: (filter, marker, limit) => read('list', ({ instances }) => instances.list(filter, marker, limit)),
      takeDue: (nowMs, leaseMs, limit) => {
        return write('take due', ({ instances }) => instances.takeDue(nowMs, leaseMs, limit));
      },
      scan: (onRows) => scan(read, 'all records', ({ instances }, on) => instances.scan(on), onRows),
      forget: (beforeMs, limit) => write('forget', ({ instances }) => instances.forget(beforeMs, limit)),
      close: async () => {},
    },
    leases: {
      acquire: (name, holder, ttlMs) => write(`lease ${name}`, ({ leases }) => leases.acquire(name, holder, ttlMs)),
      release: (name, holder) => write(`release ${name}`, ({ leases }) => leases.release(name, holder)),
    },
  };
}

/** A command in words, for the history. */
function nameOf(command: Command): string {
  switch (command.kind) {
    case 'write_allocations': {
      const force = command.force === true ? ' by force' : '';
      return `write_allocations${force} of ${command.consumers.map(({ uuid }) => uuid).join(', ')}`;
    }
    case 'release_claim':
      return `release_claim of ${command.consumerUuid}, token ${command.claimToken}`;
    default:
      return command.kind;
  }
}

type Ask = <T>(what: string, effect: (stores: Stores) => Promise<T>) => Promise<T>;

/** Does something at the server and comes back with its result. */
function ask<T>(link: Link, what: string, effect: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (action: () => void) => {
      cancelTimer();
      stopListening();
      action();
    };
    const fail = (error: BerthError) => settle(() => reject(error));
    const cancelTimer = link.process.clock.after(ANSWER_TIMEOUT_MS, () => fail(outcomeUnknown(what)));
    const stopListening = link.onBreak(() => link.process.run(() => fail(outcomeUnknown(what))));
    link.carry('out', what, () => {
      effect().then(
        (result) => link.carry('back', `${what}: ${kindOf(result)}`, () => settle(() => resolve(result))),
        (thrown: unknown) => {
          const error = BerthError.from(thrown);
          link.carry('back', `${what}: ${error.reason}`, () => fail(error));
        },
      );
    });
  });
}

async function scan<T>(
  read: Ask,
  what: string,
  all: (stores: Stores, onRows: (rows: readonly T[]) => Promise<void>) => Promise<void>,
  onRows: (rows: readonly T[]) => Promise<void>,
): Promise<void> {
  const found = await read(what, async (stores) => {
    const rows: T[] = [];
    await all(stores, async (some) => {
      rows.push(...some);
    });
    return rows;
  });
  if (found.length > 0) await onRows(found);
}

function follow(
  link: Link,
  server: StoreServer,
  revision: number,
  onChanges: (changes: readonly Change[]) => void,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const ending = new AbortController();
    const end = (action: () => void) => {
      stopListening();
      signal.removeEventListener('abort', onAbort);
      ending.abort();
      action();
    };
    const onAbort = () => end(resolve);
    signal.addEventListener('abort', onAbort, { once: true });
    const stopListening = link.onBreak(() => {
      link.process.run(() => end(() => reject(outcomeUnknown('follow'))));
    });
    link.carry('out', 'follow', () => {
      const onError = (thrown: unknown) => {
        if (ending.signal.aborted) return;
        const error = BerthError.from(thrown);
        link.carry('back', `follow: ${error.reason}`, () => end(() => reject(error)));
      };
      server.follow(
        revision,
        {
          onChanges: (changes) => link.carry('back', `${changes.length} changes`, () => onChanges(changes)),
          onError,
        },
        ending.signal,
      );
    });
  });
}

function kindOf(result: unknown): string {
  if (typeof result !== 'object' || result === null || !('kind' in result)) return 'done';
  return String(result.kind);
}

function outcomeUnknown(what: string): BerthError {
  return new BerthError('unavailable', 'outcome_unknown', `the store did not answer: ${what}`);
}
