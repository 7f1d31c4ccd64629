import { callMethod } from '#libs/bus/typed-calls';
import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { listGroupsMethod } from '#libs/contracts/groups';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import type { TopConductor } from '../context';

const CALL_TIMEOUT_MS = 5_000;

/**
 * Fills the present rules of a fleet's server group into a spec that names it by name alone; other specs stay
 * unchanged.
 *
 * @throws BerthError `not_found / no_such_group`; `unavailable` while no scheduler of the top answers.
 */
export async function fillInGroup(t: TopConductor, encoded: EncodedRequestSpec): Promise<EncodedRequestSpec> {
  const spec = requestSpecCodec.decode(encoded);
  const { group, projectId } = spec;
  if (group === undefined || group.policy !== undefined) return encoded;
  const request = { projectId, name: group.id, markerProjectId: '', markerName: '', limit: 1 };
  const options = { timeoutMs: CALL_TIMEOUT_MS, signal: t.stopping };
  const { groups } = await callMethod({ bus: t.bus, queue: RPC_SCHEDULER }, listGroupsMethod, request, options);
  const [stored] = groups;
  if (stored === undefined) throw new BerthError('not_found', 'no_such_group', `there is no group '${group.id}'`);
  const { policy, maxPerHost, spread, within } = stored;
  const rules = { policy, maxPerHost, ...(spread && { spread }), ...(within && { within }) };
  return requestSpecCodec.encode({ ...spec, group: { id: group.id, ...rules } });
}
