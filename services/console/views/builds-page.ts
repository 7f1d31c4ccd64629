import type { BuildRange, BuildsPage, PendingBuild } from '../api/builds';
import type { Live } from '../live/live';
import { explainQuery } from './explain';

const MOST_PENDING = 200;
/** Instances are listed by uuid: beyond this count the oldest waiting ones may be missed. */
const MOST_READ = 1_000;

/** Reads what the page of builds shows; what does not answer is shown as unknown. */
export async function readBuildsPage(live: Live, range: BuildRange): Promise<BuildsPage> {
  const [inError, first] = await Promise.all([
    live.states().then(
      (states) => states.get('error') ?? 0,
      () => -1,
    ),
    live.pendingCount === 0 ? [] : firstPending(live).catch(() => undefined),
  ]);
  return {
    rates: live.builds.rates(range),
    inError,
    recent: live.builds.recent(),
    pending: { count: live.pendingCount, first },
    deadLetters: live.deadLetterCount,
    actions: live.parts.actions.recent(),
  };
}

/** The first that wait for capacity, in the order in which the conductors serve them. */
async function firstPending({ parts: { client } }: Live): Promise<PendingBuild[]> {
  const found = await client.instances({ state: 'pending' }, MOST_READ);
  const rows = found.map(({ uuid, name, projectId, admission, waiting, requestSpec }) => {
    const { place = 0, sinceMs = 0, untilMs = 0, waitsFor = [], standing } = waiting ?? {};
    const about = { resources: requestSpec.resources, explain: explainQuery(requestSpec) };
    const turn = { place, priority: admission?.priority ?? 0, standing };
    return { uuid, name, projectId, ...turn, sinceMs, untilMs, waitsFor, ...about };
  });
  return rows.sort((a, b) => a.place - b.place).slice(0, MOST_PENDING);
}
