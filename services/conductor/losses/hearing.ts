import { isUnheard, mayRunForgotten } from '#libs/domain/host';
import { type Instance, isAttemptOpen } from '#libs/domain/instance';
import { lostUpToMs, type StoreIdentity, unknownUpToMs } from '#libs/placement/port/store-identity';
import { counted } from '#libs/runtime/counted';
import type { ConductorContext } from '../context';
import { isFromBefore, mayBeBuiltElsewhere } from '../lost-writes';
import type { Observation } from '../observation';
import type { Step } from '../step';
import { keepDoubt } from '../steps/note-doubt';
import { followedHosts, type Strays, straysOf } from './strays';

/** Time for which a finding is used again while hosts are still unheard. */
const FOUND_FOR_MS = 300;
/** Likewise the hosts that are down. */
const DOWN_FOR_MS = 2_000;
/** So often what is lacking is shown to operators. */
const SHOWN_EVERY_MS = 5_000;

/** Why nothing is concluded of a record. */
export interface Uncertainty {
  readonly why: string;
  /** True when only a host of its own is missing, which is down: its evacuation fences that. */
  readonly isOfItsHost: boolean;
  /** True when it was seen only where its move goes back to: the store may have forgotten that it went. */
  readonly isOfItsSource?: boolean;
}

interface Found {
  readonly atMs: number;
  readonly upToMs: number;
}

/** Names of hosts that did not say what runs there. */
interface FoundHosts extends Found {
  readonly up: readonly string[];
  /** Those that nobody declared dead. */
  readonly down: readonly string[];
}

interface FoundStrays extends Found {
  /** Seen since the loss. */
  readonly strays: Strays;
}

/**
 * Knows whether all hosts were heard since the store went back, or was new.
 *
 * A record from before then may be older than what was done for its instance: it may run on the host that the record names, or on
 * another. So until each host that is up has said all that runs there, as it was after the loss, and that was worked on, nothing is
 * given up, ordered again or selected again. (A deadline that has passed is no proof: the answer may be what was lost. Waiting alone
 * is none either.)
 *
 * A host that is down may be one that is cut off, and its machine may run what the store forgot to have ordered there: no second copy
 * is made before it was heard, or an operator declared it dead (`declareDead`). That holds up what may be built elsewhere; what
 * was built, and rests where its host has it, goes on.
 */
export class Hearing {
  #settledUpToMs = 0;
  #hosts: FoundHosts | undefined;
  #strays: FoundStrays | undefined;
  #shownAtMs = -Infinity;

  /** The records among these that may be older than their instances, each with the reason. Reads little once all hosts were heard. */
  async uncertainAmong(c: ConductorContext, records: readonly Instance[]): Promise<ReadonlyMap<string, Uncertainty>> {
    const identity = await c.placement.identify();
    const upToMs = unknownUpToMs(identity);
    const before = records.filter((record) => mayBeOlder(record, identity));
    if (before.length === 0) return new Map();
    const why = await this.#lacking(c, upToMs);
    if (why !== undefined) return new Map(before.map(({ uuid }) => [uuid, { why, isOfItsHost: false }]));
    return this.#ofTheirOwn(c, before, upToMs);
  }

  /** Time until hosts may be heard since the store went back, in milliseconds; undefined when they were, or it never did. */
  async dueInMs(c: ConductorContext): Promise<number | undefined> {
    const upToMs = unknownUpToMs(await c.placement.identify());
    return this.#settledUpToMs >= upToMs ? undefined : Math.max(0, this.#leftMs(c, upToMs));
  }

  /** Time for which work of before the loss may still be under way, in milliseconds. */
  #leftMs(c: ConductorContext, upToMs: number): number {
    return upToMs + c.config.schedulingTimeoutMs - c.clock.now();
  }

  async #lacking(c: ConductorContext, upToMs: number): Promise<string | undefined> {
    if (this.#settledUpToMs >= upToMs) return undefined;
    if (this.#leftMs(c, upToMs) > 0) return 'the store has just lost writes';
    const { up } = await this.#unheardHosts(c, upToMs);
    if (up.length === 0) {
      this.#settledUpToMs = upToMs;
      return undefined;
    }
    await this.#show(c, up, UP);
    return `the store has lost writes, and ${named(up)} did not say since what runs there`;
  }

  /** Findings about single records: hosts of theirs that are down, and copies of them that nothing vouches for. */
  async #ofTheirOwn(c: ConductorContext, records: readonly Instance[], upToMs: number) {
    const names = [...new Set(records.flatMap(mayRunOn))];
    const [hosts, { up, down }, strays] = await Promise.all([
      names.length === 0 ? [] : c.placement.hosts(names),
      this.#unheardHosts(c, upToMs),
      this.#straysSince(c, upToMs),
    ]);
    // A host without a row was deleted, and is dead by an operator's word: a record is never older than the rows of its hosts.
    const unheard = new Set(hosts.filter((host) => isUnheard(host, upToMs)).map(({ name }) => name));
    const unsettled = new Set(hosts.filter((host) => mayRunForgotten(host, upToMs)).map(({ name }) => name));
    // One that was down is back, and is yet to be heard.
    const awaited = [...up, ...down];
    const uncertain = new Map<string, Uncertainty>();
    const shown = new Set<string>();
    for (const record of records) {
      const { uuid } = record;
      // An open attempt is given up by its own evacuation; a move ends as any whose host is dead.
      const isSilent = (host: string) => (isAttemptOpen(record) ? unheard : unsettled).has(host);
      const silent = mayRunOn(record).find(isSilent);
      if (silent !== undefined) {
        const why = `it may run on ${silent}, which was not heard since the store lost writes`;
        const isElsewhere = mayBeBuiltElsewhere(record) && awaited.some((host) => !mayRunOn(record).includes(host));
        uncertain.set(uuid, { why, isOfItsHost: !isElsewhere });
        shown.add(silent);
        await keepDoubt(c, 'unheard', {
          instanceUuid: uuid,
          host: silent,
          message: `${why}; if the host is dead, evacuate it, or what else is there, or delete the host`,
        });
        continue;
      }
      const followed = followedHosts(record, strays);
      const isOfItsSource = followed.every((host) => host === record.migration?.source.host);
      if (followed.length > 0 && !(isOfItsSource && record.state === 'revert_resize')) {
        uncertain.set(uuid, { why: 'it runs where its record does not have it', isOfItsHost: false, isOfItsSource });
      } else if (awaited.length > 0 && mayBeBuiltElsewhere(record)) {
        const why = `the store has lost writes, and it may run on ${named(awaited)} that did not say since what runs there`;
        uncertain.set(uuid, { why, isOfItsHost: false });
      }
    }
    // Shown also while a record waits for its own host: an operator reads at once all that is to be declared dead.
    const isAnyBuiltElsewhere = records.some((one) => uncertain.has(one.uuid) && mayBeBuiltElsewhere(one));
    const rest = down.filter((host) => !shown.has(host));
    if (isAnyBuiltElsewhere && rest.length > 0) await this.#show(c, rest, DOWN);
    return uncertain;
  }

  /** Once all that are up were heard, those that are down become fewer, and that may be noticed late. */
  async #unheardHosts(c: ConductorContext, upToMs: number): Promise<FoundHosts> {
    const forMs = this.#settledUpToMs >= upToMs ? DOWN_FOR_MS : FOUND_FOR_MS;
    if (isFresh(c, this.#hosts, upToMs, forMs)) return this.#hosts;
    const atMs = c.clock.elapsed();
    const hosts = await c.placement.unheardHosts(upToMs);
    const namesOf = (isUp: boolean) => hosts.filter(({ up }) => up === isUp).map(({ name }) => name);
    this.#hosts = { atMs, upToMs, up: namesOf(true), down: namesOf(false) };
    return this.#hosts;
  }

  async #straysSince(c: ConductorContext, upToMs: number): Promise<Strays> {
    if (isFresh(c, this.#strays, upToMs, FOUND_FOR_MS)) return this.#strays.strays;
    const atMs = c.clock.elapsed();
    const doubts = await c.instances.listDoubts();
    const strays = straysOf(doubts.filter(({ seenAtMs }) => seenAtMs > upToMs));
    this.#strays = { atMs, upToMs, strays };
    return strays;
  }

  async #show(c: ConductorContext, hosts: readonly string[], message: string): Promise<void> {
    if (c.clock.elapsed() - this.#shownAtMs < SHOWN_EVERY_MS) return;
    this.#shownAtMs = c.clock.elapsed();
    await Promise.all(
      hosts.slice(0, MOST_SHOWN).map((host) => keepDoubt(c, 'unheard', { instanceUuid: '', host, message })),
    );
  }
}

/**
 * True for a record from before the store went back, and for that of a request from before the store was new: its record says when it
 * was published (`triggers/build-request.ts`). A record that was created before the store's first commit claimed nothing.
 */
function mayBeOlder(record: Instance, identity: StoreIdentity): boolean {
  const { bornAtMs } = identity;
  if (isFromBefore(record, { upToMs: lostUpToMs(identity) })) return true;
  return record.createdAtMs > bornAtMs && isFromBefore(record, { upToMs: bornAtMs });
}

function isFresh<F extends Found>(
  c: ConductorContext,
  found: F | undefined,
  upToMs: number,
  forMs: number,
): found is F {
  return found !== undefined && found.upToMs === upToMs && c.clock.elapsed() - found.atMs < forMs;
}

/** Doubts are bounded, and graver ones are to have a place. */
const MOST_SHOWN = 100;
const UP = 'the store has lost writes, and this host did not say since what runs there: nothing is given up before';
const DOWN =
  'the store has lost writes, and this host, which is down, did not say since what runs there: what was in work then waits for it. If it is dead, evacuate what is on it (berth instance evacuate), or delete it (berth host delete)';

function named(hosts: readonly string[]): string {
  return `${counted(hosts.length, 'host')} (${hosts.slice(0, 3).join(', ')})`;
}

/** The hosts on which something of an instance in work may run. */
function mayRunOn(record: Instance): readonly string[] {
  const { state, host, migration } = record;
  if (isAttemptOpen(record)) return host === undefined ? [] : [host];
  if (migration === undefined || !ON_A_MOVE.includes(state)) return [];
  return [migration.source.host, migration.destination.host].filter((one) => one !== '');
}

const ON_A_MOVE: readonly Instance['state'][] = ['resize', 'migrating', 'verify_resize', 'revert_resize'];

/** True when a step waits. What is evacuated is given up with a fence of its host; what goes back finds what its source has. */
export function isHeldUp({ isOfItsHost, isOfItsSource }: Uncertainty, observed: Observation, step: Step): boolean {
  if (step.kind === 'record_reverting' && isOfItsSource) return false;
  return !(isOfItsHost && observed.kind === 'evacuate_requested');
}
