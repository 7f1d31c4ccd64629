import type { RpcMethod } from '#libs/oslo/dispatch';
import { beyondReach } from '../calls/beyond-reach';
import { readArguments, type SelectCallDeps } from '../calls/select-destinations';
import { type Asked, type Selected, selectDestinations } from '../decision/select-destinations';
import { namedHosts } from '../filters/named-hosts';
import { NoHost } from '../request/no-host';
import { type ChosenHost, compare } from './compare';
import { isDifference, type ReportKeeper } from './keep-report';
import { type NovaClaim, NovaClaims } from './nova-claims';

export interface ShadowDeps extends SelectCallDeps {
  readonly report: ReportKeeper;
}

/**
 * `select_destinations` of a shadow: decides and claims nothing, waits for the claims of the scheduler that answers, and compares. Until
 * then its own choice counts as taken, as Nova's would in the next decision.
 */
export function shadowCall(deps: ShadowDeps, closing: AbortSignal): RpcMethod {
  return async (args, { context }) => {
    const { log, clock, inFlight, report, config } = deps;
    const said = context['request_id'];
    const requestId = typeof said === 'string' ? said : '';
    const call: Asked = readArguments(args, context['user_id'], config.maxInstances);
    const instanceUuids = call.instanceUuids ?? [];
    const watched = new NovaClaims(instanceUuids, deps);
    const startedAtMs = clock.elapsed();
    const decided = await decide(call, deps);
    const berthMs = clock.elapsed() - startedAtMs;
    const taken = decided instanceof NoHost ? [] : decided.placed.flatMap(({ pick }) => pick.candidate ?? []);
    for (const { allocations } of taken) inFlight.add(allocations);
    const claims = await watched.seen(closing);
    for (const { allocations } of taken) inFlight.add(allocations, -1);
    const waitedMs = clock.elapsed() - startedAtMs;
    const partners = partnersOf(instanceUuids, claims, decided);
    for (const [i, instanceUuid] of instanceUuids.entries()) {
      const claim = claims.get(instanceUuid);
      const berth = berthHosts(decided, partners[i] ?? i);
      const nova = claim && chosenHost(claim.rootUuid, decided, deps);
      const noHost = decided instanceof NoHost ? decided.reason : undefined;
      const compared = compare({ berth, nova, noHost, before: i, waitedMs });
      const outcome = claim === undefined && isHidden(instanceUuid, call, watched, deps) ? 'unseen' : compared.outcome;
      const about = { atMs: clock.now(), requestId, instanceUuid, berthMs };
      const found = { ...about, ...compared, outcome, novaMs: claim && claim.atMs - startedAtMs };
      report.add(found);
      const fields = { event: 'nova_shadow', ...found, berth: found.berth.hosts, nova: found.nova.hosts[0] };
      if (isDifference(outcome)) log.info(fields, 'the schedulers chose differently');
      else log.debug(fields, 'both schedulers chose alike');
    }
    return { kind: 'result', value: null };
  };
}

/** Berth's decision, of which nothing is claimed. */
async function decide(call: Asked, deps: ShadowDeps): Promise<Selected | NoHost> {
  const { fallbackTopic } = deps.config;
  const filter = await beyondReach(call.request, deps);
  if (filter !== undefined) {
    const then = fallbackTopic === '' ? 'refuses it' : `hands it over to ${fallbackTopic}`;
    return new NoHost(`The request needs ${filter}, for which Nova's database is not read: Berth ${then}.`);
  }
  try {
    return await selectDestinations({ ...call, withAlternates: true, isDryRun: true, isObserved: true }, deps);
  } catch (thrown) {
    if (thrown instanceof NoHost) return thrown;
    throw thrown;
  }
}

/**
 * For each instance the index of Berth's choice that its own is compared with. Instances of one request are alike, so hosts that both
 * schedulers gave to some of them belong together.
 */
function partnersOf(
  instanceUuids: readonly string[],
  claims: ReadonlyMap<string, NovaClaim>,
  decided: Selected | NoHost,
): readonly number[] {
  if (decided instanceof NoHost) return [];
  const roots = decided.placed.map(({ pick }) => pick.node.uuid);
  const free = new Set(roots.keys());
  const take = (index: number | undefined) => {
    if (index !== undefined) free.delete(index);
    return index;
  };
  const nova = instanceUuids.map((uuid) => claims.get(uuid)?.rootUuid);
  const same = nova.map((root, i) => (root !== undefined && root === roots[i] ? take(i) : undefined));
  const alike = nova.map((root, i) => same[i] ?? take([...free].find((index) => roots[index] === root)));
  return alike.map((index, i) => index ?? take(free.has(i) ? i : [...free][0]) ?? i);
}

function berthHosts(decided: Selected | NoHost, index: number): readonly ChosenHost[] {
  if (decided instanceof NoHost) return [];
  const placed = decided.placed[index];
  if (placed === undefined) return [];
  return [placed.pick, ...placed.alternates].map(({ node }) => ({
    host: node.host,
    verdict: decided.verdicts?.of(node.uuid),
  }));
}

function chosenHost(rootUuid: string, { verdicts }: Selected | NoHost, { facts }: ShadowDeps): ChosenHost {
  return { host: facts.node(rootUuid)?.host ?? rootUuid, verdict: verdicts?.of(rootUuid) };
}

/** True when Nova's choice would not show as a new claim. */
function isHidden(instanceUuid: string, { request }: Asked, watched: NovaClaims, { facts }: ShadowDeps): boolean {
  if (request.isRebuild) return true;
  const { check } = namedHosts(request);
  return [...watched.heldAtCall(instanceUuid)].some((root) => {
    const node = facts.node(root);
    return node !== undefined && check({ node }) === undefined;
  });
}
