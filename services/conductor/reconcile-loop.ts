import { BerthError } from '#libs/domain/errors';
import type { Conductor } from './context';
import type { Look } from './observation';
import { reconcile } from './reconcile';
import type { Step } from './step';
import { type OwnStep, perform } from './steps/perform';
import { selectDestinations } from './steps/select-destinations';
import { settleGangs } from './steps/settle-gangs';

/** A build takes three, and each alternate four more; more than this only a record that others change all the time. */
const MAX_ROUNDS = 1_000;

/**
 * Looks at instances and does what is to be done, step after step, until nothing is left or somebody else must act: the
 * one way from a trigger to an effect. Instances of one request that need a host go to a scheduler together, all or none, so
 * they must be looked at together; those of several requests may be.
 *
 * @returns the looks of which nothing came: what was observed, and the record as it was by then
 * @throws BerthError what a step throws: all of it is harmless when it is begun again; `aborted / record_keeps_changing`.
 */
export async function reconcileLoop(c: Conductor, looks: readonly Look[]): Promise<readonly Look[]> {
  let open = looks;
  const withoutStep: Look[] = [];
  for (let round = 0; open.length > 0; round++) {
    if (round === MAX_ROUNDS) {
      throw new BerthError('aborted', 'record_keeps_changing', `instance ${open[0]?.uuid} changes all the time`);
    }
    const { next, nothing } = await oneRound(c, open);
    open = next;
    withoutStep.push(...nothing);
  }
  return withoutStep;
}

async function oneRound(c: Conductor, looks: readonly Look[]): Promise<{ next: Look[]; nothing: Look[] }> {
  const nothing: Look[] = [];
  const selecting: Look[] = [];
  const settling: Look[] = [];
  const performing: Promise<Look | undefined>[] = [];
  for (const look of looks) {
    const step = reconcile(look.record, look.holds, look.observed, c.clock.now());
    if (step.kind === 'none') nothing.push(look);
    if (isOwn(step)) performing.push(perform(c, look, step));
    else if (step.kind === 'settle_gang') settling.push(look);
    else selecting.push(look);
  }
  // Awaited together: a step that fails while a scheduler is asked must not be nobody's rejection.
  const [selected, settled, ...performed] = await Promise.all([
    selecting.length > 0 ? select(c, selecting) : [],
    settling.length > 0 ? settleGangs(c, settling, reconcileLoop) : [],
    ...performing,
  ]);
  return { next: [...selected, ...settled, ...performed.filter((look) => look !== undefined)], nothing };
}

async function select(c: Conductor, looks: readonly Look[]): Promise<Look[]> {
  const records = looks.map(({ record }) => record).filter((record) => record !== undefined);
  const seen = looks.map(({ observed }) => (observed.kind === 'capacity_changed' ? observed.revision : 0));
  const observationOf = await selectDestinations(c, records, Math.max(...seen));
  return looks.map((look) => ({ ...look, observed: observationOf(look.uuid) }));
}

function isOwn(step: Step): step is OwnStep {
  return step.kind !== 'select_destinations' && step.kind !== 'settle_gang';
}
