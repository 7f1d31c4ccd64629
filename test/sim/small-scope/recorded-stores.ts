import { memoryFlavorStore } from '#libs/instances/memory/flavor-store';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { Stores } from '#libs/simulation/store-server';

type Method = (...args: unknown[]) => Promise<unknown>;

interface Write {
  readonly atMs: number;
  readonly port: keyof Stores;
  readonly method: string;
  readonly args: readonly unknown[];
}

const PORTS = ['placement', 'instances', 'leases', 'flavors'] as const;
const READS: readonly string[] = [
  'get',
  'consumers',
  'hosts',
  'list',
  'scanConsumers',
  'scan',
  'scanOutbox',
  'identify',
  'getFlavor',
  'listFlavors',
  'listDoubts',
  'getDoubts',
  'countPending',
  'countStates',
  'pendingUuids',
  'nextDue',
];

/** Stores in memory that remember every write to them, so that they can be copied: a copy does the same writes again. */
export class RecordedStores {
  readonly stores: Stores;
  readonly #writes: Write[] = [];
  readonly #raw: Stores;
  #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    const now = () => this.#nowMs();
    const clock = { now, elapsed: now, after: () => () => {} };
    this.#raw = {
      placement: new MemoryPlacementStore(),
      instances: memoryInstanceStore(clock),
      leases: memoryLeaseStore(clock),
      flavors: memoryFlavorStore(clock),
    };
    const ports = PORTS.map((port) => [port, this.#recorded(port)]);
    this.stores = Object.fromEntries(ports) as Stores;
  }

  async copy(nowMs: () => number): Promise<RecordedStores> {
    let atMs = 0;
    const copy = new RecordedStores(() => atMs);
    for (const { port, method, args, ...write } of this.#writes) {
      atMs = write.atMs;
      await (copy.#raw[port] as unknown as Record<string, Method>)[method]?.(...args).catch(() => {});
    }
    copy.#writes.push(...this.#writes);
    copy.#nowMs = nowMs;
    return copy;
  }

  #recorded<P extends keyof Stores>(port: P): Stores[P] {
    const raw = this.#raw[port];
    return new Proxy(raw, {
      get: (_target, method) => {
        const value: unknown = Reflect.get(raw, method, raw);
        if (typeof value !== 'function' || typeof method !== 'string') return value;
        return (...args: unknown[]) => {
          if (!READS.includes(method)) this.#writes.push({ atMs: this.#nowMs(), port, method, args });
          return (value as Method).apply(raw, args);
        };
      },
    });
  }
}
