import type { Consumer } from '#libs/domain/consumer';
import type { Instance } from '#libs/domain/instance';
import { capacityOf, type Resources } from '#libs/domain/inventory';
import type { NodeRecord } from '#libs/domain/nodes/node';
import type { NodeState } from '#libs/domain/nodes/node-state';
import type { Provider } from '#libs/domain/provider';
import type { Change } from '#libs/placement/port/placement-store';
import type { RunOf, Violation } from '../world/run';
import type { RackOrder } from './rack';
import type { RingWorld } from './ring-world';

export type RingInvariant =
  | 'no node has two managers'
  | 'nothing is built twice'
  | 'one node each'
  | 'orders wait in doubt'
  | 'nothing healthy is switched off'
  | 'nothing healthy is destroyed'
  | 'boots are proven'
  | "a busy node's power is Berth's"
  | 'every node is served'
  | 'shares are fair'
  | 'claims are what runs'
  | 'nodes offer what they are'
  | 'every request ends'
  | 'queues are empty at rest'
  | 'no defect';

/** Outcomes of attempts that are over, and whose instances are destroyed. */
const OVER: readonly string[] = ['failed', 'refused', 'timed_out', 'not_claimed', 'evacuated', 'rolled_back'];
/** States of an instance that runs on its node. A failed build is undone before its failure is reported. */
const RUNNING: readonly string[] = ['active', 'unknown'];
/** States of an instance that belongs on its node. */
const WANTED: readonly string[] = ['building', ...RUNNING];
/** Reasons in which an agent doubts its own hold on a node: no order may fail with them. */
const DOUBTS: readonly string[] = ['epoch_unknown', 'epoch_superseded', 'not_surely_held'];
const SWITCHED_OFF: readonly string[] = ['Reset ForceOff', 'Reset GracefulShutdown', 'Reset ForceRestart'];

/** Work on a node: its boot device, and the node's state once that has booted. */
const WORK: Readonly<Partial<Record<NodeState, { readonly device: string; readonly end: NodeState }>>> = {
  deploying: { device: 'Pxe', end: 'active' },
  cleaning: { device: 'Utilities', end: 'available' },
};

/** A world and its checker. */
export type RingRun = RunOf<RingWorld, RingChecker>;
export type Perform = (run: RingRun) => void;

/** Watches nodes and their controllers, and keeps the first violation. */
export class RingChecker {
  violation: Violation | undefined;
  /** The stored record of each node. */
  readonly nodes = new Map<string, NodeRecord>();
  readonly instances = new Map<string, Instance>();
  readonly consumers = new Map<string, Consumer>();
  readonly providers = new Map<string, Provider>();
  /** Requests that the broker confirmed, and their instances. */
  readonly asked = new Set<string>();
  /** Instances that a client asked to terminate, confirmed or not. */
  readonly terminating = new Set<string>();
  /** Terminations that the broker confirmed. */
  readonly terminated = new Set<string>();
  /** Instances written before a store went back. */
  readonly forgiven = new Set<string>();
  /** The instance on each node's disk. */
  readonly installed = new Map<string, string>();
  /** Instances that tenants asked to stop or start: they may be switched off. */
  readonly mayStop = new Set<string>();
  /** Times that an operator may yet have each node switched off. */
  readonly #switchings = new Map<string, number>();
  /** Nodes whose build began after they last lost power or were given back. */
  readonly #isWhole = new Set<string>();
  /** Epoch under which a node's power was cut while it was deployed: that build failed, though the record of it may be lost. */
  readonly #cutUnder = new Map<string, number>();
  #hasForgotten = false;
  /** Nodes whose stored state may be older than their managers': the store went back, and was not written since. */
  readonly #older = new Set<string>();
  /** Amounts taken, by provider. */
  readonly #used = new Map<string, Resources>();
  /** The latest epoch under which each node was ordered, and its sender. */
  readonly #managers = new Map<string, { readonly epoch: number; readonly by: string }>();

  /** The latest epoch by which each node was marked. */
  readonly #marks = new Map<string, { readonly epoch: number; readonly by: string }>();
  /** Boots of a node before its present work began. */
  readonly #bootsBefore = new Map<string, number>();

  constructor(private readonly world: RingWorld) {
    world.rack.onOrder = (order) => this.#onOrder(order);
    world.onNode = (record, regression) => {
      if (regression) this.fail('no node has two managers', `the record of ${record.host} ${regression}`);
      this.#checkBoot(record, this.nodes.get(record.host));
      this.nodes.set(record.host, record);
      this.#older.delete(record.host);
    };
    world.onDefect = (name, error) => this.fail('no defect', `${name}: ${error.message} ${String(error.cause)}`);
    world.server.onWrite = (_by, what, result) => this.#onWrite(what, result);
  }

  /** True if a store ever went back. */
  get hasForgotten(): boolean {
    return this.#hasForgotten;
  }

  /** True if the record of the instance, the first word, may be lost. */
  isForgiven(one: string): boolean {
    return this.forgiven.has(one.split(' ')[0] ?? '');
  }

  fail(invariant: RingInvariant, message: string): void {
    this.violation ??= { invariant, message };
  }

  /** The store goes back to a time, or to the beginning: later writes may be lost. */
  async storeGoesBackTo(atMs: number): Promise<void> {
    for (const uuid of [...this.instances.keys(), ...this.asked]) this.forgiven.add(uuid);
    this.#hasForgotten = true;
    this.nodes.clear();
    this.consumers.clear();
    this.#used.clear();
    await this.world.server.goBackTo(atMs);
    for (const node of this.nodes.keys()) this.#older.add(node);
    await this.world.server.stores.placement.snapshot(({ consumers = [], providers = [], usages = [] }) => {
      for (const consumer of consumers) this.consumers.set(consumer.uuid, consumer);
      for (const provider of providers) this.providers.set(provider.uuid, provider);
      for (const { providerUuid, used } of usages) this.#used.set(providerUuid, used);
    });
  }

  /** An operator may have a node switched off once, or once for each copy of the order. */
  maySwitch(node: string, times = 1): void {
    this.#switchings.set(node, (this.#switchings.get(node) ?? 0) + times);
  }

  /** A build on the node has to begin anew. */
  losesPower(node: string): void {
    this.#isWhole.delete(node);
  }

  /** Work that ended well has booted its device, and that has come up. */
  #checkBoot({ host, state }: NodeRecord, before: NodeRecord | undefined): void {
    const { boots } = this.world.rack.system(host);
    const isBegun = before !== undefined && before.state !== state && WORK[state] !== undefined;
    if (isBegun) this.#bootsBefore.set(host, boots.length);
    const device = before && state === WORK[before.state]?.end ? WORK[before.state]?.device : undefined;
    const from = this.#bootsBefore.get(host);
    if (device === undefined || from === undefined || this.#hasForgotten) return;
    const since = boots.slice(from);
    const isUp = since.at(-1) !== device || this.world.rack.isUp(host);
    if (since.includes(device) && isUp) return;
    this.fail('boots are proven', `${host} is ${state} after it booted ${since.join(', ') || 'nothing'}`);
  }

  #onOrder({ node, what, by, epoch, system }: RackOrder): void {
    this.world.note(node, `takes ${what} of ${by} under ${epoch}`);
    // A marked node is not managed yet: orders of its earlier manager may be under way.
    if (what === 'AssetTag') return this.#marked(node, by, epoch);
    const { epoch: latest = 0, by: manager = by } = this.#managers.get(node) ?? {};
    if (epoch < latest) {
      this.fail('no node has two managers', `${node} takes ${what} of ${by} under ${epoch}, after one under ${latest}`);
    }
    if (epoch === latest && by !== manager) {
      this.fail('no node has two managers', `${node} takes ${what} of ${by} and of ${manager} under ${epoch}`);
    }
    this.#managers.set(node, { epoch, by });
    if (SWITCHED_OFF.includes(what) && system.isOn) this.#switchedOff(node, what, epoch);
    if (what === 'Reset On' && !system.isOn) {
      const isDisk = system.bootEnabled === 'Disabled' || this.world.rack.ignoresBootDevice;
      this.#booted(node, isDisk ? 'Hdd' : system.bootTarget, epoch);
    }
  }

  #marked(node: string, by: string, epoch: number): void {
    const { epoch: latest = 0, by: manager = by } = this.#marks.get(node) ?? {};
    // A new node is marked again once its first record is written.
    const isLater = epoch > latest || (epoch === latest && by === manager);
    if (!isLater) this.fail('no node has two managers', `${node} is marked ${epoch} by ${by}, after ${latest}`);
    this.#marks.set(node, { epoch, by });
  }

  #switchedOff(node: string, what: string, epoch: number): void {
    const state = this.#older.has(node) ? undefined : this.nodes.get(node)?.state;
    if (what === 'Reset ForceOff' && state === 'deploying') this.#cutUnder.set(node, epoch);
    if (what === 'Reset ForceRestart' && (state === 'deploying' || state === 'cleaning' || state === 'enroll')) {
      this.fail("a busy node's power is Berth's", `${node} is restarted while it is ${state}`);
    }
    const uuid = this.installed.get(node);
    if (uuid === undefined || !this.#isWanted(uuid, node, RUNNING) || this.mayStop.has(uuid)) return;
    const left = this.#switchings.get(node) ?? 0;
    if (left === 0) this.fail('nothing healthy is switched off', `${node} takes ${what} while ${uuid} runs on it`);
    this.#switchings.set(node, left - 1);
  }

  #booted(node: string, device: string, epoch: number): void {
    const { state, instanceUuid = '' } = this.nodes.get(node) ?? {};
    const before = this.installed.get(node);
    const isHealthy = before !== undefined && this.#isWanted(before, node);
    if (device === 'Utilities' || (device === 'Pxe' && state === 'deploying' && before !== instanceUuid)) {
      const runs = before !== undefined && this.#isWanted(before, node, RUNNING);
      if (runs) this.fail('nothing healthy is destroyed', `${node} boots ${device}, and ${before} is on it`);
      this.installed.delete(node);
    }
    if (device !== 'Pxe' || state !== 'deploying') return;
    // A manager does not restart its own build by a power cut; the next one may restart a failed build.
    const isUndone = (this.#cutUnder.get(node) ?? epoch) !== epoch;
    this.#cutUnder.delete(node);
    // Where boots are not reported, the next manager does not know what came up.
    const isSeen = this.nodes.get(node)?.tellsBoot === true;
    if (before === instanceUuid && this.#isWhole.has(node) && isHealthy && !isUndone && isSeen) {
      this.fail('nothing is built twice', `${instanceUuid} is built on ${node} again`);
    }
    const others = [...this.installed].filter(([other, uuid]) => other !== node && uuid === instanceUuid);
    for (const [other] of others) {
      if (this.#isWanted(instanceUuid, other))
        this.fail('one node each', `${instanceUuid} is built on ${node} and ${other}`);
    }
    this.installed.set(node, instanceUuid);
    this.#isWhole.add(node);
  }

  /** True if an instance should run on a node, by its record. */
  #isWanted(uuid: string, node: string, states = WANTED): boolean {
    const instance = this.instances.get(uuid);
    if (instance === undefined || this.forgiven.has(uuid) || this.terminating.has(uuid)) return false;
    if (!states.includes(instance.state)) return false;
    return instance.attempts.some(({ host, outcome }) => host === node && !OVER.includes(outcome));
  }

  #onWrite(what: string, result: unknown): void {
    if (typeof result !== 'object' || result === null) return;
    if ('created' in result) {
      const { created, instances } = result as { created: boolean; instances: Instance[] };
      if (created) for (const instance of instances) this.instances.set(instance.uuid, instance);
    } else if ('updated' in result) {
      const { updated, instance } = result as { updated: boolean; instance: Instance };
      if (updated) this.#onRecord(instance);
    } else if ('change' in result) {
      this.#onChange(what, result.change as Change);
    }
  }

  /** Orders in doubt are done or left to others: none fails. */
  #onRecord(instance: Instance): void {
    const { uuid, attempts, fault } = instance;
    for (const { reason = '' } of [...attempts, fault ?? {}]) {
      if (DOUBTS.includes(reason)) this.fail('orders wait in doubt', `an order for ${uuid} fails: ${reason}`);
    }
    this.instances.set(uuid, instance);
  }

  #onChange(what: string, { consumers = [], deletedConsumers = [], providers = [], usages = [] }: Change): void {
    for (const uuid of deletedConsumers) this.consumers.delete(uuid);
    for (const consumer of consumers) this.consumers.set(consumer.uuid, consumer);
    for (const provider of providers) this.providers.set(provider.uuid, provider);
    for (const { providerUuid, used } of usages) this.#checkUsed(providerUuid, used, what.includes('by force'));
  }

  /** A busy node, or one in maintenance, gives nothing new; earlier claims stay. */
  #checkUsed(providerUuid: string, used: Resources, isForced: boolean): void {
    const { name = '', inventories = {} } = this.providers.get(providerUuid) ?? {};
    const isMore = Object.entries(used).some(([of, amount]) => amount > (this.#used.get(providerUuid)?.[of] ?? 0));
    this.#used.set(providerUuid, used);
    for (const [of, amount] of Object.entries(used)) {
      const inventory = inventories[of];
      const capacity = inventory ? capacityOf(inventory) : 0;
      if (isMore && !isForced && amount > capacity)
        this.fail('nodes offer what they are', `${amount} ${of} of ${name} are taken, of ${capacity}`);
    }
  }
}
