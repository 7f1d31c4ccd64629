import { writeSync } from 'node:fs';
import { TOP } from '#libs/domain/cells/cell';
import { fromEvents, fromRecord } from '#libs/instances/redis/record';
import type { Change } from '#libs/placement/port/placement-store';
import { decodeChange } from '#libs/placement/redis/change-record';
import { type Amounts, type ClaimStep, type Write } from '../claims';
import type { LeaseStep } from '../leases';
import { NOTHING, type Protocol, type ProtocolStep, stepProtocol, wentBack } from '../protocol';
import { isBroken } from '../step';
import { type LoggedCommand, readAppendOnlyFile } from './append-only-file';
import { atTop, versionOf } from './steps-of-call';
import { amountsOf, claims, countsOf, offersOf, reservations } from './steps-of-commit';
import { type CellEffects, effectsOf } from './store-log';

/** States in which a claim is a new one: what has another state, or no record, may be claimed by force, because it runs. */
const NEW: readonly string[] = ['scheduling', 'pending', 'building'];

/** Steps of a store that were checked, and the first that is none of the model, if any, and why. */
export interface TracedStore {
  readonly stepCount: number;
  readonly broken: string | undefined;
}

/**
 * Checks all that a private Redis went through, and prints how much that was.
 *
 * @param folder  its `dir`; nothing is checked there without an append-only file that begins with an empty store
 */
export function traceStore(folder: string): TracedStore {
  const transactions = readAppendOnlyFile(folder);
  if (!transactions) return { stepCount: 0, broken: undefined };
  const trace = new StoreTrace();
  for (const transaction of transactions) trace.take(transaction);
  const stepCount = [...trace.counts.values()].reduce((sum, one) => sum + one, 0);
  writeSync(process.stdout.fd, `measured: ${stepCount} steps of a store checked against the model\n`);
  const broken = trace.broken && `the store took a step that is none of the model: ${trace.broken}`;
  return { stepCount, broken };
}

/**
 * Checks what a real store went through, by its append-only file, against the model. The file has what transactions wrote, in order, and not
 * what their callers asked for. So a batch of claims is one step, a claim above a capacity counts as forced if nothing of it is being
 * built, and orders and events, which are on the bus, are not in it.
 */
export class StoreTrace {
  broken: string | undefined;
  /** Steps by kind. */
  readonly counts = new Map<string, number>();
  readonly #cells = new Map<string, Protocol>();
  /** Records that the store forgot: their uuids may come again. By cell and uuid. */
  readonly #forgotten = new Set<string>();
  /** Epochs that rows of hosts have, by cell and host. */
  readonly #epochs = new Map<string, number>();

  take(transaction: readonly LoggedCommand[]): void {
    const effects = effectsOf(transaction);
    if (effects === 'everything') {
      for (const [cell, state] of this.#cells) this.#cells.set(cell, wentBack(state, NOTHING));
      this.#epochs.clear();
      return;
    }
    for (const one of effects) {
      for (const step of this.#leaseSteps(one)) this.#step(one.cell, { of: 'leases', step });
      for (const step of this.#claimSteps(one)) this.#step(one.cell, step);
      for (const step of this.#recordSteps(one)) this.#step(one.cell, step);
    }
  }

  #stateOf(cell: string): Protocol {
    return this.#cells.get(cell) ?? NOTHING;
  }

  #step(cell: string, step: ProtocolStep): void {
    if (this.broken !== undefined || (step.of === 'reservations' && cell !== TOP)) return;
    const kind = `${step.of}: ${step.step.kind}`;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    const next = stepProtocol(this.#stateOf(cell), step);
    if (isBroken(next)) this.broken = `${cell}: ${kind}: ${next.broken}`;
    else this.#cells.set(cell, next);
  }

  /** A renewal of a lease is an acquisition by its holder; a service host's new run may take at once what its former run held. */
  #leaseSteps({ cell, puts, removals, tasks }: CellEffects): LeaseStep[] {
    const { leases } = this.#stateOf(cell);
    const hosts = [...(puts.get('host-holders') ?? [])].map(([host, row]): LeaseStep => {
      const [, epoch, until, leaseMs, holder = ''] = /^(\d+) (\d+) (\d+) (.*)$/s.exec(row) ?? [];
      const name = `host ${host}`;
      const present = leases[name]?.holder;
      if (Number(leaseMs) === 0) return { kind: 'release', name, holder: present ?? '', atMs: 0 };
      const former = present !== undefined && serviceHostOf(present) === serviceHostOf(holder) ? present : undefined;
      const terms = { leaseMs: Number(leaseMs), atMs: Number(until) - Number(leaseMs), epoch: Number(epoch) };
      return { kind: 'acquire', name, holder, former, ...terms };
    });
    const deleted = (removals.get('host-holders') ?? []).map((host): LeaseStep => {
      return { kind: 'forget', name: `host ${host}`, atMs: 0 };
    });
    // The store expires the lease of a task by its own clock, and logs that it does.
    const ended = [...removals.keys()]
      .filter((key) => key.startsWith('lease:'))
      .map((key): LeaseStep => {
        const name = `task ${key.slice('lease:'.length)}`;
        return { kind: 'release', name, holder: leases[name]?.holder ?? '', atMs: 0 };
      });
    const held = [...tasks].map(([task, { holder, untilMs }]): LeaseStep => {
      const name = `task ${task}`;
      const epoch = Number(puts.get('lease-epochs')?.get(task) ?? leases[name]?.epoch);
      return { kind: 'acquire', name, holder: holder ?? leases[name]?.holder ?? '', leaseMs: untilMs, atMs: 0, epoch };
    });
    return [...hosts, ...deleted, ...ended, ...held];
  }

  #claimSteps({ cell, change, claimToken }: CellEffects): ProtocolStep[] {
    if (!change) return [];
    const rows = decodeChange(change.revision, change.text);
    const writes = this.#writesOf(cell, rows);
    const takes = ({ holds }: Write) => Object.keys(holds).length > 0;
    const offers = offersOf(rows);
    const counted = writes.filter(({ owner }) => owner === 'conductor');
    const steps: ClaimStep[] = [
      ...(writes.length > 0 ? offers.map((offer) => this.#largest(cell, offer)) : []),
      ...(writes.length > 0
        ? [{ kind: 'write', writes, isForced: this.#isForced(cell, writes), token: claimToken ?? 0 } as const]
        : []),
      ...offers,
      ...countsOf(rows),
    ];
    return [
      ...this.#heardSteps(cell, rows),
      ...claims(steps),
      ...reservations('reserve', counted.filter(takes)),
      ...reservations(
        'unreserve',
        counted.filter((one) => !takes(one)),
      ),
    ];
  }

  #writesOf(cell: string, { consumers = [], deletedConsumers = [] }: Change): Write[] {
    const { holdings } = this.#stateOf(cell).claims;
    const expects = { kind: 'any' } as const;
    const held = consumers.map(({ uuid, owner, projectId, consumerType, allocations }): Write => {
      return { uuid, owner, project: projectId, type: consumerType ?? '', holds: amountsOf(allocations), expects };
    });
    const released = deletedConsumers.flatMap((uuid): Write[] => {
      const old = holdings[uuid];
      return old ? [{ uuid, owner: old.owner, project: old.project, type: old.type, holds: {}, expects }] : [];
    });
    return [...held, ...released];
  }

  #isForced(cell: string, writes: readonly Write[]): boolean {
    const { records } = this.#stateOf(cell).records;
    return writes.some(({ uuid, owner, holds }) => {
      const state = records[uuid]?.state ?? 'runs';
      return owner === 'conductor' && Object.keys(holds).length > 0 && !NEW.includes(state);
    });
  }

  /** Within a batch a claim may come before its provider shrinks, or after it grows. */
  #largest(cell: string, offer: ClaimStep): ClaimStep {
    if (offer.kind !== 'offer') return offer;
    const { capacity } = this.#stateOf(cell).claims;
    const old = Object.entries(capacity).filter(([key]) => key.startsWith(`${offer.provider} `));
    const larger: Record<string, number> = { ...offer.capacity };
    for (const [key, amount] of old) larger[key] = Math.max(amount, larger[key] ?? 0);
    return { ...offer, capacity: larger satisfies Amounts };
  }

  /** Reports show when they change a host's row: then it has the epoch of its reporter. */
  #heardSteps(cell: string, { hosts = [], deletedHosts = [] }: Change): ProtocolStep[] {
    for (const name of deletedHosts) this.#epochs.delete(`${cell} ${name}`);
    return hosts.flatMap(({ name, epoch }): ProtocolStep[] => {
      const key = `${cell} ${name}`;
      if (epoch === 0 || this.#epochs.get(key) === epoch) return [];
      this.#epochs.set(key, epoch);
      return [{ of: 'leases', step: { kind: 'report', name: `host ${name}`, epoch, atMs: 0 } }];
    });
  }

  #recordSteps({ cell, puts, removals }: CellEffects): ProtocolStep[] {
    const isTop = cell === TOP;
    const { records } = this.#stateOf(cell).records;
    const outbox = puts.get('instances:outbox');
    const steps = [...(puts.get('instances') ?? [])].flatMap(([uuid, row]): ProtocolStep[] => {
      const next = fromRecord(row);
      const waiting = eventsOf(outbox?.get(uuid));
      const known = this.#forgotten.delete(`${cell} ${uuid}`) ? undefined : records[uuid];
      // Several versions of one record in a batch: those before the last are in the outbox alone.
      const between = known ? waiting.filter(({ version }) => version > known.version && version < next.version) : [];
      const written = [...between, next].flatMap((one): ProtocolStep[] => [
        { of: 'records', step: { kind: known ? 'update' : 'create', next: versionOf(one, isTop) } },
        ...atTop(one),
      ]);
      const kept = outbox?.has(uuid) ? [...waiting.map(({ version }) => version), next.version] : [];
      return [...written, { of: 'records', step: { kind: 'keep', uuid, versions: kept } }];
    });
    for (const uuid of removals.get('instances') ?? []) this.#forgotten.add(`${cell} ${uuid}`);
    return steps;
  }
}

/** A holder is `[run, service host]`. */
function serviceHostOf(holder: string): string | undefined {
  return (JSON.parse(holder) as string[])[1];
}

/** Earlier versions in an entry of the outbox, after its line of times. */
function eventsOf(entry: string | undefined) {
  const end = entry?.indexOf('\n') ?? -1;
  return end < 0 || entry === undefined ? [] : fromEvents(entry.slice(end + 1));
}
