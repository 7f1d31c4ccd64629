import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { FactKind, FactSources, NovaFacts } from './nova-facts';

export interface KeepFactsSettings {
  /** Interval of asking for each kind; 0 asks once, at start. */
  readonly intervalMs: Readonly<Record<FactKind, number>>;
  readonly timeoutMs: number;
}

/** A poll takes at most this share of the time: a large Nova is asked less often. */
const MOST_OF_TIME = 1 / 4;
const RETRY_MS = 2_000;
const KINDS: readonly FactKind[] = ['nodes', 'services', 'aggregates', 'instances', 'cells', 'hardware', 'images'];
/** Calls are taken before these were read: they are long, or few requests need them. */
const NOT_AWAITED: readonly FactKind[] = ['instances', 'hardware', 'images'];

/** Facts kept fresh by polls. */
export interface KeptFacts {
  /** Resolves when each kind was read once, but for instances, hardware and images. */
  readonly complete: Promise<void>;
  /** Asks for a kind now, unless that is under way. Never rejects. */
  refresh(kind: FactKind): Promise<void>;
  close(): Promise<void>;
}

/** Polls a source, each kind by itself, and keeps the last answer while it is away. */
export function keepFacts(
  facts: NovaFacts,
  source: FactSources,
  settings: KeepFactsSettings,
  { clock, log }: Pick<RuntimeDeps, 'clock' | 'log'>,
): KeptFacts {
  const closing = new AbortController();
  const underWay = new Map<FactKind, Promise<boolean>>();
  const failing = new Set<FactKind>();

  const read = async (kind: FactKind): Promise<boolean> => {
    const askedAtMs = clock.elapsed();
    const timeout = new AbortController();
    const cancel = clock.after(settings.timeoutMs, () => timeout.abort(new Error('no answer in time')));
    try {
      await READERS[kind](facts, source, AbortSignal.any([timeout.signal, closing.signal]), askedAtMs);
      if (failing.delete(kind)) log.info({ event: 'nova_facts_again', kind }, `Nova's ${kind} are read again`);
      return true;
    } catch (thrown) {
      if (!failing.has(kind) && !closing.signal.aborted) {
        const error = BerthError.from(thrown).message;
        log.warn(
          { event: 'nova_facts_failed', kind, error },
          `Nova's ${kind} can not be read: the last known are used`,
        );
      }
      failing.add(kind);
      return false;
    } finally {
      cancel();
    }
  };
  const readOnce = (kind: FactKind): Promise<boolean> => {
    const asked = underWay.get(kind) ?? read(kind).finally(() => underWay.delete(kind));
    underWay.set(kind, asked);
    return asked;
  };

  const poll = async (kind: FactKind, onFirst: () => void): Promise<void> => {
    while (!closing.signal.aborted) {
      const startedAtMs = clock.elapsed();
      const isRead = await readOnce(kind);
      if (isRead) onFirst();
      const tookMs = clock.elapsed() - startedAtMs;
      const intervalMs = settings.intervalMs[kind];
      if (isRead && intervalMs === 0) return;
      await sleep(clock, Math.max(isRead ? intervalMs : RETRY_MS, tookMs / MOST_OF_TIME), closing.signal);
    }
  };
  const firsts = KINDS.filter((kind) => kind in source).map((kind) => {
    let onFirst: () => void = () => {};
    const promise = new Promise<void>((resolve) => {
      onFirst = resolve;
    });
    return { kind, promise, loop: poll(kind, () => onFirst()) };
  });

  return {
    complete: Promise.all(firsts.filter(({ kind }) => !NOT_AWAITED.includes(kind)).map(({ promise }) => promise)).then(
      () => {},
    ),
    refresh: async (kind) => void (await readOnce(kind)),
    async close() {
      closing.abort();
      await Promise.all([...firsts.map(({ loop }) => loop), ...underWay.values()]);
    },
  };
}

type Reader = (facts: NovaFacts, source: FactSources, signal: AbortSignal, atMs: number) => Promise<void>;

const READERS: Readonly<Record<FactKind, Reader>> = {
  nodes: async (facts, source, signal, atMs) => facts.setNodes(await source.nodes(signal), atMs),
  services: async (facts, source, signal, atMs) => facts.setServices(await source.services(signal), atMs),
  aggregates: async (facts, source, signal, atMs) => facts.setAggregates(await source.aggregates(signal), atMs),
  instances: async (facts, source, signal, atMs) => facts.setInstances(await source.instances(signal), atMs),
  cells: async (facts, source, signal, atMs) => facts.setCells((await source.cells?.(signal)) ?? new Map(), atMs),
  hardware: async (facts, source, signal, atMs) =>
    facts.setHardware((await source.hardware?.(signal)) ?? new Map(), atMs),
  images: async (facts, source, signal, atMs) => facts.setImages((await source.images?.(signal)) ?? new Map(), atMs),
};
