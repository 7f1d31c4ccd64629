import { BerthError } from '../domain/errors';
import type { Instance } from '../domain/instance';
import type { AcquireHosts, Ask, Change, Command, HostReport, PlacementStore } from '../placement/port/placement-store';
import { askOver } from './ask-over';
import type { Link } from './link';
import type { StoreCall, StoreServer, Stores } from './store-server';

/** Longest wait of a client for the store's answer. */
const ANSWER_TIMEOUT_MS = 2_000;

/** Whatever a method of a store is: all of them ask and wait. */
type Method = (...args: unknown[]) => Promise<unknown>;

/**
 * A process's stores across a link that delays, breaks and loses. When a connection breaks, what was under way may have
 * happened or not; what is answered too late has happened all the same. Each method of each port is asked in the same way,
 * but for those that call back.
 */
export function simulatedStores(link: Link, server: StoreServer): Stores {
  const remote = <P extends keyof Stores>(port: P, own: Partial<Stores[P]>): Stores[P] =>
    new Proxy(own as Stores[P], {
      get: (_target, name) => {
        const method = Reflect.get(own, name) as Method | undefined;
        // A port in a promise must not look like another promise.
        if (method !== undefined || typeof name !== 'string' || name === 'then') return method;
        return (...args: unknown[]) => askFor(link, server, { port, name, args });
      },
    });
  const close = async () => {};
  return {
    placement: remote('placement', {
      close,
      useMirror: () => {},
      snapshot: (onRows) => snapshot(link, server, onRows),
      follow: (revision, onChanges, signal) => follow(link, server, { revision, onChanges, signal }),
    }),
    instances: remote('instances', { close }),
    leases: remote('leases', {}),
    flavors: remote('flavors', {}),
  };
}

/** The store's clock, which is the world's. */
export function askStoreTime(link: Link, server: StoreServer): Promise<number> {
  return ask(link, 'time', () => server.read(async () => Math.floor(link.process.time.nowMs)));
}

/** Methods that change nothing: a server that goes back in time need not do them again. */
const READS: readonly string[] = [
  'get',
  'list',
  'getFlavor',
  'listFlavors',
  'consumers',
  'hosts',
  'heardAt',
  'unheardHosts',
  'reported',
  'revision',
  'listDoubts',
  'getDoubts',
  'countPending',
  'countStates',
  'pendingUuids',
  'nextDue',
  'identify',
  'projectUsages',
  'projectDays',
  'recentUses',
  'endedUsage',
  'askAnswer',
  'decision',
  'allocationRequests',
  'holders',
  'nodes',
  'nodeNames',
  'processes',
];

function askFor(link: Link, server: StoreServer, call: StoreCall): Promise<unknown> {
  const { port, name, args } = call;
  if (name.startsWith('scan')) return scan(link, server, call);
  const what = describe(name, args);
  const effect = (stores: Stores) => (stores[port] as unknown as Record<string, Method>)[name]?.(...args);
  if (READS.includes(name)) return ask(link, what, () => server.read(async (stores) => effect(stores)));
  const { nowMs } = link.process.time;
  const by = { name: link.process.name, atMs: name === 'reportHost' ? Math.min(nowMs, heardAtMs(args)) : nowMs, call };
  return ask(link, what, () => server.write(by, what, async (stores) => effect(stores)));
}

/** When a scheduler heard a report: it may be busy with it for long. */
function heardAtMs([report]: readonly unknown[]): number {
  return (report as HostReport).atMs;
}

/** A question to the store in words, for the history. */
function describe(name: string, args: readonly unknown[]): string {
  const [first, second] = args;
  switch (name) {
    case 'commit':
      return describeCommand(first as Command);
    case 'update': {
      const { uuid, state, version } = first as Instance;
      return `${uuid} becomes ${state}, v${version}`;
    }
    case 'create':
      return `create ${(second as readonly Instance[]).map(({ uuid }) => uuid).join(', ')}`;
    case 'acquireHosts':
      return `${name} ${(first as AcquireHosts).hosts.join(', ')}`;
    case 'reportHost':
      return `${name} ${(first as HostReport).host}`;
    case 'openAsk': {
      const { id, host, instanceUuid } = first as Ask;
      return `asks ${host} of ${instanceUuid}, ${id}`;
    }
    case 'answerAsk':
      return `${String(second)} answers ${String(first)}: ${String(args[2])}`;
    case 'get':
    case 'consumers':
    // Hosts of the placement store, or of the instance store those after one.
    case 'hosts':
      return `${name} ${[first].flat().join(', ')}`;
    default:
      return typeof first === 'string' ? `${name} ${first}` : name;
  }
}

function describeCommand(command: Command): string {
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

/** Does something at the server and comes back with its result. */
function ask<T>(link: Link, what: string, effect: () => Promise<T>): Promise<T> {
  return askOver(link, { what, timeoutMs: ANSWER_TIMEOUT_MS, effect, describeAnswer: kindOf, lost: outcomeUnknown });
}

async function snapshot(
  link: Link,
  server: StoreServer,
  onRows: Parameters<PlacementStore['snapshot']>[0],
): Promise<number> {
  const read = server.read.bind(server);
  const { rows, revision } = await ask(link, 'snapshot', () =>
    read(async ({ placement }) => {
      const found: Parameters<typeof onRows>[0][] = [];
      return { rows: found, revision: await placement.snapshot((some) => found.push(some)) };
    }),
  );
  rows.forEach(onRows);
  return revision;
}

/** Reads chunk after chunk at the server, then gives them to who asked: what it does with them is done by its own asking. */
async function scan(link: Link, server: StoreServer, { port, name, args }: StoreCall): Promise<unknown> {
  const at = args.findIndex((one) => typeof one === 'function');
  const { chunks, result } = await ask(link, name, () =>
    server.read(async (stores) => {
      const found: unknown[][] = [];
      const collect = async (...chunk: unknown[]) => void found.push(chunk);
      const store = stores[port] as unknown as Record<string, Method>;
      return { chunks: found, result: await store[name]?.(...args.with(at, collect)) };
    }),
  );
  for (const chunk of chunks) await (args[at] as Method)(...chunk);
  return result;
}

interface Following {
  readonly revision: number;
  readonly onChanges: (changes: readonly Change[]) => void;
  readonly signal: AbortSignal;
}

function follow(link: Link, server: StoreServer, { revision, onChanges, signal }: Following): Promise<void> {
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
      const onSome = (changes: readonly Change[]) => {
        link.carry('back', `${changes.length} changes`, () => onChanges(changes));
      };
      server.follow(revision, { onChanges: onSome, onError }, ending.signal);
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
