import { type Consumer, INSTANCE_CONSUMER } from '#libs/domain/consumer';
import type { Guarantee } from '#libs/domain/grouping/guarantee';
import { groupKey } from '#libs/domain/server-group';
import { completeRequest } from '../decision/complete-request';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { type HostState, isSameList } from '../fleet/host-state';
import type { PendingClaim } from '../fleet/pending-claims';
import type { ClassifiedSpec } from '../request/equivalence-class';
import type { SelectSettings } from '../settings';
import { nearestFor } from './breach-text';
import { HostRules, isSameButAmounts } from './host-rules';
import { type GuaranteedInstance, guaranteedInstance, type InstanceItem, itemOf, jointKeyOf } from './instance-item';
import { Journal } from './journal';
import { type Breach, KeptGuarantee } from './kept-guarantee';
import { lossesOf } from './losses';
import type { Unplaced } from './witness';

/** A claim that is about to be made, of an instance whose spec is known. */
export interface ComingClaim {
  readonly claim: PendingClaim;
  readonly instance: GuaranteedInstance;
}

/**
 * Keeps the witnesses of all guarantees as the mirror changes.
 *
 * It follows the fleet lazily, as ranks do: what has changed since the last look is what the snapshots differ in, and the
 * consumers that changes named. A claim costs one placement for the loss of its own host, and for the others a look at
 * what their witnesses put on that host. Without guarantees it costs one comparison.
 *
 * Claims are tried on the witnesses themselves, with a journal, before they are made: `admit`. Several schedulers each keep
 * their own witnesses: what two admit at the same moment may be too much together; the next look finds that
 * (`unplaced`), and nothing more is admitted that makes it worse.
 */
export class GuaranteeKeeper {
  #rows: readonly Guarantee[] = [];
  #kept: readonly KeptGuarantee[] = [];
  #snapshot: FleetSnapshot;
  readonly #rules: HostRules;
  readonly #journal = new Journal();
  /** Instances whose specs are known, with the claim by which they are. */
  readonly #known = new Map<string, KnownInstance>();
  readonly #tracked = new Map<string, Tracked>();
  readonly #joint = new Map<string, Set<string>>();
  readonly #unread = new Set<string>();
  #changed = new Set<string>();
  #isReset = true;
  readonly #stopFollowing: () => void;

  constructor(
    private readonly fleet: Fleet,
    private readonly settings: SelectSettings,
  ) {
    this.#snapshot = fleet.snapshot(0);
    this.#rules = new HostRules(fleet, settings);
    this.#stopFollowing = fleet.view.onChange((changed) => {
      if (changed === 'all') this.#isReset = true;
      else if (this.isActive) for (const uuid of changed.consumers) this.#changed.add(uuid);
    });
  }

  close(): void {
    this.#stopFollowing();
  }

  /** True while there is any guarantee. */
  get isActive(): boolean {
    return this.fleet.view.guarantees().length > 0;
  }

  get kept(): readonly KeptGuarantee[] {
    return this.#kept;
  }

  /** Instances whose specs are to be read: nothing is kept for them before. */
  unread(): readonly string[] {
    return [...this.#unread];
  }

  /** Brings all witnesses to the fleet as it is now. */
  bring(nowMs: number): void {
    const rows = this.fleet.view.guarantees();
    if (rows.length === 0 && this.#rows.length === 0) return;
    const snapshot = this.fleet.snapshot(nowMs);
    this.#rules.nowMs = nowMs;
    const isNew = this.#rows.length === 0;
    if (isNew || this.#isReset) this.#trackAll();
    const before = this.#snapshot;
    this.#snapshot = snapshot;
    this.#rules.snapshot = snapshot;
    const isKept = rows === this.#rows && !this.#isReset;
    if (isKept && before === snapshot && this.#changed.size === 0) return;
    if (!isKept || this.#hasMovedDomains(before, snapshot)) this.#rebuild(rows, snapshot);
    else this.#advance(before, snapshot);
    this.#isReset = false;
    this.#journal.keep();
  }

  /** The spec of an instance became known: by a record, or by a claim of this scheduler. */
  learn(uuid: string, asked: ClassifiedSpec, claimToken: number): void {
    const consumer = this.fleet.view.consumer(uuid);
    this.#known.set(uuid, {
      claimToken,
      instance: guaranteedInstance(uuid, completeRequest(asked, this.fleet), consumer?.priority),
    });
    if (this.#unread.delete(uuid)) this.#track(uuid);
    this.#journal.keep();
  }

  /**
   * Tries claims on the witnesses, and keeps them there when no loss has one instance more without a place than before. Else
   * answers the first that has, and all is as it was; a guarantee that only flags lets them stay.
   */
  admit(claims: readonly ComingClaim[], mayRefuse = true): Admitted {
    const [snapshot, before] = [this.#snapshot, claims.map(({ claim }) => this.#stateOf(claim.consumerUuid))];
    let flagged: Breach | undefined;
    for (const one of claims) {
      for (const breach of this.#tryOne(one)) {
        if (!mayRefuse || breach.guarantee.policy === 'flag') {
          flagged ??= breach;
          continue;
        }
        this.#rollBack(snapshot);
        for (const state of before) this.#putBack(state);
        return { refused: breach, flagged: undefined };
      }
    }
    this.#rules.coming.length = 0;
    this.#journal.keep();
    return { refused: undefined, flagged };
  }

  /** Claims that were admitted are answered: the mirror says what holds. What was asked for and not claimed is forgotten. */
  settle(uuids: readonly string[], isMade: boolean): void {
    if (this.#rows.length === 0) return;
    for (const uuid of uuids) {
      this.#changed.add(uuid);
      if (!isMade && this.#known.get(uuid)?.claimToken === 0) this.#known.delete(uuid);
    }
  }

  /**
   * Counts claims, one after the other, until there is none or so many in a row are refused; takes all of them back.
   *
   * @param next  the next claim, given the claims refused since the last that was not
   */
  tryEach(
    next: (refused: readonly Breach[]) => ComingClaim | undefined,
    { most, tries }: { readonly most: number; readonly tries: number },
  ): { readonly fits: number; readonly breach: Breach | undefined } {
    const snapshot = this.#snapshot;
    const before: TrackedBefore[] = [];
    let refused: Breach[] = [];
    let fits = 0;
    while (fits < most && refused.length < tries) {
      const one = next(refused);
      if (!one) break;
      before.push(this.#stateOf(one.claim.consumerUuid));
      const mark = this.#journal.mark();
      const from = this.#snapshot;
      const breach = this.#tryOne(one).find(({ guarantee }) => guarantee.policy === 'refuse');
      if (!breach) {
        fits++;
        refused = [];
        continue;
      }
      refused.push(breach);
      this.#journal.rollBack(mark);
      this.#snapshot = from;
      this.#rules.snapshot = from;
      this.#putBack(before.pop() as TrackedBefore);
    }
    this.#rollBack(snapshot);
    for (const state of before) this.#putBack(state);
    return { fits, breach: refused.at(-1) };
  }

  /** The fleet with what is tried now. */
  get snapshot(): FleetSnapshot {
    return this.#snapshot;
  }

  #rollBack(snapshot: FleetSnapshot): void {
    this.#journal.rollBack();
    this.#rules.coming.length = 0;
    this.#snapshot = snapshot;
    this.#rules.snapshot = snapshot;
  }

  #stateOf(uuid: string): TrackedBefore {
    return { uuid, tracked: this.#tracked.get(uuid), known: this.#known.get(uuid) };
  }

  #putBack({ uuid, tracked, known }: TrackedBefore): void {
    const tried = this.#tracked.get(uuid);
    if (tried && tried.key !== tracked?.key) this.#joint.get(tried.key)?.delete(uuid);
    if (tracked) {
      this.#tracked.set(uuid, tracked);
      this.#joint.get(tracked.key)?.add(uuid);
    } else this.#tracked.delete(uuid);
    if (known) this.#known.set(uuid, known);
    else this.#known.delete(uuid);
  }

  /** Where the witness of the loss that seems to have happened puts an instance. */
  planFor(uuid: string): number | undefined {
    const tracked = this.#tracked.get(uuid);
    if (!tracked) return undefined;
    let best: { readonly lost: number; readonly place: number } | undefined;
    for (const kept of this.#kept) {
      for (const { loss, witness } of kept.takingHost(tracked.hostIndex)) {
        const place = witness.placeOf(tracked.key);
        if (place === undefined) continue;
        const lost = countDown(loss.hosts, this.#snapshot);
        if (best === undefined || lost > best.lost) best = { lost, place };
      }
    }
    return best?.place;
  }

  /** The losses that one claim leaves with one instance more without a place. */
  #tryOne({ claim, instance }: ComingClaim): readonly Breach[] {
    const { hostIndex, group } = claim;
    const before = this.#snapshot;
    const after = before.assume(claim);
    const unplaced = this.#kept.map(({ losses }) => losses.map(({ witness }) => witness.unplaced.size));
    this.#snapshot = after;
    this.#rules.snapshot = after;
    if (group !== undefined) this.#rules.coming.push({ uuid: instance.uuid, group, hostIndex });
    before.hosts.forEachDifference(after.hosts, (index) => this.#rebase(index, true));
    this.#known.set(instance.uuid, { claimToken: 0, instance });
    this.#untrack(instance.uuid);
    this.#put(instance.uuid, instance, hostIndex);
    if (group !== undefined) this.#regroup(group);
    const breaches: Breach[] = [];
    for (const [k, { guarantee, losses }] of this.#kept.entries()) {
      for (const [n, kept] of losses.entries()) {
        const { unplaced: now, items } = kept.witness;
        if (now.size <= (unplaced[k]?.[n] ?? 0)) continue;
        const [key, verdict] = [...now].at(-1) as [string, Unplaced];
        const item = items.get(key) as InstanceItem;
        const nearest = nearestFor(item, kept, this.#rules.hosts(item).slice(0, MAX_LOOKED_AT));
        breaches.push({ guarantee, kept, hostIndex, item, nearest, isCertain: verdict === 'none' });
        break;
      }
    }
    return breaches;
  }

  #rebuild(rows: readonly Guarantee[], snapshot: FleetSnapshot): void {
    const { fleet, settings } = this;
    this.#rows = rows;
    this.#rules.forgetHosts();
    const effort = { repairSteps: settings.guaranteeSteps, exactSteps: settings.guaranteeSteps };
    const about = { rules: this.#rules, effort, journal: this.#journal };
    this.#kept = rows.map(
      (row) => new KeptGuarantee(row, lossesOf(row, fleet, snapshot, settings.guaranteeLosses), about),
    );
    this.#tracked.clear();
    this.#joint.clear();
    if (rows.length === 0) {
      this.#known.clear();
      this.#unread.clear();
    }
    this.#changed = new Set();
    // The largest first: what any place would do for is placed last.
    const all = [...this.fleet.view.consumers()].filter(isInstance);
    for (const { uuid } of all.toSorted((a, b) => sizeOf(b) - sizeOf(a))) this.#track(uuid);
  }

  #advance(before: FleetSnapshot, snapshot: FleetSnapshot): void {
    let hasGrown = false;
    before.hosts.forEachDifference(snapshot.hosts, (index, was, is) => {
      const isCounted = was !== undefined && is !== undefined && isSameButAmounts(was, is);
      const hasShrunk =
        isCounted && Object.keys(is.free).every((name) => (is.free[name] ?? 0) <= (was.free[name] ?? 0));
      if (!isCounted) this.#rules.forgetHosts();
      if (!hasShrunk) hasGrown = true;
      this.#rebase(index, hasShrunk);
    });
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    for (const uuid of changed) this.#track(uuid);
    if (hasGrown) this.#retry();
  }

  #rebase(index: number, hasShrunk: boolean): void {
    for (const { losses } of this.#kept) for (const { witness } of losses) witness.rebase(index, hasShrunk);
  }

  #retry(): void {
    for (const { losses } of this.#kept)
      for (const { witness } of losses) if (witness.unplaced.size > 0) witness.retry();
  }

  #regroup(group: string): void {
    for (const { losses } of this.#kept) for (const { witness } of losses) witness.regroup(group);
  }

  /** Racks are made of aggregates: when hosts come, go or change theirs, other hosts are lost together. */
  #hasMovedDomains(before: FleetSnapshot, after: FleetSnapshot): boolean {
    let hasMoved = false;
    before.hosts.forEachDifference(after.hosts, (_, was, is) => {
      hasMoved ||= was === undefined || is === undefined || !isSameMembership(was, is);
    });
    return hasMoved;
  }

  #trackAll(): void {
    this.#changed = new Set();
    for (const consumer of this.fleet.view.consumers()) if (isInstance(consumer)) this.#changed.add(consumer.uuid);
  }

  /** Brings what is kept for an instance to what the mirror says of it. */
  #track(uuid: string): void {
    const consumer = this.fleet.view.consumer(uuid);
    const hostIndex = consumer && isInstance(consumer) ? this.fleet.indexOfConsumer(uuid) : undefined;
    const tracked = this.#tracked.get(uuid);
    if (hostIndex === undefined || consumer === undefined) {
      this.#untrack(uuid);
      this.#unread.delete(uuid);
      this.#known.delete(uuid);
      return;
    }
    const known = this.#known.get(uuid);
    if (known && (known.claimToken === 0 || known.claimToken === consumer.claimToken)) {
      // The claim that this scheduler made, or read of.
      this.#known.set(uuid, { ...known, claimToken: consumer.claimToken });
      if (tracked?.hostIndex === hostIndex && tracked.instance === known.instance) return;
      this.#untrack(uuid);
      this.#put(uuid, known.instance, hostIndex);
    } else {
      this.#untrack(uuid);
      this.#unread.add(uuid);
    }
    const group = consumer.groupId && groupKey(consumer.projectId, consumer.groupId);
    if (group) this.#regroup(group);
  }

  #put(uuid: string, instance: GuaranteedInstance, hostIndex: number): void {
    const joint = jointKeyOf(instance, hostIndex);
    const key = joint ?? uuid;
    this.#tracked.set(uuid, { key, hostIndex, instance });
    if (joint === undefined) return this.#add(key, [instance], hostIndex);
    const members = this.#joint.get(joint) ?? new Set();
    this.#joint.set(joint, members.add(uuid));
    this.#add(key, this.#members(members), hostIndex);
  }

  #untrack(uuid: string): void {
    const tracked = this.#tracked.get(uuid);
    if (!tracked) return;
    this.#tracked.delete(uuid);
    const members = this.#joint.get(tracked.key);
    members?.delete(uuid);
    const left = members ? this.#members(members) : [];
    if (left.length > 0) return this.#add(tracked.key, left, tracked.hostIndex);
    this.#joint.delete(tracked.key);
    for (const kept of this.#kept) {
      for (const { witness } of kept.takingHost(tracked.hostIndex)) witness.remove(tracked.key);
    }
  }

  #members(uuids: ReadonlySet<string>): readonly GuaranteedInstance[] {
    return [...uuids].map((uuid) => this.#tracked.get(uuid)?.instance).filter((one) => one !== undefined);
  }

  #add(key: string, instances: readonly GuaranteedInstance[], hostIndex: number): void {
    const nominations = this.fleet.view.nominations();
    for (const kept of this.#kept) {
      const covered = instances.filter((one) => kept.covers(one));
      if (covered.length === 0) continue;
      const item = itemOf(key, covered, hostIndex, nominations);
      for (const { witness } of kept.takingHost(hostIndex)) witness.add(item, witness.placeOf(key));
    }
  }
}

/** Hosts among which the nearest is looked for. */
const MAX_LOOKED_AT = 256;

/** Verdict on coming claims: refused, or flagged with the loss that has one instance more without a place. */
export interface Admitted {
  readonly refused: Breach | undefined;
  readonly flagged: Breach | undefined;
}

interface TrackedBefore {
  readonly uuid: string;
  readonly tracked: Tracked | undefined;
  readonly known: KnownInstance | undefined;
}

interface KnownInstance {
  /** 0: of a claim that is being made. */
  readonly claimToken: number;
  readonly instance: GuaranteedInstance;
}

interface Tracked {
  /** Key of its item. */
  readonly key: string;
  readonly hostIndex: number;
  readonly instance: GuaranteedInstance;
}

function isInstance({ owner, consumerType }: Consumer): boolean {
  return owner === 'conductor' && consumerType === INSTANCE_CONSUMER;
}

function isSameMembership(a: HostState, b: HostState): boolean {
  return a === b || (a.root.uuid === b.root.uuid && isSameList(a.aggregates, b.aggregates));
}

function countDown(hosts: ReadonlySet<number>, snapshot: FleetSnapshot): number {
  let count = 0;
  for (const index of hosts) if (snapshot.at(index)?.host.up === false) count++;
  return count;
}

function sizeOf({ allocations }: Consumer): number {
  let sum = 0;
  for (const resources of Object.values(allocations)) for (const name in resources) sum += resources[name] as number;
  return sum;
}
