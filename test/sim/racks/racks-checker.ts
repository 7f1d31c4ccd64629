import type { Allocations } from '#libs/domain/consumer';
import type { Guarantee } from '#libs/domain/grouping/guarantee';
import type { Instance } from '#libs/domain/instance';
import type { Change, Rows } from '#libs/placement/port/placement-store';
import type { RunOf, Violation } from '../world/run';
import { Oracle } from './oracle';
import type { RacksWorld } from './racks-world';

export type RacksInvariant =
  | 'a guarantee shows what holds'
  | 'what is guaranteed runs again'
  | 'what moves follows the witness'
  | 'a guarantee stands what it admits'
  | 'every request ends'
  | 'no defect';

/** A world and its checker. */
export type RacksRun = RunOf<RacksWorld, RacksChecker>;
export type Perform = (run: RacksRun) => void;

/** Watches records of instances, and keeps the first violation. */
export class RacksChecker {
  violation: Violation | undefined;
  readonly records = new Map<string, Instance>();
  /** Root providers by host. */
  readonly roots = new Map<string, string>();
  /** Claims of the other consumer. */
  readonly foreign = new Set<string>();
  /** Instances whose request the broker confirmed to its tenant. */
  readonly asked = new Set<string>();
  /** Instances of a real loss that a guarantee covers: nothing may refuse them. */
  readonly lost = new Set<string>();

  constructor(private readonly world: RacksWorld) {
    world.onDefect = (name, error) => this.fail('no defect', `${name}: ${error.message} ${String(error.cause)}`);
    world.server.onWrite = (_by, _what, result) => this.#onWrite(result);
  }

  fail(invariant: RacksInvariant, message: string): void {
    this.violation ??= { invariant, message };
  }

  /** The store as it is now: an oracle of it, and its guarantees. */
  async look(): Promise<{ readonly oracle: Oracle; readonly guarantees: readonly Guarantee[] }> {
    const all: Record<string, unknown[]> = {};
    await this.world.server.stores.placement.snapshot((rows) => {
      for (const [table, some] of Object.entries(rows)) all[table] = [...(all[table] ?? []), ...some];
    });
    const rows = all as Rows;
    return { oracle: new Oracle(rows), guarantees: rows.guarantees ?? [] };
  }

  /** Another consumer of the store takes or gives back. */
  async claimAsNova(uuid: string, allocations: Allocations): Promise<void> {
    const { stores, process } = this.world.member('nova');
    const owner = { projectId: 'nova', userId: 'nova', consumerType: 'INSTANCE', owner: 'api' } as const;
    const write = { uuid, ...owner, allocations, mappings: {}, expect: { kind: 'any' } } as const;
    if (Object.keys(allocations).length === 0) this.foreign.delete(uuid);
    else this.foreign.add(uuid);
    await stores.placement.commit({ kind: 'write_allocations', atMs: process.clock.now(), consumers: [write] });
  }

  #onWrite(result: unknown): void {
    if (typeof result !== 'object' || result === null) return;
    if ('created' in result) {
      const { created, instances } = result as { created: boolean; instances: Instance[] };
      if (created) for (const instance of instances) this.#onRecord(instance);
    } else if ('updated' in result) {
      const { updated, instance } = result as { updated: boolean; instance: Instance };
      if (updated) this.#onRecord(instance);
    } else if ('change' in result) {
      for (const { name, providerUuid } of (result.change as Change).hosts ?? []) this.roots.set(name, providerUuid);
    }
  }

  #onRecord(instance: Instance): void {
    const { uuid, fault } = instance;
    this.records.set(uuid, instance);
    if (this.lost.has(uuid) && fault?.reason === 'no_valid_host') {
      this.fail('what is guaranteed runs again', `${uuid} is refused: ${fault.message}`);
    }
  }
}
