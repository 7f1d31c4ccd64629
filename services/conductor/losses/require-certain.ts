import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import type { Observation } from '../observation';
import type { Step } from '../step';
import { isHeldUp } from './hearing';

/**
 * Refuses operations that give up where the instance runs, or may run, while that is uncertain.
 *
 * @throws BerthError `unavailable / store_lost_writes`
 */
export async function requireCertain(
  c: Conductor,
  records: readonly Instance[],
  asked?: { readonly observed: Observation; readonly step: Step },
): Promise<void> {
  const [first] = [...(await c.hearing.uncertainAmong(c, records))].filter(
    ([, one]) => !asked || isHeldUp(one, asked.observed, asked.step),
  );
  if (first === undefined) return;
  const [uuid, { why }] = first;
  const message = `instance ${uuid} may not be where its record says: ${why}; try again when its hosts were heard (berth audit)`;
  throw new BerthError('unavailable', 'store_lost_writes', message, { details: { instance_uuid: uuid } });
}
