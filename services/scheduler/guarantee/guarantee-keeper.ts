import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type Consumer, INSTANCE_CONSUMER } from '#libs/domain/consumer';
import type { Guarantee } from '#libs/domain/grouping/guarantee';
import { addResources, type Resources } from '#libs/domain/inventory';
import { requestSpec } from '#libs/domain/request-spec';
import { groupKey } from '#libs/domain/server-group';
import { completeRequest } from '../decision/complete-request';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { isSameAmounts } from '../fleet/host-providers';
import { type HostState, isSameList } from '../fleet/host-state';
import type { PendingClaim } from '../fleet/pending-claims';
import { type ClassifiedSpec, specClassifier } from '../request/equivalence-class';
import type { SelectSettings } from '../settings';
import { nearestFor } from './breach-text';
import { HostRules, isSameButAmounts } from './host-rules';
import { type GuaranteedInstance, guaranteedInstance, type InstanceItem, itemOf, jointKeyOf } from './instance-item';
import { Journal } from './journal';
import { type Breach, KeptGuarantee, type KeptLoss } from './kept-guarantee';
import { lossesOf } from './losses';
import type { Unplaced } from './witness';

/** A claim that is about to be made, of an instance whose spec is known. */
export interface ComingClaim {
  readonly claim: PendingClaim;
  readonly instance: GuaranteedInstance;
  /** The record is to be read: the request left hosts out, as one that is tried again does. */
  readonly isToRead?: boolean | undefined;
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
  readonly #unread = new Map<string, Unread>();
  readonly #classify = specClassifier();
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

  /** Instances whose specs are to be read: their places are for what they hold, whatever else they need. */
  unread(): readonly string[] {
    return [...this.#unread.keys()];
  }

  /** Those of them that are to be read now. */
  dueUnread(nowMs: number): readonly string[] {
    return [...this.#unread].filter(([, { dueAtMs }]) => dueAtMs <= nowMs).map(([uuid]) => uuid);
  }

  /** The instance has no spec that can be read: it is read again after a pause that doubles, or once it is claimed anew. */
  hasNoSpec(uuid: string, nowMs: number): void {
    const unread = this.#unread.get(uuid);
    if (!unread) return;
    const pauseMs = Math.min(MAX_UNREAD_PAUSE_MS, Math.max(MIN_UNREAD_PAUSE_MS, 2 * unread.pauseMs));
    this.#unread.set(uuid, { ...unread, pauseMs, dueAtMs: nowMs + pauseMs });
  }

  /** Brings all witnesses to the fleet as it is now. */
  bring(nowMs: number): void {
    const rows = this.fleet.view.guarantees();
    if (rows.length === 0 && this.#rows.length === 0) return;
    const snapshot = this.fleet.snapshot(nowMs);
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
      const worse = this.#tryOne(one);
      const refusing = mayRefuse ? worse.find(({ guarantee }) => guarantee.policy === 'refuse') : undefined;
      if (refusing) {
        const refused = this.#breachOf(refusing);
        this.#rollBack(snapshot);
        for (const state of before) this.#putBack(state);
        return { refused, flagged: undefined };
      }
      if (worse[0]) flagged ??= this.#breachOf(worse[0]);
    }
    this.#rules.coming.length = 0;
    this.#journal.keep();
    return { refused: undefined, flagged };
  }

  /** Claims that were admitted are answered: the mirror says what holds. An instance that was not claimed needs what it needed before. */
  settle(uuids: readonly string[], isMade: boolean): void {
    if (this.#rows.length === 0) return;
    for (const uuid of uuids) {
      this.#changed.add(uuid);
      const known = this.#known.get(uuid);
      if (isMade || known?.claimToken !== 0) continue;
      if (known.before) this.#known.set(uuid, known.before);
      else this.#known.delete(uuid);
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
      const worse = this.#tryOne(one).find(({ guarantee }) => guarantee.policy === 'refuse');
      if (!worse) {
        fits++;
        refused = [];
        continue;
      }
      refused.push(this.#breachOf(worse));
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

  /**
   * Where witnesses of the losses that seem to have happened put an instance, the best first: a witness that has a place for all
   * it would lose, then one of more instances, as it leaves the others theirs.
   */
  plansFor(uuid: string): readonly PlannedPlace[] {
    const tracked = this.#tracked.get(uuid);
    if (!tracked) return [];
    const lost = this.#mostLost(tracked.hostIndex);
    const witnesses = this.#kept
      .flatMap((kept) => kept.takingHost(tracked.hostIndex))
      .filter(({ loss }) => countDown(loss.hosts, this.#snapshot) === lost)
      .map(({ witness }) => witness)
      .sort((a, b) => +(a.unplaced.size > 0) - +(b.unplaced.size > 0) || b.items.size - a.items.size);
    const places = witnesses.map((witness) => witness.placeOf(tracked.key)).filter((place) => place !== undefined);
    return [...new Set(places)].map((place) => ({ place, lost }));
  }

  /**
   * The first of some claims for what is moved that takes the place of a lost instance; of instances that no guarantee covers, also
   * the first that a guarantee refuses. Nothing of the trial stays.
   *
   * @param plan  the loss by whose witness they go: places of smaller ones are open to them
   */
  breachOfMove(claims: readonly ComingClaim[], plan?: PlannedPlace): Breach | undefined {
    const [snapshot, before] = [this.#snapshot, claims.map(({ claim }) => this.#stateOf(claim.consumerUuid))];
    const homeless = this.#homeless();
    const isRefused = ({ guarantee: { policy }, kept }: Worse, isCovered: boolean) => {
      if (!isCovered && policy === 'refuse') return true;
      if (countDown(kept.loss.hosts, snapshot) < (plan?.lost ?? 1)) return false;
      return homeless.get(kept) === 0 && this.#homeless().get(kept) !== 0;
    };
    let found: Breach | undefined;
    for (const one of claims) {
      const isCovered = this.#isCovered(one.instance.uuid);
      const worse = this.#tryOne(one).find((each) => isRefused(each, isCovered));
      found = worse && this.#breachOf(worse);
      if (found) break;
    }
    this.#rollBack(snapshot);
    for (const state of before) this.#putBack(state);
    return found;
  }

  /** True if a guarantee is about the instance, or what it needs is not known. */
  #isCovered(uuid: string): boolean {
    const tracked = this.#tracked.get(uuid);
    if (!tracked) return true;
    return this.#kept.some((kept) => kept.covers(tracked.instance) && kept.takingHost(tracked.hostIndex).length > 0);
  }

  /** Lost items without a place, by the losses that seem to have happened: those with most dead hosts of all that take one of theirs. */
  #homeless(): ReadonlyMap<KeptLoss, number> {
    const counts = new Map<KeptLoss, number>();
    for (const kept of this.#kept.flatMap(({ losses }) => losses)) {
      const { unplaced, items } = kept.witness;
      const lost = countDown(kept.loss.hosts, this.#snapshot);
      if (lost === 0) continue;
      const isLost = (key: string) => {
        const host = items.get(key)?.hostIndex;
        return this.#snapshot.at(host)?.host.up === false && this.#mostLost(host) === lost;
      };
      counts.set(kept, [...unplaced.keys()].filter(isLost).length);
    }
    return counts;
  }

  /** Dead hosts of the loss that has most of them, of those that take a host. */
  #mostLost(host: number | undefined): number {
    const taking = host === undefined ? [] : this.#kept.flatMap((kept) => kept.takingHost(host));
    return Math.max(0, ...taking.map(({ loss }) => countDown(loss.hosts, this.#snapshot)));
  }

  /** The losses that one claim leaves with one instance more without a place. */
  #tryOne({ claim, instance, isToRead }: ComingClaim): readonly Worse[] {
    const { hostIndex, group } = claim;
    const before = this.#snapshot;
    const after = before.assume(claim);
    const unplaced = this.#kept.map(({ losses }) => losses.map(({ witness }) => witness.unplaced.size));
    this.#snapshot = after;
    this.#rules.snapshot = after;
    if (group !== undefined) this.#rules.coming.push({ uuid: instance.uuid, group, hostIndex });
    before.hosts.forEachDifference(after.hosts, (index) => this.#rebase(index, true));
    const known = this.#known.get(instance.uuid);
    this.#known.set(instance.uuid, {
      claimToken: 0,
      instance,
      isToRead,
      before: known?.claimToken === 0 ? known.before : known,
    });
    this.#untrack(instance.uuid);
    this.#put(instance.uuid, instance, hostIndex);
    if (group !== undefined) this.#regroup(group);
    return this.#kept.flatMap(({ guarantee, losses }, k) =>
      losses.flatMap((kept, n) =>
        kept.witness.unplaced.size > (unplaced[k]?.[n] ?? 0) ? [{ guarantee, kept, hostIndex }] : [],
      ),
    );
  }

  /** The instance that found no place, and what it lacks, while the claim is tried. */
  #breachOf({ guarantee, kept, hostIndex }: Worse): Breach {
    const { unplaced, items } = kept.witness;
    const [key, verdict] = [...unplaced].at(-1) as [string, Unplaced];
    const item = items.get(key) as InstanceItem;
    const nearest = nearestFor(item, kept, this.#rules.hosts(item).slice(0, MAX_LOOKED_AT));
    return { guarantee, kept, hostIndex, item, nearest, isCertain: verdict === 'none' };
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
      // A claim that was admitted is made: the witnesses have it already.
      if (isCounted && was.instances === is.instances && isSameAmounts(was.free, is.free)) return;
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
    const before = this.#known.get(uuid);
    const isOfClaim = before?.claimToken === 0 || before?.claimToken === consumer.claimToken;
    const known = before && isOfClaim ? before : { instance: this.#asClaimed(consumer), isToRead: true };
    this.#known.set(uuid, { ...known, claimToken: consumer.claimToken, before: undefined });
    if (known.isToRead) this.#toRead(uuid, consumer.claimToken);
    if (tracked?.hostIndex === hostIndex && tracked.instance === known.instance) return;
    this.#untrack(uuid);
    this.#put(uuid, known.instance, hostIndex);
    const group = consumer.groupId && groupKey(consumer.projectId, consumer.groupId);
    if (group) this.#regroup(group);
  }

  /** An instance that another has placed, as far as its claim says what it needs: until its record is read. */
  #asClaimed({ uuid, projectId, userId, priority, allocations }: Consumer): GuaranteedInstance {
    const resources = Object.values(allocations).reduce<Resources>(addResources, {});
    const spec = requestSpecCodec.encode(requestSpec(resources, { projectId, userId }));
    return guaranteedInstance(uuid, completeRequest(this.#classify(spec), this.fleet), priority);
  }

  #toRead(uuid: string, claimToken: number): void {
    if (this.#unread.get(uuid)?.claimToken !== claimToken)
      this.#unread.set(uuid, { claimToken, pauseMs: 0, dueAtMs: 0 });
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
    for (const kept of this.#kept) {
      const covered = instances.filter((one) => kept.covers(one));
      if (covered.length === 0) continue;
      const item = itemOf(key, covered, hostIndex);
      for (const { witness } of kept.takingHost(hostIndex)) witness.add(item, witness.placeOf(key));
    }
  }
}

/** Pauses between two readings of an instance without a spec. */
const MIN_UNREAD_PAUSE_MS = 2_000;
const MAX_UNREAD_PAUSE_MS = 300_000;

/** Hosts among which the nearest is looked for. */
const MAX_LOOKED_AT = 256;

/** A host to which a witness sends an instance, and the number of dead hosts of its loss. */
export interface PlannedPlace {
  readonly place: number;
  readonly lost: number;
}

/** Verdict on coming claims: refused, or flagged with the loss that has one instance more without a place. */
export interface Admitted {
  readonly refused: Breach | undefined;
  readonly flagged: Breach | undefined;
}

/** A loss with one instance more without a place than before a claim on a host. */
type Worse = Pick<Breach, 'guarantee' | 'kept' | 'hostIndex'>;

interface TrackedBefore {
  readonly uuid: string;
  readonly tracked: Tracked | undefined;
  readonly known: KnownInstance | undefined;
}

interface Unread {
  /** The claim for which it was read last. */
  readonly claimToken: number;
  readonly pauseMs: number;
  readonly dueAtMs: number;
}

interface KnownInstance {
  /** 0: of a claim that is being made. */
  readonly claimToken: number;
  readonly instance: GuaranteedInstance;
  readonly isToRead?: boolean | undefined;
  /** The instance as it was known before a claim that is being made. */
  readonly before?: KnownInstance | undefined;
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
