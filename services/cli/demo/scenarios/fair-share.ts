import type { InstanceView } from '#libs/contracts/instance';
import { requestFor } from '../workload';
import type { Scenario, Stage } from './stage';

const SIZE = { VCPU: 2, MEMORY_MB: 2_048 };
const HALF_LIFE_MS = 8_000;
const WAITS = { waitForCapacityMs: 60_000 };

/** Two projects want the same places: the one that had the fleet lately stands behind, until its weight is raised. */
export const fairShare: Scenario = {
  name: 'fair-share',
  purpose:
    'two projects want a full fleet: the one that used it lately stands behind the other, until its weight is raised',
  fleet: {
    hosts: 2,
    shape: { VCPU: 8, MEMORY_MB: 32_768 },
    settings: {
      BERTH_SCHEDULER_FAIR_SHARE_HALF_LIFE_MS: String(HALF_LIFE_MS),
      BERTH_CONDUCTOR_PENDING_INTERVAL_MS: '200',
    },
  },

  async play(stage) {
    const { client } = stage.fleet;
    const build = async (projectId: string, count: number) => {
      const uuids: string[] = [];
      for (let n = 0; n < count; n++) {
        const { instanceUuids } = await client.build({ ...requestFor(projectId, SIZE, projectId), admission: WAITS });
        uuids.push(...instanceUuids);
      }
      return uuids;
    };
    const heavy = await build('heavy', 8);
    await stage.until('project heavy fills two hosts with 8 instances', async () => (await active(stage)).length === 8);
    const used = async () => (await client.fairShares('heavy')).shares[0]?.lately ?? 0;
    stage.tell(`what it uses lately halves, or comes half way to what it holds, in ${HALF_LIFE_MS / 1_000} s`);
    await stage.until('it used half of the fleet lately', async () => (await used()) > 0.5);
    await build('heavy', 4);
    await build('light', 4);
    await stage.until('4 more of it wait, and 4 of project light that came later', async () => {
      return (await waiting(stage)).length === 8;
    });
    await tellShares(stage);
    await stage.until('those of light stand first', async () => {
      const places = (await waiting(stage)).map(({ projectId }) => projectId);
      return places.slice(0, 4).every((projectId) => projectId === 'light');
    });
    for (const { projectId, waiting: by } of (await waiting(stage)).slice(0, 5)) {
      stage.tell(`  place ${by?.place}, ${projectId}: ${by?.standing?.number.toFixed(3)}`);
    }
    for (const uuid of heavy.slice(0, 4)) await client.terminate(uuid);
    await stage.until('4 places come free, and all of them go to light', async () => {
      return (await active(stage)).filter(({ projectId }) => projectId === 'light').length === 4;
    });
    await tellShares(stage);
    await client.setQuota('heavy', { limits: { weight: 3 } });
    stage.tell('berth quota set --project heavy --limit weight=3');
    await build('light', 2);
    await stage.until('by its weight heavy stands before light', async () => {
      const places = (await waiting(stage)).map(({ projectId }) => projectId);
      return places.length === 6 && places.slice(0, 4).every((projectId) => projectId === 'heavy');
    });
    await tellShares(stage);
    for (const uuid of heavy.slice(4, 6)) await client.terminate(uuid);
    await stage.until('and has the next 2 places', async () => {
      return (await active(stage)).filter(({ projectId }) => projectId === 'heavy').length === 4;
    });
  },
};

async function active(stage: Stage): Promise<readonly InstanceView[]> {
  return (await stage.instances()).filter(({ state }) => state === 'active');
}

/** Waiting instances in the order of the queue. */
async function waiting(stage: Stage): Promise<readonly InstanceView[]> {
  const views = (await stage.instances()).filter(({ state }) => state === 'pending');
  return views.toSorted((a, b) => (a.waiting?.place ?? 0) - (b.waiting?.place ?? 0));
}

async function tellShares(stage: Stage): Promise<void> {
  for (const { projectId, now, lately, weight } of (await stage.fleet.client.fairShares()).shares) {
    const number = ((now + lately) / weight).toFixed(2);
    stage.tell(`  ${projectId}: (now ${now.toFixed(2)} + lately ${lately.toFixed(2)}) / weight ${weight} = ${number}`);
  }
}
