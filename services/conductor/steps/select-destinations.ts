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
import { isMoving, type Moving } from '../reconcile/moves';
import { toBytes } from './moves';

/**
 * Asks schedulers for a host for each of some instances: for those of one request together, all or none. Answers what came of
 * it for each, by uuid. A refusal of the request itself is an answer; what can pass by itself is thrown, to be tried again.
 */
export async function selectDestinations(
  c: Conductor,
  records: readonly Instance[],
): Promise<(uuid: string) => Observation> {
  // What is rebuilt, or moved, asks for itself: it wants another host than its own.
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
    ...(isMoving(first) ? { numAlternates: 0, move: moveOf(first) } : { numAlternates: c.config.numAlternates }),
  };
  try {
    const options = { timeoutMs: c.config.selectTimeoutMs, signal: c.stopping };
    const response = await callMethod(c.bus, RPC_SCHEDULER, selectDestinationsMethod, request, options);
    if (response.noValidHost) return noHostBy(response.noValidHost);
    const byUuid = new Map(response.destinations.map((one) => [one.instanceUuid, one]));
    return (uuid) => {
      const destination = byUuid.get(uuid);
      return destination ? claimedOn(destination) : { kind: 'nothing' };
    };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    // Before the first scheduler has started, its queue is not there.
    if (error.reason === 'no_such_queue') throw new BerthError('unavailable', 'no_scheduler', 'no scheduler runs yet');
    if (isRetryable(error) || error.code === 'resource_exhausted') throw error;
    return () => noValidHost(`the scheduler refused the request: ${error.message} (${error.reason})`);
  }
}

/** What it holds passes to the migration, if it is still what the record knows. */
function moveOf({ migration: { uuid: migrationUuid, source } }: Moving) {
  return { migrationUuid, claimToken: source.claimToken };
}

/** Of what is rebuilt or migrated, all that it was built by, and another host; of what is resized, what it is to be. */
function wantedOf(record: Instance): EncodedRequestSpec {
  if (isMoving(record)) return wantedByMove(record);
  const { state, host, requestSpec } = record;
  if (state !== 'rebuilding' || host === undefined) return requestSpec;
  const spec = requestSpecCodec.decode(requestSpec);
  return requestSpecCodec.encode({ ...spec, ignoreHosts: [...spec.ignoreHosts, host] });
}

function wantedByMove({ migration: { kind, source, destination, targetHost } }: Moving): EncodedRequestSpec {
  const wanted = toBytes(destination.requestSpec);
  if (kind === 'resize') return wanted;
  const spec = requestSpecCodec.decode(wanted);
  const forceHosts = targetHost === '' ? spec.forceHosts : [targetHost];
  return requestSpecCodec.encode({ ...spec, forceHosts, ignoreHosts: [...spec.ignoreHosts, source.host] });
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
