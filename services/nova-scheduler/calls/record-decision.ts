import type { Decision, HostVerdict as WireVerdict } from '#libs/contracts/diagnosis';
import { MAX_PROJECT_ID_BYTES } from '#libs/contracts/limits';
import { projectWord } from '#libs/contracts/queues';
import { isHostName, isUuid } from '#libs/domain/names';
import type { PastDecision } from '#libs/placement/past-decisions/keep-decisions';
import { counted } from '#libs/runtime/counted';
import type { HostVerdicts } from '../decision/host-verdicts';
import { Refusals } from '../decision/refusals';
import type { Asked, Selected } from '../decision/select-destinations';
import type { NoHost } from '../request/no-host';

/** The circumstances of a decision. */
export interface DecisionCircumstances {
  /** Nova's, `req-` and a uuid. */
  readonly requestId: unknown;
  readonly decidedAtMs: number;
  readonly hostCount: number;
  /** The mirror's, for a decision that found no host. */
  readonly revision: number;
}

/**
 * A decision as the store keeps it, beside those of Berth's own schedulers: `explain --instance` tells it, in Nova's words. Undefined for
 * callers that name no instance, and for a project whose id is longer than Berth's may be.
 */
export function recordOf(
  { request, instanceUuids = [] }: Asked,
  outcome: Selected | NoHost,
  { requestId, decidedAtMs, hostCount, revision }: DecisionCircumstances,
): PastDecision | undefined {
  const [first] = instanceUuids;
  if (first === undefined || Buffer.byteLength(projectWord(request.projectId)) > MAX_PROJECT_ID_BYTES) return undefined;
  const of = { requestId: requestUuidOf(requestId) ?? first, projectId: request.projectId, decidedAtMs, forNova: true };
  const basis = 'placed' in outcome ? basisOf(outcome, hostCount) : reasonOf(outcome, hostCount, revision);
  return { instanceUuids, decision: { ...of, ...basis } };
}

type RecordedBasis = Pick<Decision, 'diagnosis' | 'hosts' | 'selected' | 'revision'>;

function basisOf({ placed, verdicts, conflicts, revision }: Selected, hostsConsidered: number): RecordedBasis {
  const hostsPassed = verdicts?.passedCount ?? 0;
  const refusals = verdicts?.refusals() ?? new Refusals();
  const uncounted = hostsConsidered - hostsPassed - refusals.hostCount;
  if (uncounted > 0) refusals.add('placement', 'no allocation candidate', uncounted);
  const hosts = verdicts?.best(placed.map(({ pick }) => pick.node.uuid)) ?? [];
  const summary = `${hostsPassed} of ${counted(hostsConsidered, 'host')} pass`;
  const counts = { hostsConsidered, hostsPassed, claimConflicts: conflicts };
  return {
    revision,
    diagnosis: { ...counts, filters: refusals.toFilters(), summary, quotaExceeded: [] },
    hosts: hosts.filter(({ host }) => isHostName(host)).map(wireVerdict),
    selected: Object.fromEntries(placed.map(({ instanceUuid, pick }) => [instanceUuid, pick.node.host])),
  };
}

function wireVerdict({ host, weight, weights }: ReturnType<HostVerdicts['best']>[number]): WireVerdict {
  return { host, passed: true, refusals: [], weight, weights, roomCosts: [] };
}

function reasonOf({ reason: summary, basis }: NoHost, hostsConsidered: number, revision: number): RecordedBasis {
  const counts = { hostsConsidered, hostsPassed: 0, claimConflicts: 0 };
  const diagnosis = { ...counts, filters: [...basis.filters], summary, quotaExceeded: [] };
  return { revision, diagnosis, hosts: [], selected: {} };
}

const REQUEST_ID = /^req-/;

/** The uuid in the id that Nova gave a request. */
export function requestUuidOf(requestId: unknown): string | undefined {
  const uuid = typeof requestId === 'string' ? requestId.replace(REQUEST_ID, '') : '';
  return isUuid(uuid) ? uuid : undefined;
}
