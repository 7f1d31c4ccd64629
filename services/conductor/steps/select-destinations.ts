import { callMethod } from '#libs/bus/typed-calls';
import type { Destination, Diagnosis, EncodedRequestSpec } from '#libs/contracts/messages';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { Conductor } from '../context';
import type { Observation } from '../observation';
import { hasFailed } from '../reconcile/gang';
import { triedBy } from './next-alternate';
import { membersOf } from './settle-gangs';

/**
 * Asks schedulers for a host for each of some instances: for those of one request together, all or none. Answers what came of
 * it for each, by uuid. A refusal of the request itself is an answer; what can pass by itself is thrown, to be tried again.
 */
export async function selectDestinations(
  c: Conductor,
  records: readonly Instance[],
): Promise<(uuid: string) => Observation> {
  // What is rebuilt, or has no alternates any more, asks for itself: it wants other hosts than those that it had.
  const isAlone = ({ state }: Instance) => state !== 'scheduling';
  const together = groupByRequest(records.filter((record) => !isAlone(record))).map(([, ofOne]) => ofOne);
  const asked = [...together, ...records.filter(isAlone).map((record) => [record])];
  const answers = await Promise.all(asked.map((some) => selectForRequest(c, some)));
  const answerTo = new Map(asked.flatMap((some, n) => some.map(({ uuid }) => [uuid, answers[n]] as const)));
  return (uuid) => answerTo.get(uuid)?.(uuid) ?? { kind: 'nothing' };
}

/** Records by the request that they came with: each has a spec of its own. */
export function groupByRequest(records: readonly Instance[]): [requestId: string, ofOne: Instance[]][] {
  const groups = new Map<string, Instance[]>();
  for (const record of records) {
    const group = groups.get(record.requestId);
    if (group) group.push(record);
    else groups.set(record.requestId, [record]);
  }
  return [...groups];
}

async function selectForRequest(c: Conductor, records: readonly Instance[]): Promise<(uuid: string) => Observation> {
  const [first] = records as [Instance, ...Instance[]];
  const request = {
    requestId: first.requestId,
    requestSpec: wantedOf(first),
    instanceUuids: records.map(({ uuid }) => uuid),
    numAlternates: c.config.numAlternates,
    minCount: await leastWanted(c, first, records.length),
  };
  try {
    const options = { timeoutMs: c.config.selectTimeoutMs, signal: c.stopping };
    const response = await callMethod(c.bus, RPC_SCHEDULER, selectDestinationsMethod, request, options);
    if (response.noValidHost && response.destinations.length === 0) return noHostBy(response.noValidHost);
    const noHost = response.noValidHost && noHostBy(response.noValidHost);
    const byUuid = new Map(response.destinations.map((one) => [one.instanceUuid, one]));
    return (uuid) => {
      const destination = byUuid.get(uuid);
      if (destination) return claimedOn(destination);
      return noHost ? noHost() : { kind: 'nothing' };
    };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    // Before the first scheduler has started, its queue is not there.
    if (error.reason === 'no_such_queue') throw new BerthError('unavailable', 'no_scheduler', 'no scheduler runs yet');
    if (isRetryable(error) || error.code === 'resource_exhausted') throw error;
    return () => noValidHost(`the scheduler refused the request: ${error.message} (${error.reason})`);
  }
}

/**
 * With how many hosts for these instances of a gang the rest of it may still become enough; 0 for all or none. A scheduler of
 * an older version does not know this, and finds hosts for all or none.
 */
async function leastWanted(c: Conductor, { gang, requestId, state }: Instance, selecting: number): Promise<number> {
  if (gang === undefined || state !== 'scheduling') return 0;
  const members = await membersOf(c, requestId);
  // Those that are selected for here are among the rest.
  const others = members.filter((member) => !hasFailed(member)).length - selecting;
  return Math.max(1, Math.min(selecting, gang.minCount - Math.max(0, others)));
}

/** All that it was to be built by, but for the hosts that it was on or that have tried. */
function wantedOf(record: Instance): EncodedRequestSpec {
  const { state, host, requestSpec } = record;
  const had =
    state === 'building' ? triedBy(record).map((one) => one.host) : state === 'rebuilding' && host ? [host] : [];
  if (had.length === 0) return requestSpec;
  const spec = requestSpecCodec.decode(requestSpec);
  return requestSpecCodec.encode({ ...spec, ignoreHosts: [...new Set([...spec.ignoreHosts, ...had])] });
}

function claimedOn({ selected, alternates, claimToken }: Destination): Observation {
  const { host, serviceHost, allocationRequest, epoch } = selected;
  const place = { host, serviceHost, allocationRequest, epoch, claimToken };
  return { kind: 'claimed', target: { ...place, alternates, passedOver: [] } };
}

/** Above a quota, it says so whatever else refuses the hosts: that is what the project can change. */
function noHostBy({ summary, quotaExceeded }: Diagnosis): () => Observation {
  if (quotaExceeded.length === 0) return () => noValidHost(summary);
  const fault = { reason: 'quota_exceeded', message: sentenceOf(quotaExceeded) };
  return () => ({ kind: 'no_host', fault, passedOver: [] });
}

function noValidHost(message: string): Observation {
  return { kind: 'no_host', fault: { reason: 'no_valid_host', message }, passedOver: [] };
}
