import type { Bus } from '#libs/bus/port';
import { instanceEventCodec } from '#libs/contracts/instance';
import type { Allocations, Consumer } from '#libs/domain/consumer';
import type { Host } from '#libs/domain/host';
import type { Instance } from '#libs/domain/instance';
import { addResources, capacityOf, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { Change } from '#libs/placement/port/placement-store';
import type { Fleet } from './fleet';
import { isKnown } from './known-faults';
import type { MachineEvent } from './machine';

/** What must never be, and was. */
export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

export type Invariant =
  | 'no provider above capacity'
  | 'nothing healthy is destroyed'
  | 'one host each'
  | 'no host runs more than it has'
  | 'nothing is DELETED that runs'
  | 'groups are kept'
  | 'what has ended stays so'
  | 'every request ends'
  | 'claims are what runs'
  | 'foreign consumers are left alone'
  | 'nobody acts for another'
  | 'events are complete'
  | 'mirrors equal the store'
  | 'queues are empty at rest'
  | 'no defect';

/** What is known of an instance, from all that was ever written of it. */
interface Known {
  readonly states: Map<number, string>;
  readonly told: number[];
  latest: Instance;
}

/** What stands in reports that a host makes for another. */
export const FORGED = 'forged';

/** Processes' clocks are the world's, less what the way to the store takes. */
const CLOCK_TOLERANCE_MS = 500;

/** Watches a fleet, and keeps the first violation. */
export class Checker {
  violation: Violation | undefined;
  /** Requests that the broker confirmed to their clients, with their instances. */
  readonly confirmed = new Map<string, readonly string[]>();
  /** What somebody asked to terminate. */
  readonly terminated = new Set<string>();
  /** What other consumers of the placement store hold, as they wrote it last. */
  readonly foreign = new Map<string, string>();
  /** Refused to their clients. */
  readonly refused = new Set<string>();
  /** Instances whose record may be lost, because the store went back in time. */
  readonly forgiven = new Set<string>();
  readonly known = new Map<string, Known>();
  /** Terminations that the broker confirmed, of instances that were there. */
  readonly terminating = new Set<string>();
  /** What clients asked for, and how they ask again. */
  readonly requests: { readonly uuids: readonly string[]; readonly send: () => Promise<void> }[] = [];
  readonly hosts = new Map<string, Host>();
  readonly #providers = new Map<string, Provider>();
  readonly #consumers = new Map<string, Consumer>();
  /** Amounts taken, by provider and class. */
  readonly #used = new Map<string, number>();

  constructor(private readonly fleet: Fleet) {
    fleet.onMachineEvent = (event) => this.#onMachineEvent(event);
    fleet.onDefect = (name, error) => this.fail('no defect', `${name}: ${error.message} ${String(error.cause)}`);
    fleet.server.onWrite = (by, what, result) => this.#onWrite(by, what, result);
  }

  async watch(bus: Bus): Promise<void> {
    await bus.subscribe('instance.#', (_topic, { body }) => {
      const { instanceUuid, version } = instanceEventCodec.decode(body);
      this.known.get(instanceUuid)?.told.push(version);
    });
  }

  /** The store goes back to a time, or to the beginning: what was written since may be lost. */
  async storeGoesBackTo(atMs: number): Promise<void> {
    for (const uuid of this.known.keys()) this.forgiven.add(uuid);
    for (const { uuids } of this.requests) for (const uuid of uuids) this.forgiven.add(uuid);
    for (const uuid of this.foreign.keys()) this.foreign.delete(uuid);
    this.#consumers.clear();
    this.#used.clear();
    await this.fleet.server.goBackTo(atMs);
  }

  /** Whether an instance came to an end after which its record is forgotten some day. */
  isEnded(uuid: string): boolean {
    const state = this.known.get(uuid)?.latest.state;
    return state === 'deleted' || state === 'error';
  }

  fail(invariant: Invariant, message: string): void {
    const violation = { invariant, message };
    if (!isKnown(violation)) this.violation ??= violation;
  }

  /** Writes what the other consumer of the placement store holds; nothing releases it. */
  async claimAsNova(uuid: string, allocations: Allocations): Promise<void> {
    const { stores, process } = this.fleet.member('nova');
    const owner = { projectId: 'nova', userId: 'nova', consumerType: 'INSTANCE', owner: 'api' } as const;
    const write = { uuid, ...owner, allocations, mappings: {}, expect: { kind: 'any' } } as const;
    const isRelease = Object.keys(allocations).length === 0;
    if (isRelease) this.foreign.delete(uuid);
    const atMs = process.clock.now();
    const result = await stores.placement.commit({ kind: 'write_allocations', atMs, consumers: [write] });
    if (result.kind === 'committed' && !isRelease) this.foreign.set(uuid, JSON.stringify([allocations, 'nova']));
  }

  #onWrite(by: string, what: string, result: unknown): void {
    if (typeof result !== 'object' || result === null) return;
    if ('created' in result) {
      const { created, instances } = result as { created: boolean; instances: Instance[] };
      if (created) instances.forEach((instance) => this.#onRecord(instance));
    } else if ('updated' in result) {
      const { updated, instance } = result as { updated: boolean; instance: Instance };
      if (updated) this.#onRecord(instance);
    } else if ('change' in result) {
      this.#onChange(by, what, result.change as Change);
    }
  }

  #onRecord(instance: Instance): void {
    const { uuid, version, state } = instance;
    const before = this.known.get(uuid)?.latest;
    if (state === 'deleted' && before) this.#checkDeleted(before);
    if (state === 'deleting' && !this.terminated.has(uuid)) {
      this.fail('nobody acts for another', `${uuid} is DELETING, but neither its project nor an operator asked for it`);
    }
    if (state === 'error' && instance.fault?.message.includes(FORGED)) {
      this.fail('nobody acts for another', `${uuid} is in ERROR by the word of another host`);
    }
    if (version === 1 && this.isEnded(uuid)) this.#beginsAgain(uuid);
    const known = this.known.get(uuid) ?? { states: new Map(), told: [], latest: instance };
    known.states.set(version, state);
    known.latest = instance;
    this.known.set(uuid, known);
  }

  /** A request that came again after its instances were forgotten is a new one. */
  #beginsAgain(uuid: string): void {
    this.fail('what has ended stays so', `${uuid} had ended and was forgotten, and is built again`);
    this.known.delete(uuid);
    this.terminated.delete(uuid);
    this.terminating.delete(uuid);
  }

  /** Before the deadline of its destruction nothing is DELETED on a host that is up, unless it is destroyed. */
  #checkDeleted({ uuid, host = '', dueAtMs = 0 }: Instance): void {
    const isUp = this.hosts.get(host)?.up === true;
    const isInTime = this.fleet.time.nowMs < dueAtMs - CLOCK_TOLERANCE_MS;
    if (isUp && isInTime && this.fleet.machines.get(host)?.running.has(uuid)) {
      this.fail('nothing is DELETED that runs', `${uuid} is DELETED and runs on ${host}`);
    }
  }

  #onChange(by: string, what: string, change: Change): void {
    for (const provider of change.providers ?? []) this.#providers.set(provider.uuid, provider);
    for (const host of change.hosts ?? []) this.hosts.set(host.name, host);
    for (const { providerUuid, used } of change.usages ?? []) {
      const provider = this.#providers.get(providerUuid);
      for (const [name, amount] of Object.entries(used)) {
        const inventory = provider?.inventories[name];
        const capacity = inventory === undefined ? 0 : capacityOf(inventory);
        const key = `${providerUuid} ${name}`;
        const isMore = amount > (this.#used.get(key) ?? 0);
        this.#used.set(key, amount);
        const isForced = what.includes('by force');
        if (amount > capacity && isMore && !isForced && what.startsWith('write_allocations')) {
          this.fail(
            'no provider above capacity',
            `${by} took ${name} of ${provider?.name} to ${amount} of ${capacity}`,
          );
        }
      }
    }
    for (const uuid of change.deletedConsumers ?? []) this.#consumers.delete(uuid);
    for (const consumer of change.consumers ?? []) this.#consumers.set(consumer.uuid, consumer);
    if (change.consumers?.some(({ groupId }) => groupId !== undefined)) this.#checkGroups();
    if (by === 'nova') return;
    for (const uuid of change.deletedConsumers ?? []) {
      if (this.foreign.has(uuid)) this.fail('foreign consumers are left alone', `${by} removed ${uuid} of nova`);
    }
    for (const consumer of change.consumers ?? []) {
      const expected = this.foreign.get(consumer.uuid);
      if (expected !== undefined && expected !== allocationsOf(consumer)) {
        this.fail('foreign consumers are left alone', `${by} changed ${consumer.uuid} of nova`);
      }
    }
  }

  #checkMachine(host: string): void {
    const machine = this.fleet.machines.get(host);
    if (machine === undefined) return;
    const running = [...machine.running.values()].map(({ resources }) => resources);
    const sum = [...running, ...machine.building.values()].reduce<Resources>(addResources, {});
    for (const [name, amount] of Object.entries(sum)) {
      const inventory = machine.inventories[name];
      const capacity = inventory === undefined ? 0 : capacityOf(inventory);
      if (amount > capacity)
        this.fail('no host runs more than it has', `${host} runs ${amount} ${name} of ${capacity}`);
    }
  }

  /** The members of each group, by where their claims are. */
  #checkGroups(): void {
    const hostsByGroup = new Map<string, string[]>();
    for (const { groupId, allocations } of this.#consumers.values()) {
      if (groupId === undefined) continue;
      hostsByGroup.set(groupId, [...(hostsByGroup.get(groupId) ?? []), Object.keys(allocations).join(' ')]);
    }
    for (const [groupId, hosts] of hostsByGroup) {
      if (brokenPolicy(hosts, groupId)) this.fail('groups are kept', `${groupId} is on ${hosts.join(', ')}`);
    }
  }

  #onMachineEvent({ kind, machine: host, uuid }: MachineEvent): void {
    if (kind === 'begins') this.#checkMachine(host);
    if (kind !== 'destroyed') return;
    const known = this.known.get(uuid);
    if (known === undefined || this.terminated.has(uuid)) return;
    const { latest } = known;
    const wasActiveHere = latest.attempts.some((attempt) => attempt.host === host && attempt.outcome === 'active');
    const isElsewhere = latest.host !== undefined && latest.host !== host && latest.state === 'active';
    if (wasActiveHere && !isElsewhere) {
      this.fail(
        'nothing healthy is destroyed',
        `${uuid} ran on ${host} and was destroyed; its record: ${latest.state}, ${latest.fault?.message ?? 'no fault'}`,
      );
    }
  }
}

/** Groups with a policy that is kept when a claim is committed: two members on one host, or on two. */
function brokenPolicy(hosts: readonly string[], groupId: string): boolean {
  const isSpread = new Set(hosts).size === hosts.length;
  return groupId.endsWith('anti-affinity') ? !isSpread : new Set(hosts).size > 1;
}

export function allocationsOf({ allocations, projectId }: Consumer): string {
  return JSON.stringify([allocations, projectId]);
}
