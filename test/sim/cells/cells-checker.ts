import { TOP } from '#libs/domain/cells/cell';
import type { Consumer } from '#libs/domain/consumer';
import type { Instance } from '#libs/domain/instance';
import type { Change } from '#libs/placement/port/placement-store';
import type { MachineEvent } from '../machine';
import { QuotaWatch } from '../watches/quota-watch';
import type { RunOf, Violation } from '../world/run';
import { CELLS, type CellsWorld, cellOf } from './cells-world';

/** True if the instance counts in its project's quota at the top. */
const isCounted = ({ state }: Instance) => state !== 'deleted' && state !== 'error';

export type CellsInvariant =
  | 'nothing crosses between cells'
  | 'one cell each'
  | 'nothing healthy is destroyed'
  | 'what a cell forgot stays a doubt'
  | 'quotas are kept'
  | 'groups are kept'
  | 'cells go on without the top'
  | 'states reach the top'
  | 'claims are what runs'
  | 'every request ends'
  | 'queues are empty at rest'
  | 'no defect';

/** Attempts that their cell has given up. */
const OVER: readonly string[] = [
  'failed',
  'refused',
  'timed_out',
  'not_claimed',
  'evacuated',
  'rolled_back',
  'preempted',
];
const HEALTHY: readonly string[] = ['building', 'active', 'unknown'];

/** Rows of one cell's store, or of the top's. */
interface KnownStore {
  readonly instances: Map<string, Instance>;
  readonly consumers: Map<string, Consumer>;
}

/** A world and its checker. */
export type CellsRun = RunOf<CellsWorld, CellsChecker>;
export type Perform = (run: CellsRun) => void;

/** Watches cells and their top, and keeps the first violation. */
export class CellsChecker {
  violation: Violation | undefined;
  /** By cell, or `top`. */
  readonly stores: ReadonlyMap<string, KnownStore>;
  /** The cell, or `top`, of each request that the broker confirmed, by instance. */
  readonly asked = new Map<string, string>();
  /** The cell, or `top`, that a client requested an instance from, confirmed or not. */
  readonly wanted = new Map<string, string>();
  readonly terminating = new Set<string>();
  readonly terminated = new Set<string>();
  /** Instances written before a store went back. */
  readonly forgiven = new Set<string>();
  readonly quotas = new QuotaWatch();
  /** The top is away until all other faults have been over for a while. */
  isTopAway = false;
  /** Instances that the top knew before its own store went back. */
  readonly #forgottenByTop = new Set<string>();
  /** The cells that the top ever recorded for each instance. */
  readonly #given = new Map<string, Set<string>>();
  /** Instances that a cell reported DELETED. */
  readonly #deletedInCell = new Set<string>();

  constructor(private readonly world: CellsWorld) {
    const names = [TOP, ...CELLS];
    this.stores = new Map(names.map((name) => [name, { instances: new Map(), consumers: new Map() }]));
    world.onMachineEvent = (event) => this.#onMachineEvent(event);
    world.onDefect = (name, error) => this.fail('no defect', `${name}: ${error.message} ${String(error.cause)}`);
    for (const name of names) {
      world.serversOfCell(name).server.onWrite = (_by, what, result) => this.#onWrite(name, what, result);
    }
  }

  fail(invariant: CellsInvariant, message: string): void {
    this.violation ??= { invariant, message };
  }

  storeOf(cell: string): KnownStore {
    return this.stores.get(cell) as KnownStore;
  }

  /** True if the record of the instance, the first word, may be lost. */
  isForgiven(one: string): boolean {
    return this.forgiven.has(one.split(' ')[0] ?? '');
  }

  /** The store of a cell, or of the top, goes back to a time, or to the beginning. */
  async storeGoesBackTo(cell: string, atMs: number): Promise<void> {
    for (const uuid of [...this.storeOf(cell).instances.keys(), ...this.wanted.keys()]) this.forgiven.add(uuid);
    if (cell === TOP) for (const uuid of this.wanted.keys()) this.#forgottenByTop.add(uuid);
    const { server } = this.world.serversOfCell(cell);
    await server.goBackTo(atMs);
    const { consumers } = this.storeOf(cell);
    consumers.clear();
    if (cell === TOP) this.quotas.reset();
    await server.stores.placement.snapshot((rows) => {
      for (const consumer of rows.consumers ?? []) consumers.set(consumer.uuid, consumer);
      if (cell === TOP) this.quotas.load(rows);
    });
  }

  #onMachineEvent({ kind, machine, uuid }: MachineEvent): void {
    const cell = cellOf(machine);
    if (kind === 'begins' || kind === 'built') this.#checkCell(cell, uuid);
    if (kind === 'built') {
      const others = [...this.world.machines].filter(
        ([name, { running }]) => cellOf(name) !== cell && running.has(uuid),
      );
      // A build that timed out may end when its agent goes on: it is destroyed then.
      const tried = this.storeOf(cell)
        .instances.get(uuid)
        ?.attempts.filter(({ host }) => machine === `${cell}-${host}`);
      if (tried?.at(-1)?.outcome === 'timed_out') return;
      for (const [name] of others) {
        if (!this.forgiven.has(uuid)) this.fail('one cell each', `${uuid} is built on ${machine} and runs on ${name}`);
      }
    }
    if (kind === 'destroyed' && this.#isHealthy(uuid, cell, machine.slice(cell.length + 1))) {
      this.fail('nothing healthy is destroyed', `${uuid} on ${machine}`);
    }
  }

  /** An instance in a cell was requested there by a client, or by the top. */
  #checkCell(cell: string, uuid: string): void {
    if (this.wanted.get(uuid) === cell || this.#given.get(uuid)?.has(cell)) return;
    this.fail('nothing crosses between cells', `${uuid} of ${this.wanted.get(uuid)} comes to cell ${cell}`);
  }

  /** True if an instance should run on a host of a cell, by the records there and at the top. */
  #isHealthy(uuid: string, cell: string, host: string): boolean {
    const record = this.storeOf(cell).instances.get(uuid);
    if (record === undefined || this.forgiven.has(uuid) || this.terminating.has(uuid)) return false;
    if (!HEALTHY.includes(record.state) || record.host !== host) return false;
    if (record.attempts.some((one) => one.host === host && OVER.includes(one.outcome))) return false;
    const top = this.storeOf(TOP).instances.get(uuid);
    return (
      top === undefined ||
      (HEALTHY.includes(top.state) && top.cell?.name === cell && !top.cell.isEnding && !top.cell.move)
    );
  }

  #onWrite(cell: string, what: string, result: unknown): void {
    if (typeof result !== 'object' || result === null) return;
    if ('created' in result) {
      const { created, instances } = result as { created: boolean; instances: Instance[] };
      if (created) for (const instance of instances) this.#onRecord(cell, instance);
    } else if ('updated' in result) {
      const { updated, instance } = result as { updated: boolean; instance: Instance };
      if (updated) this.#onRecord(cell, instance);
    } else if ('change' in result) {
      this.#onChange(cell, what, result.change as Change);
    }
  }

  #onRecord(cell: string, instance: Instance): void {
    const { uuid, state } = instance;
    const before = this.storeOf(cell).instances.get(uuid);
    this.storeOf(cell).instances.set(uuid, instance);
    if (cell !== TOP) {
      this.#checkCell(cell, uuid);
      if (state === 'deleted') this.#deletedInCell.add(uuid);
      return;
    }
    const { name, move } = instance.cell ?? {};
    const given = this.#given.get(uuid) ?? new Set();
    for (const one of [name, move?.to]) if (one !== undefined) given.add(one);
    this.#given.set(uuid, given);
    const isMoved = before?.cell?.move !== undefined || before?.cell === undefined;
    if (before?.cell && name !== before.cell.name && !isMoved && !this.forgiven.has(uuid)) {
      this.fail('one cell each', `the top has ${uuid} in ${before.cell.name}, and then in ${name}`);
    }
    // A slow cell may begin a build after it was DELETED at the top: that is ended, not reserved.
    const isHandedOver = instance.cell?.isHandedOver && !before?.cell?.isHandedOver && before?.state !== 'deleted';
    if (
      isHandedOver &&
      !this.#forgottenByTop.has(uuid) &&
      !this.storeOf(TOP).consumers.has(uuid) &&
      isCounted(instance)
    ) {
      this.fail('quotas are kept', `${uuid} is handed over, and nothing is reserved for it`);
    }
    if (state !== 'deleted' || this.#forgottenByTop.has(uuid)) return;
    if (this.terminating.has(uuid) || this.#deletedInCell.has(uuid) || before?.cell?.isEnding) return;
    this.fail('what a cell forgot stays a doubt', `${uuid} is DELETED at the top, and nobody said so`);
  }

  #onChange(cell: string, what: string, change: Change): void {
    const { consumers } = this.storeOf(cell);
    for (const uuid of change.deletedConsumers ?? []) consumers.delete(uuid);
    for (const consumer of change.consumers ?? []) consumers.set(consumer.uuid, consumer);
    if (cell !== TOP) return;
    const exceeded = this.quotas.take(change, this.world.time.nowMs);
    if (exceeded.length > 0 && what.startsWith('write_allocations') && !what.includes('by force')) {
      this.fail('quotas are kept', exceeded.join(', '));
    }
  }
}
