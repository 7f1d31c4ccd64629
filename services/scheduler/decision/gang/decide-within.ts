import { MAX_VICTIMS } from '#libs/domain/queueing/admission';
import { isForbidden } from '#libs/domain/server-group';
import { counted } from '#libs/runtime/counted';
import type { DomainName } from '../../fleet/located-request';
import type { SelectRequest } from '../complete-request';
import type { DecideParts, Decision } from '../decide';
import { type Attempt, type DecisionStart, startDecision } from '../start-decision';
import { decideKinds } from './decide-kinds';
import { bestFit, type DomainRoom, type KindToPlace, roomsIn } from './domain-room';
import { requestsByKind } from './kinds';

/** Domains of one level in which a gang is tried: of one kind on plain hosts the first one fits. */
const MAX_TRIED = 16;
/** Domains in which somebody is looked for who could make room. */
const MAX_PREEMPTED = 4;

/**
 * One decision for a request whose group stays within a domain: a rack, a block, a rack of a block.
 *
 * The naive way places the first member on the best host of the fleet, and the others in its rack: most often there is no
 * room for them, though there is in another. So the room of each domain is counted first (Kueue's topology-aware scheduling),
 * and the gang is decided in the domains where it may fit, the one with the fewest pieces left over first, so that large
 * holes stay for large gangs. From the innermost level outwards, as far as the levels that bind; what is preferred only is
 * given up where no domain has room. The count costs a look at each host that passes the filters, once a level: only
 * requests with such a group pay it.
 */
export function decideWithin(request: SelectRequest, attempt: Attempt, parts: DecideParts): Decision {
  const { within } = request.spec.group ?? {};
  if (within === undefined) return decideKinds(request, attempt, parts);
  const least = Math.max(1, within.required);
  let closest: Domains | undefined;
  for (let depth = within.levels.length; depth >= least; depth--) {
    const domains = domainsFor(request, within.levels.slice(0, depth), attempt, parts);
    if (domains.needed === 0) break;
    for (const { domain } of domains.rooms.filter(({ lacks }) => lacks === 0).slice(0, MAX_TRIED)) {
      const tried = decideKinds(withoutPreemption(request), { ...attempt, inDomain: { ...domains.at, domain } }, parts);
      if (tried.kind === 'decided') return tried;
    }
    closest = domains;
  }
  const isBound = within.required > 0 && closest !== undefined && closest.needed > 0;
  return isBound ? refusedIn(closest as Domains, request, attempt, parts) : decideKinds(request, attempt, parts);
}

/** The domains of one depth, best first, and what is to be placed in one of them. */
interface Domains {
  readonly at: Pick<DomainName, 'levels'>;
  readonly rooms: readonly DomainRoom[];
  readonly kinds: readonly KindToPlace[];
  /** Members that hold no claim yet. */
  readonly needed: number;
}

function domainsFor(request: SelectRequest, levels: readonly string[], attempt: Attempt, parts: DecideParts): Domains {
  const starts = requestsByKind(request).map((kind) => startDecision(kind, attempt, parts));
  const kinds = starts.filter(({ unclaimed }) => unclaimed.length > 0).map(kindToPlace);
  const needed = kinds.reduce((sum, { count }) => sum + count, 0);
  const divided = parts.fleet.domains(...levels);
  const homes = homesOf(starts, divided.byDomain);
  const isHome = ({ domain }: DomainRoom) => (homes.has(domain) ? 0 : 1);
  const rooms = needed === 0 ? [] : roomsIn(divided, kinds, parts.rankHosts);
  // Where members are already, others are closer to them than in the best other domain.
  return { at: { levels }, rooms: rooms.toSorted((a, b) => isHome(a) - isHome(b) || bestFit(a, b)), kinds, needed };
}

function kindToPlace({ unclaimed, equivalenceClass, constraints, snapshot, located }: DecisionStart): KindToPlace {
  const { members } = located;
  const mostOnHost = (index: number) => {
    if (members?.group.policy !== 'anti-affinity') return Infinity;
    const here = members.perHost.get(index) ?? 0;
    const keptHere = members.kept.perHost.get(index) ?? 0;
    const counts = { members: members.count, here, kept: members.kept.count, keptHere };
    return isForbidden(members.group, counts) ? 0 : Math.max(1, members.group.maxPerHost) - here - keptHere;
  };
  return { count: unclaimed.length, equivalenceClass, constraints, snapshot, mostOnHost };
}

/** Domains where members of the group, or held claims of the request, are. */
function homesOf(
  starts: readonly DecisionStart[],
  byDomain: ReadonlyMap<string, ReadonlySet<number>>,
): ReadonlySet<string> {
  const indexes = starts.flatMap(({ located, held }) => [
    ...(located.members?.perHost.keys() ?? []),
    ...[...held.values()].map(({ host }) => host.index),
  ]);
  return new Set([...byDomain].filter(([, hosts]) => indexes.some((one) => hosts.has(one))).map(([domain]) => domain));
}

/**
 * Why no domain of the outermost binding level takes the gang. Who may make room is looked for in the domains that lack least,
 * each by itself: places freed in several of them would be of no use. The fewest victims win.
 */
function refusedIn(
  { at, rooms, kinds, needed }: Domains,
  request: SelectRequest,
  attempt: Attempt,
  parts: DecideParts,
) {
  const by = at.levels.join('/');
  const [best] = rooms.toSorted(bestFit);
  if (!best) {
    const refused = decideKinds({ ...request, mayPreempt: false }, attempt, parts);
    return saying(refused, `no host is in a ${by} (metadata of an aggregate)`);
  }
  const domains = rooms.toSorted(bestFit).slice(0, request.mayPreempt ? MAX_PREEMPTED : 1);
  const refusals = domains.map(({ domain }) =>
    decideKinds(request, { ...attempt, inDomain: { ...at, domain } }, parts),
  );
  const refused = refusals.toSorted((a, b) => victimCount(a) - victimCount(b))[0] as Decision;
  const lacks = best.lacks > 0 ? `lacks ${best.lacks}` : 'has room for each kind, not for all';
  const asked =
    kinds.length > 1 ? `${kinds.map(({ count }) => count).join(' and ')} instances` : counted(needed, 'instance');
  return saying(refused, `no ${by} has room for ${asked}; the best, ${best.domain}, ${lacks}`);
}

function victimCount(decision: Decision): number {
  const preemption = decision.kind === 'refused' ? decision.preemption : undefined;
  return preemption?.view.victims.length ?? MAX_VICTIMS + 1;
}

function saying(decision: Decision, why: string): Decision {
  if (decision.kind === 'decided') return decision;
  const { diagnosis } = decision;
  return { ...decision, diagnosis: { ...diagnosis, summary: `${why}: ${diagnosis.summary}` } };
}

function withoutPreemption(request: SelectRequest): SelectRequest {
  return request.mayPreempt ? { ...request, mayPreempt: false } : request;
}
