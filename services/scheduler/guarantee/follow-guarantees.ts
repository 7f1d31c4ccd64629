import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Log } from '#libs/runtime/log';
import type { Fleet } from '../fleet/fleet';
import type { ClassifiedSpec } from '../request/equivalence-class';
import type { GuaranteeKeeper } from './guarantee-keeper';

/** Time between two looks at guarantees while nothing is asked for. */
const LOOK_MS = 1_000;
/** Records that are read at once. */
const AT_ONCE = 500;

export interface FollowDeps {
  readonly guarantees: GuaranteeKeeper;
  readonly fleet: Fleet;
  /** The records of instances, which have the specs that they were built by. */
  readonly instances: { get(uuids: readonly string[]): Promise<readonly Instance[]> };
  readonly classify: (spec: EncodedRequestSpec) => ClassifiedSpec;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reads what instances need that other schedulers have placed, and says when a guarantee breaks and holds again. */
export async function followGuarantees(deps: FollowDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  const broken = new Set<string>();
  while (!signal.aborted) {
    await sleep(clock, LOOK_MS, signal);
    if (signal.aborted) return;
    await lookAtGuarantees(deps).catch((thrown: unknown) => {
      const { reason } = BerthError.from(thrown);
      log.info({ event: 'guarantee_look_failed', reason }, 'could not read what instances need, retrying later');
    });
    noteBroken(deps, broken);
  }
}

/** Brings the witnesses to now, the instances in them that were not known. */
export async function lookAtGuarantees({ guarantees, fleet, instances, classify, clock }: FollowDeps): Promise<void> {
  guarantees.bring(clock.now());
  const unread = guarantees.dueUnread(clock.now());
  for (let from = 0; from < unread.length; from += AT_ONCE) {
    const uuids = unread.slice(from, from + AT_ONCE);
    const tokens = new Map(uuids.map((uuid) => [uuid, fleet.view.consumer(uuid)?.claimToken]));
    const records = new Map((await instances.get(uuids)).map((record) => [record.uuid, record]));
    guarantees.bring(clock.now());
    for (const uuid of uuids) {
      const record = records.get(uuid);
      if (!record || !learn(uuid, record, tokens.get(uuid) ?? 0)) guarantees.hasNoSpec(uuid, clock.now());
    }
  }

  function learn(uuid: string, record: Instance, claimToken: number): boolean {
    try {
      guarantees.learn(uuid, classify(record.requestSpec), claimToken);
      return true;
    } catch (thrown) {
      // A group that is gone, a spec of another version: it stays among those that are not known.
      if (BerthError.from(thrown).code === 'internal') throw thrown;
      return false;
    }
  }
}

function noteBroken({ guarantees, log }: FollowDeps, broken: Set<string>): void {
  const now = new Map(
    guarantees.kept.map(({ guarantee: { name }, losses }) => {
      return [name, losses.filter(({ witness }) => witness.unplaced.size > 0)] as const;
    }),
  );
  for (const [name, losses] of now) {
    const isBroken = losses.length > 0;
    if (isBroken === broken.has(name)) continue;
    const domains = losses.slice(0, 10).map(({ loss }) => loss.domains.join(' and '));
    if (isBroken) {
      broken.add(name);
      log.warn({ event: 'guarantee_broken', guarantee: name, losses: domains }, `guarantee '${name}' does not hold`);
    } else {
      broken.delete(name);
      log.info({ event: 'guarantee_holds', guarantee: name }, `guarantee '${name}' holds again`);
    }
  }
  for (const name of broken) if (!now.has(name)) broken.delete(name);
}
