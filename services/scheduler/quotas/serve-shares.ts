import { answer } from '#libs/bus/typed-calls';
import { requireProject } from '#libs/contracts/identity';
import {
  type FairShareView,
  type ListFairSharesRequest,
  type ListFairSharesResponse,
  listFairSharesMethod,
} from '#libs/contracts/quotas';
import type { Clock } from '#libs/domain/clock';
import { indexAfter } from '#libs/domain/names';
import { DEFAULT_WEIGHT, type FairShares, type ProjectShare } from '#libs/domain/queueing/fair-share';
import { DEFAULT_PROJECT } from '#libs/domain/quotas/quota';
import { keptFor } from '#libs/runtime/kept-for';
import { fleetCapacity, readFairShares, type ShareDeps, weightOf } from './fair-shares';

export interface ServeSharesDeps extends ShareDeps {
  readonly clock: Clock;
}

/** Ages up to which what was read serves others who ask. */
const SERVED_MS = 500;
const CAPACITY_SERVED_MS = 2_000;

/** Fair shares, read as seldom as who asks notices. */
export interface ServedShares {
  readonly deps: ServeSharesDeps;
  readonly newest: () => Promise<FairShares>;
}

export function servedShares(deps: ServeSharesDeps): ServedShares {
  const { clock, mirror } = deps;
  const capacity = keptFor(CAPACITY_SERVED_MS, clock, async () => fleetCapacity(mirror));
  return { deps, newest: keptFor(SERVED_MS, clock, async () => readFairShares(deps, await capacity(), clock.now())) };
}

/** A project's share; undefined where those who wait take turns. */
export async function shareOf(projectId: string, { deps, newest }: ServedShares): Promise<FairShareView | undefined> {
  if (deps.halfLifeMs === 0) return undefined;
  return listFairShares({ projectId, marker: '', limit: 1 }, await newest(), deps.mirror).shares[0];
}

/** The call about fair shares: operators see all, a tenant its own project's. `requireReady` throws while the mirror is not ready. */
export function shareCalls({ deps, newest }: ServedShares, requireReady: () => void) {
  const { clock, mirror, halfLifeMs } = deps;
  return answer(listFairSharesMethod, async (request, { identity }) => {
    const isTenant = identity.kind === 'project';
    const projectId = request.projectId || (isTenant ? identity.projectId : '');
    requireProject(identity, projectId);
    requireReady();
    if (halfLifeMs === 0) return { ...OFF, atMs: clock.now() };
    const listed = listFairShares({ ...request, projectId }, await newest(), mirror);
    return isTenant ? { ...listed, capacity: {} } : listed;
  });
}

const OFF: ListFairSharesResponse = { halfLifeMs: 0, atMs: 0, shares: [], capacity: {}, defaultWeight: DEFAULT_WEIGHT };

function listFairShares(
  { projectId, marker, limit }: ListFairSharesRequest,
  { atMs, halfLifeMs, capacity, projects, unknown }: FairShares,
  { quotas }: ServeSharesDeps['mirror'],
): ListFairSharesResponse {
  const known = new Map(projects);
  for (const id of [...quotas.projects(), projectId]) {
    if (id !== DEFAULT_PROJECT && !known.has(id)) known.set(id, unknown(id));
  }
  const ranks = new Map([...known.values()].sort(byStanding).map((share, n) => [share.projectId, n + 1]));
  const names = [...known.keys()].sort();
  const from = indexAfter(names, marker);
  const wanted = projectId === '' ? names.slice(from, from + limit) : [projectId];
  const shares = wanted.map((id): FairShareView => ({ ...(known.get(id) as ProjectShare), rank: ranks.get(id) ?? 0 }));
  return { halfLifeMs, atMs, shares, capacity, defaultWeight: weightOf(DEFAULT_PROJECT, quotas) };
}

function byStanding(a: ProjectShare, b: ProjectShare): number {
  const standingOf = ({ now, lately, weight }: ProjectShare) => (now + lately) / weight;
  return standingOf(a) - standingOf(b) || (a.projectId < b.projectId ? -1 : 1);
}
