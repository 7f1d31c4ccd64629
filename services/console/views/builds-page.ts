import type { BuildRange, BuildsPage, PendingBuild } from '../api/builds';
import type { Live } from '../live/live';
import { explainQuery } from './explain';

const MOST_PENDING = 200;
/** Instances are listed by uuid: beyond this count the oldest waiting ones may be missed. */
const MOST_READ = 1_000;

/** Reads what the page of builds shows. */
export async function readBuildsPage(live: Live, range: BuildRange): Promise<BuildsPage> {
  return {
    rates: live.builds.rates(range),
    inError: (await live.states()).get('error') ?? 0,
    recent: live.builds.recent(),
    pending: { count: live.pendingCount, first: live.pendingCount === 0 ? [] : await firstPending(live) },
    deadLetters: live.deadLetterCount,
    actions: live.parts.actions.recent(),
  };
}

/** The first that wait for capacity, in the order in which the conductors serve them. */
async function firstPending({ parts: { client } }: Live): Promise<PendingBuild[]> {
  const found = await client.instances({ state: 'pending' }, MOST_READ);
  const rows = found.map(({ uuid, name, projectId, admission, waiting, requestSpec }) => {
    const { place = 0, sinceMs = 0, untilMs = 0, waitsFor = [] } = waiting ?? {};
    const about = { resources: requestSpec.resources, explain: explainQuery(requestSpec) };
    return { uuid, name, projectId, place, priority: admission?.priority ?? 0, sinceMs, untilMs, waitsFor, ...about };
  });
  return rows.sort((a, b) => a.place - b.place).slice(0, MOST_PENDING);
}
