import { BerthError } from '#libs/domain/errors';
import type { Conductor } from './conductor';
import { isHeldUp } from './losses/hearing';
import type { ReconcileInput } from './observation';
import { reconcile } from './reconcile';
import { isDoneWhileUncertain } from './reconcile/while-uncertain';
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
export async function reconcileLoop(
  c: Conductor,
  looks: readonly ReconcileInput[],
): Promise<readonly ReconcileInput[]> {
  let open = looks;
  const withoutStep: ReconcileInput[] = [];
  // Once an instance was found certain, or is new, so is what follows of it here.
  const certain = new Set(looks.filter(isOfNewRequest).map(({ uuid }) => uuid));
  for (let round = 0; open.length > 0; round++) {
    if (round === MAX_ROUNDS) {
      throw new BerthError('aborted', 'record_keeps_changing', `instance ${open[0]?.uuid} changes all the time`);
    }
    const { next, nothing } = await oneRound(c, open, certain);
    open = next;
    withoutStep.push(...nothing);
  }
  return withoutStep;
}

/** The record of a request from before a loss is older than its creation (`triggers/build-request.ts`). */
function isOfNewRequest({ observed, record }: ReconcileInput): boolean {
  return observed.kind === 'accepted' && record !== undefined && record.updatedAtMs === record.createdAtMs;
}

async function oneRound(
  c: Conductor,
  looks: readonly ReconcileInput[],
  certain: Set<string>,
): Promise<{ next: ReconcileInput[]; nothing: ReconcileInput[] }> {
  const nothing: ReconcileInput[] = [];
  const selecting: ReconcileInput[] = [];
  const settling: ReconcileInput[] = [];
  const performing: Promise<ReconcileInput | readonly ReconcileInput[] | undefined>[] = [];
  for (const [look, step] of await stepsOf(c, looks, certain)) {
    if (step.kind === 'none') nothing.push(look);
    if (isOwn(step)) performing.push(perform(c, look, step));
    else if (step.kind === 'settle_gang') settling.push(look);
    else selecting.push(look);
  }
  // Awaited together: a step that fails while a scheduler is asked must not be nobody's rejection.
  const [selected, settled, ...performed] = await Promise.all([
    selecting.length > 0 ? select(c, selecting) : [],
    settling.length > 0 ? settleGangs(c, settling, (gangs) => reconcileLoop(c, gangs)) : [],
    ...performing,
  ]);
  return { next: [...selected, ...settled, ...performed.flat().filter((look) => look !== undefined)], nothing };
}

/** The next step of each; none for what may be older than what was done for it, unless it is done all the same. */
async function stepsOf(
  c: Conductor,
  looks: readonly ReconcileInput[],
  certain: Set<string>,
): Promise<[ReconcileInput, Step][]> {
  const steps = looks.map((look): [ReconcileInput, Step] => {
    return [look, reconcile(look.record, look.holds, look.observed, c.clock.now())];
  });
  const isAsked = ([{ uuid, observed }, step]: readonly [ReconcileInput, Step]) => {
    return !certain.has(uuid) && !isDoneWhileUncertain(step, observed);
  };
  const asked = steps.filter(isAsked).map(([{ record }]) => record);
  const records = asked.filter((record) => record !== undefined);
  if (records.length === 0) return steps;
  const uncertain = await c.hearing.uncertainAmong(c, records);
  return steps.map((one) => {
    const [look, step] = one;
    if (!isAsked(one)) return one;
    const doubt = uncertain.get(look.uuid);
    if (doubt === undefined || !isHeldUp(doubt, look.observed, step)) {
      certain.add(look.uuid);
      return one;
    }
    const fields = { event: 'left_uncertain', instance_uuid: look.uuid, step: step.kind, why: doubt.why };
    c.log.debug(fields, 'store lost writes: the instance waits until its hosts report');
    return [look, keptByMove(look) ?? { kind: 'none', because: 'its store has lost writes' }];
  });
}

/** A copy that its host keeps for a move does not run there: noted, so that the running copy elsewhere is followed. */
function keptByMove({ record, observed }: ReconcileInput): Step | undefined {
  if (observed.kind !== 'running' || !observed.instance.handedOver || observed.host !== record?.host) return undefined;
  return record.missingIn
    ? undefined
    : { kind: 'record_missing', missingIn: { epoch: observed.at.epoch, sequence: 0 } };
}

async function select(c: Conductor, looks: readonly ReconcileInput[]): Promise<ReconcileInput[]> {
  const records = looks.map(({ record }) => record).filter((record) => record !== undefined);
  const seen = looks.map(({ observed }) => (observed.kind === 'capacity_changed' ? observed.revision : 0));
  const observationOf = await selectDestinations(c, records, Math.max(...seen));
  return looks.map((look) => ({ ...look, observed: observationOf(look.uuid) }));
}

function isOwn(step: Step): step is OwnStep {
  return step.kind !== 'select_destinations' && step.kind !== 'settle_gang';
}
