import { BerthError } from '#libs/domain/errors';
import { type Instance, isAttemptOpen } from '#libs/domain/instance';
import { lostUpToMs } from '#libs/placement/port/store-identity';
import { counted } from '#libs/runtime/counted';
import type { Conductor } from '../context';
import { isFromBefore } from '../lost-writes';
import type { Observation } from '../observation';
import { keepDoubt } from '../steps/note-doubt';
import { attemptsOfStrays, mayBeFollowed } from './strays';

/** What was found is used again for so long, while something is lacking: it is only found later that nothing is. */
const FOUND_FOR_MS = 300;
/** So often what is lacking is shown to operators. */
const SHOWN_EVERY_MS = 5_000;

/** Why nothing is concluded of a record. */
export interface Uncertainty {
  readonly why: string;
  /** All but one of its own hosts were heard, which is down: whoever evacuates it fences that. */
  readonly isOfItsHost: boolean;
}

interface Found {
  readonly atMs: number;
  readonly upToMs: number;
  readonly unheard: readonly string[];
  /** `attemptsOfStrays` of what was seen since the loss. */
  readonly strays: ReadonlyMap<string, number>;
}

/**
 * Knows whether all hosts were heard since the store went back.
 *
 * A record from before then may be older than what was done for its instance: it may run on the host that the record names, or on
 * another. So until each host that is up has said all that runs there, as it was after the loss, and that was worked on, nothing is
 * given up, ordered again or selected again. (A deadline that has passed is no proof: the answer may be what was lost. Waiting alone
 * is none either.) A host that is down is waited for by what may run there; all others go on without it, as ever: what it comes back
 * with by a later attempt is followed (`isForgotten`).
 */
export class Hearing {
  #settledUpToMs = 0;
  #found: Found | undefined;
  #shownAtMs = -Infinity;

  /** Of some records those that may be older than what was done for their instances, each with why. Reads little once all is heard. */
  async uncertainAmong(c: Conductor, records: readonly Instance[]): Promise<ReadonlyMap<string, Uncertainty>> {
    const upToMs = lostUpToMs(await c.placement.identify());
    const before = records.filter((record) => isFromBefore(record, { upToMs }));
    if (before.length === 0) return new Map();
    const why = await this.#lacking(c, upToMs);
    if (why !== undefined) return new Map(before.map(({ uuid }) => [uuid, { why, isOfItsHost: false }]));
    return this.#ofTheirOwn(c, before, upToMs);
  }

  async #lacking(c: Conductor, upToMs: number): Promise<string | undefined> {
    if (this.#settledUpToMs >= upToMs) return undefined;
    if (c.clock.now() - upToMs < c.config.schedulingTimeoutMs) return 'the store has just lost writes';
    const { unheard } = await this.#find(c, upToMs);
    if (unheard.length === 0) {
      this.#settledUpToMs = upToMs;
      return undefined;
    }
    const named = unheard.slice(0, 3).join(', ');
    return `the store has lost writes, and ${counted(unheard.length, 'host')} (${named}) did not say since what runs there`;
  }

  /** What concerns single records: hosts of theirs that are down, and copies of them that nobody vouches for. */
  async #ofTheirOwn(c: Conductor, records: readonly Instance[], upToMs: number) {
    const names = [...new Set(records.flatMap(mayRunOn))];
    const [hosts, { strays }] = await Promise.all([
      names.length === 0 ? [] : c.placement.hosts(names),
      this.#find(c, upToMs),
    ]);
    const heard = new Set(hosts.filter(({ heardInFullAtMs = 0 }) => heardInFullAtMs > upToMs).map(({ name }) => name));
    const uncertain = new Map<string, Uncertainty>();
    for (const record of records) {
      const silent = mayRunOn(record).find((host) => !heard.has(host));
      const { uuid } = record;
      if (silent !== undefined) {
        const why = `it may run on ${silent}, which was not heard since the store lost writes`;
        uncertain.set(uuid, { why, isOfItsHost: true });
        await keepDoubt(c, 'unheard', {
          instanceUuid: uuid,
          host: silent,
          message: `${why}; evacuate it, if the host is dead`,
        });
      } else if (mayBeFollowed(record, strays.get(uuid)))
        uncertain.set(uuid, { why: 'it runs where its record does not have it', isOfItsHost: false });
    }
    return uncertain;
  }

  async #find(c: Conductor, upToMs: number): Promise<Found> {
    const nowMs = c.clock.elapsed();
    if (this.#found && this.#found.upToMs === upToMs && nowMs - this.#found.atMs < FOUND_FOR_MS) return this.#found;
    const [unheard, doubts] = await Promise.all([c.placement.unheardHosts(upToMs), c.instances.listDoubts()]);
    const strays = attemptsOfStrays(doubts.filter(({ seenAtMs }) => seenAtMs > upToMs));
    this.#found = { atMs: nowMs, upToMs, unheard, strays };
    await this.#show(c, unheard);
    return this.#found;
  }

  async #show(c: Conductor, unheard: readonly string[]): Promise<void> {
    if (c.clock.elapsed() - this.#shownAtMs < SHOWN_EVERY_MS) return;
    this.#shownAtMs = c.clock.elapsed();
    const message =
      'the store has lost writes, and this host did not say since what runs there: nothing is given up before';
    await Promise.all(
      unheard.slice(0, MOST_SHOWN).map((host) => keepDoubt(c, 'unheard', { instanceUuid: '', host, message })),
    );
  }
}

/** Doubts are bounded, and graver ones are to have a place. */
const MOST_SHOWN = 100;

/** The hosts on which something of an instance in work may run. */
function mayRunOn(record: Instance): readonly string[] {
  const { state, host, migration } = record;
  if (isAttemptOpen(record)) return host === undefined ? [] : [host];
  if (migration === undefined || !ON_A_MOVE.includes(state)) return [];
  return [migration.source.host, migration.destination.host].filter((one) => one !== '');
}

const ON_A_MOVE: readonly Instance['state'][] = ['resize', 'migrating', 'verify_resize', 'revert_resize'];

/** True when what would give an attempt up waits. What is evacuated is given up with a fence of its host. */
export function isHeldUp({ isOfItsHost }: Uncertainty, observed: Observation): boolean {
  return !(isOfItsHost && observed.kind === 'evacuate_requested');
}

/**
 * Refuses operations that give up where the instance runs, or may run, while that is uncertain.
 *
 * @throws BerthError `unavailable / store_lost_writes`
 */
export async function requireCertain(
  c: Conductor,
  records: readonly Instance[],
  observed?: Observation,
): Promise<void> {
  const [first] = [...(await c.hearing.uncertainAmong(c, records))].filter(
    ([, one]) => !observed || isHeldUp(one, observed),
  );
  if (first === undefined) return;
  const [uuid, { why }] = first;
  const message = `instance ${uuid} may not be where its record says: ${why}; try again when its hosts were heard (berth audit)`;
  throw new BerthError('unavailable', 'store_lost_writes', message, { details: { instance_uuid: uuid } });
}
