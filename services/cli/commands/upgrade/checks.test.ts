import type { Flavor } from '#libs/domain/flavor';
import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { silentLog } from '#libs/runtime/log';
import { fakeClock } from '#libs/testing/fake-clock';
import { AT_MS, aReport, aWrite, claim, commit, mustCommit, mustReport } from '#libs/testing/placement/placement';
import { checkContents, checkForm } from './checks';

let store: MemoryPlacementStore;
let classless: { host: string; resourceClass: '' }[];
beforeEach(async () => {
  classless = [];
  store = new MemoryPlacementStore();
  await mustReport(store, aReport({ inventories: { VCPU: inventory(8), CUSTOM_GOLD: inventory(1) } }));
});

function flavor(name: string, resources: Flavor['resources'], extraSpecs: Flavor['extraSpecs'] = {}): Flavor {
  return { name, version: 1, description: '', resources, extraSpecs, createdAtMs: 0, updatedAtMs: 0 };
}

/** The messages of failed checks. */
async function problems(...flavors: readonly Flavor[]): Promise<readonly string[]> {
  const mirror = await Mirror.open(store, { clock: fakeClock(), random: seededRandom(1), log: silentLog });
  const usages = await store.projectUsages();
  const nodes = [{ host: 'node-1', resourceClass: 'CUSTOM_BAREMETAL_GOLD' }, ...classless];
  const checks = checkContents({ view: mirror, flavors, usages, nodes });
  await mirror.close();
  return checks.flatMap(({ result, details }) => details.map((detail) => `${result}: ${detail}`));
}

it('finds nothing wrong with flavors that an empty host could hold, however full it is', async () => {
  await claim(store, aWrite({ [aReport().providerUuid]: { VCPU: 8 } }));
  expect(await problems(flavor('small', { VCPU: 8 }), flavor('gold', { CUSTOM_GOLD: 1 }))).toEqual([]);
});

it('warns of classes and traits that are missing, and of flavors that nothing can hold', async () => {
  const found = await problems(
    flavor('large', { VCPU: 9 }),
    flavor('tin', { CUSTOM_TIN: 1 }),
    flavor('quiet', { VCPU: 1 }, { 'trait:CUSTOM_QUIET': 'required' }),
  );
  expect(found).toEqual([
    'warning: flavor tin asks for CUSTOM_TIN, which is no resource class',
    'warning: flavor quiet requires CUSTOM_QUIET, which is no trait',
    'warning: no host can hold flavor large, even when empty',
    'warning: no host can hold flavor tin, even when empty',
    'warning: no host can hold flavor quiet, even when empty',
  ]);
});

it('fails for extra specs that this release does not understand', async () => {
  const found = await problems(flavor('odd', { VCPU: 1 }, { 'hw:unheard_of': '1' }));
  expect(found).toEqual([expect.stringMatching(/^failure: flavor odd: .*hw:unheard_of/)]);
});

it('warns of hosts that do not report, and when there is none', async () => {
  await mustCommit(store, { kind: 'sweep_hosts', silentSinceMs: AT_MS, limit: 10 });
  expect(await problems()).toEqual([expect.stringMatching(/^warning: host host-1 does not report/)]);
  store = new MemoryPlacementStore();
  expect(await problems()).toEqual(['warning: there are no hosts: no agent has reported']);
});

it('warns of nodes of bare metal without a class', async () => {
  classless.push({ host: 'node-7', resourceClass: '' });
  expect(await problems()).toEqual([expect.stringMatching(/^warning: node node-7 has no class/)]);
});

it('warns of counts of projects that are not what they hold', async () => {
  const correction = { used: { VCPU: 1 }, revision: 0 };
  await commit(store, { kind: 'settle_project', projectId: 'demo', keepDays: 1, correction });
  expect(await problems()).toEqual([expect.stringMatching(/^warning: what is counted of project demo/)]);
});

it.each([
  [0, 'success'],
  [1, 'failure'],
  [2, 'success'],
  [3, 'warning'],
  [4, 'failure'],
] as const)('tells whether rows of form %i can be read: %s', (present, result) => {
  expect(checkForm({ present, readsFrom: 2, reads: 3, writes: 2 }).result).toBe(result);
});
