import type { PreemptionView } from '#libs/contracts/admission';
import type { EncodedRequestSpec } from '#libs/contracts/codec';
import type { Diagnosis } from '#libs/contracts/diagnosis';
import type { MemberKind } from '#libs/contracts/member-kinds';
import { claimMovesMethod } from '#libs/contracts/moves';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type Destination, type SelectDestinationsResponse, selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError, isRetryable } from '#libs/domain/errors';
import { hasBeenActive, type Instance, type Moving, timeLeftOf } from '#libs/domain/instance';
import { bytesOf } from '#libs/domain/moves/migration';
import type { Preemption } from '#libs/domain/queueing/admission';
import { hasFailed, isLost, kindOf, membersByKind } from '#libs/domain/queueing/gang';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import { groupBy } from '#libs/runtime/group-by';
import type { ConductorContext } from '../context';
import type { ClaimedHost, Observation } from '../observation';
import { isMoving } from '../reconcile/moves';
import { callScheduler } from './call-scheduler';
import { fenceOf, releaseFence } from './fence-host';
import { affinityGroupOf } from './moves/affinity-mates';
import { triedBy } from './next-alternate';
import { membersOf } from './settle-gangs';

/**
 * Asks schedulers for a host for each of some instances: for those of one request together, all or none. Answers what came of
 * it for each, by uuid. A refusal of the request itself is an answer; what can pass by itself is thrown, to be tried again.
 *
 * @param minRevision  of the store: what the decisions must have seen
 */
export async function selectDestinations(
  c: ConductorContext,
  records: readonly Instance[],
  minRevision = 0,
): Promise<(uuid: string) => Observation> {
  // An instance that is rebuilt, moved, or out of alternates asks by itself: it must avoid its earlier hosts.
  const isAlone = ({ state }: Instance) => !SELECTED_TOGETHER.includes(state);
  const together = groupByRequest(records.filter((record) => !isAlone(record))).map(([, ofOne]) => ofOne);
  const alone = groupBy(records.filter(isAlone), (record) => leavingGroupOf(c, record) ?? record.uuid);
  const asked = [...together, ...[...alone].map(([, some]) => some)];
  const answers = await Promise.all(
    asked.map((some) => {
      const isLeaving = some.length > 1 && isAlone(some[0] as Instance);
      return isLeaving ? selectForGroup(c, some) : selectForRequest(c, some, minRevision);
    }),
  );
  const answerTo = new Map(asked.flatMap((some, n) => some.map(({ uuid }) => [uuid, answers[n]] as const)));
  return (uuid) => answerTo.get(uuid)?.(uuid) ?? { kind: 'nothing' };
}

/** An affinity group leaves a dead host as one: all of it is claimed on one host, or nothing. */
async function selectForGroup(
  c: ConductorContext,
  records: readonly Instance[],
): Promise<(uuid: string) => Observation> {
  const moves = records.map((record) => {
    return { instanceUuid: record.uuid, requestSpec: requestSpecCodec.decode(wantedOf(record)), move: undefined };
  });
  return whileFenced(c, records[0]?.host ?? '', async () => {
    const { destinations, noValidHost: why } = await callScheduler(c, claimMovesMethod, { moves, dryRun: false });
    if (why) return noHostBy(why, {});
    const byUuid = new Map(destinations.map((one) => [one.instanceUuid, one]));
    return (uuid) => {
      const destination = byUuid.get(uuid);
      return destination ? claimedOn(destination) : { kind: 'nothing' };
    };
  });
}

/** New claims take the place of those on a dead host: only while nobody is heard in its name. */
async function whileFenced(
  c: ConductorContext,
  host: string,
  select: () => Promise<(uuid: string) => Observation>,
): Promise<(uuid: string) => Observation> {
  const fenced = await fenceOf(c, host);
  if ('fault' in fenced) return () => ({ kind: 'no_host', ...fenced, passedOver: [] });
  return select().catch(async (thrown: unknown) => {
    // It is tried again and again, and an agent that is back must not wait for that.
    await releaseFence(c, host);
    throw thrown;
  });
}

/** The affinity group with which an instance leaves a dead host; undefined when it leaves alone. */
function leavingGroupOf(c: ConductorContext, record: Instance): string | undefined {
  return record.state === 'rebuilding' ? affinityGroupOf(c, record) : undefined;
}

/** Others ask for themselves. */
const SELECTED_TOGETHER: readonly Instance['state'][] = ['scheduling', 'pending'];

/** Records by the request that they came with: each has a spec of its own. */
export function groupByRequest<R extends Instance>(records: readonly R[]): [requestId: string, ofOne: R[]][] {
  return [...groupBy(records, ({ requestId }) => requestId)];
}

async function selectForRequest(
  c: ConductorContext,
  records: readonly Instance[],
  minRevision: number,
): Promise<(uuid: string) => Observation> {
  const [first] = records as [Instance, ...Instance[]];
  const ask = () => askScheduler(c, records, minRevision);
  return first.state === 'rebuilding' ? whileFenced(c, first.host, ask) : ask();
}

async function askScheduler(
  c: ConductorContext,
  records: readonly Instance[],
  minRevision: number,
): Promise<(uuid: string) => Observation> {
  const kinds = await Promise.all(membersByKind(records).map((ofKind) => kindToSelect(c, ofKind)));
  const [kind, ...further] = kinds as [MemberKind, ...MemberKind[]];
  const [first] = records as [Instance, ...Instance[]];
  const request = {
    requestId: first.requestId,
    ...kind,
    ...(further.length > 0 ? { furtherKinds: further } : {}),
    priority: first.admission?.priority ?? 0,
    isProtected: first.admission?.isProtected ?? false,
    mayPreempt: asksForPlaces(first),
    alternatesHeld: first.admission?.alternatesHeld,
    minRevision,
    timeLimitMs: timeLeftOf(first, c.clock.now()),
    // A move's source may have to wait for it: it is not asked.
    ...(first.admission?.confirmsHost && !isMoving(first) ? { confirmsHost: true } : {}),
    ...(isMoving(first) ? { numAlternates: 0, move: moveOf(first) } : { numAlternates: c.config.numAlternates }),
  };
  try {
    const response = await callScheduler(c, selectDestinationsMethod, request);
    if (response.noValidHost && response.destinations.length === 0) return noHostBy(response.noValidHost, response);
    const noHost = response.noValidHost && noHostBy(response.noValidHost, response);
    const byUuid = new Map(response.destinations.map((one) => [one.instanceUuid, one]));
    return (uuid) => {
      const destination = byUuid.get(uuid);
      if (destination) return claimedOn(destination);
      return noHost ? noHost() : { kind: 'nothing' };
    };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (isRetryable(error) || error.code === 'resource_exhausted') throw error;
    return () => noValidHost(`the scheduler refused the request: ${error.message} (${error.reason})`);
  }
}

/** Selection for the members of one kind, which have one spec. */
async function kindToSelect(c: ConductorContext, ofKind: readonly Instance[]): Promise<MemberKind> {
  const [first] = ofKind as [Instance, ...Instance[]];
  const minCount = await leastWanted(c, first, ofKind.length);
  return { requestSpec: wantedOf(first), instanceUuids: ofKind.map(({ uuid }) => uuid), minCount };
}

/**
 * With how many hosts for these instances of a gang the rest of their kind may still become enough; 0 for all or none. A scheduler
 * of an older version does not know this, and finds hosts for all or none.
 */
async function leastWanted(c: ConductorContext, member: Instance, selecting: number): Promise<number> {
  const { gang, requestId, state } = member;
  if (gang === undefined || !SELECTED_TOGETHER.includes(state)) return 0;
  const members = (await membersOf(c, requestId)).filter((one) => kindOf(one) === kindOf(member));
  // Those that are selected for here are among the rest.
  const others = members.filter((one) => !hasFailed(one) && !isLost(one)).length - selecting;
  return Math.max(1, Math.min(selecting, gang.minCount - Math.max(0, others)));
}

/** Its claim passes to the migration, if it is still the one on record. */
function moveOf({ migration: { uuid: migrationUuid, source } }: Moving) {
  return { migrationUuid, claimToken: source.claimToken, sourceHost: source.host };
}

/**
 * All that it was to be built by, but for the hosts that it was on or that have tried; of what is resized, what it is to be. Hosts that
 * were named for its first build bind nothing after that (as Nova's force_hosts).
 */
function wantedOf(record: Instance): EncodedRequestSpec {
  if (isMoving(record)) return wantedByMove(record);
  const { state, host, requestSpec } = record;
  const had = state === 'building' ? triedBy(record).map((one) => one.host) : state === 'rebuilding' ? [host] : [];
  const hasRun = hasBeenActive(record) && !SELECTED_TOGETHER.includes(state);
  if (had.length === 0 && !hasRun) return requestSpec;
  const spec = requestSpecCodec.decode(requestSpec);
  return requestSpecCodec.encode(hasRun ? migrated(spec, '', had) : withoutHosts(spec, had));
}

function wantedByMove({ migration: { kind, source, destination, targetHost } }: Moving): EncodedRequestSpec {
  const wanted = requestSpecCodec.decode(bytesOf(destination.requestSpec));
  return requestSpecCodec.encode(migrated(wanted, targetHost, kind === 'resize' ? [] : [source.host]));
}

/**
 * The spec of a move: to the host that it names, '' for any, and to none of those that it leaves. The hosts named by the
 * request were for the build.
 */
export function migrated(spec: RequestSpec, targetHost: string, leave: readonly string[]): RequestSpec {
  return withoutHosts({ ...spec, forceHosts: targetHost === '' ? [] : [targetHost] }, leave);
}

function withoutHosts(spec: RequestSpec, hosts: readonly string[]): RequestSpec {
  return { ...spec, ignoreHosts: [...new Set([...spec.ignoreHosts, ...hosts])] };
}

/** A host that a scheduler has claimed, as a conductor goes on with it. */
export function claimedHostOf({ selected, alternates, claimToken }: Destination): ClaimedHost {
  const { host, serviceHost, allocationRequest, epoch } = selected;
  return { host, serviceHost, allocationRequest, epoch, claimToken, alternates, passedOver: [] };
}

function claimedOn(destination: Destination): Observation {
  return { kind: 'claimed', target: claimedHostOf(destination) };
}

/** A waiting instance asks for a preemption unless one is under way. */
function asksForPlaces({ state, admission, waiting }: Instance): boolean {
  return state === 'pending' && (admission?.mayPreempt ?? false) && waiting?.preemption === undefined;
}

/** Above a quota, it says so whatever else refuses the hosts: that is what the project can change. */
function noHostBy(
  { summary, quotaExceeded, filters }: Diagnosis,
  { preemption: found }: Pick<SelectDestinationsResponse, 'preemption'>,
): () => Observation {
  const fault =
    quotaExceeded.length === 0
      ? { reason: 'no_valid_host', message: summary }
      : { reason: 'quota_exceeded', message: sentenceOf(quotaExceeded) };
  const victims = found?.victims.map(({ instanceUuid }) => instanceUuid) ?? [];
  const preemption = found && { ...placesOf(found), victims };
  const waitsFor = symbolsOf(filters);
  return () => ({ kind: 'no_host', fault, passedOver: [], waitsFor, preemption });
}

/** Most preemptions are on one host, and take nothing back. */
function placesOf({ host, furtherHosts = [], reclaims = false }: PreemptionView): Omit<Preemption, 'victims'> {
  return { host, ...(furtherHosts.length > 0 ? { furtherHosts } : {}), ...(reclaims ? { reclaims } : {}) };
}

/** Symbols that refused the hosts; without hosts, that there are none. */
function symbolsOf(filters: Diagnosis['filters']): readonly string[] {
  const symbols = new Set(filters.flatMap(({ reasons }) => Object.keys(reasons)));
  return symbols.size === 0 ? ['no_hosts'] : [...symbols].sort().slice(0, MAX_SYMBOLS);
}

/** More than there are filters and classes of a request; what is left out is tried all the same from time to time. */
const MAX_SYMBOLS = 64;

function noValidHost(message: string): Observation {
  return { kind: 'no_host', fault: { reason: 'no_valid_host', message }, passedOver: [] };
}
