import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { systemRandom } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { CellsWorld, type OpenedCell } from '../../integration/cells/cells-world';
import { eventually } from '../../integration/test-cell';

/*
 * Two cells and a top on real servers: processes of the top and of a cell are killed, one after the other, while builds, gangs, moves and
 * terminations go through them. Another conductor of the top continues the duties of a killed one, whose lease lasts half a minute.
 */

const CELLS = ['cell1', 'b'] as const;
const TOP = {
  BERTH_TOP_CELLS: CELLS.join(),
  BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS: '200',
  BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS: '500',
  BERTH_TOP_CONDUCTOR_SELECT_TIMEOUT_MS: '2000',
  BERTH_TOP_CONDUCTOR_RESYNC_INTERVAL_MS: '5000',
  BERTH_TOP_CONDUCTOR_RESERVATION_INTERVAL_MS: '3000',
};
/** In this order; each is restarted while the others work. */
const KILLED = [
  ['top', 'top-conductor-1'],
  ['top', 'top-scheduler-1'],
  ['b', 'conductor'],
  ['top', 'top-conductor-2'],
  ['cell1', 'scheduler'],
  ['top', 'top-conductor-1'],
  ['top', 'top-scheduler-1'],
  ['top', 'top-conductor-2'],
] as const;
const GANG = 3;
/** A killed process may hold a lease for so long. */
const TIMEOUT_MS = 90_000;

let world: CellsWorld;
let top: OpenedCell;
let cells: OpenedCell[];

beforeAll(async () => {
  world = await CellsWorld.start([...CELLS, 'top'], ['h1', 'h2']);
  [top, ...cells] = (await Promise.all(['top', ...CELLS].map((cell) => world.open(cell)))) as [
    OpenedCell,
    ...OpenedCell[],
  ];
  await Promise.all(CELLS.flatMap((cell) => [world.launch(cell, 'scheduler'), world.launch(cell, 'conductor')]));
  const ofTop = ['top-scheduler-1', 'top-scheduler-2', 'top-conductor-1', 'top-conductor-2'];
  await Promise.all(ofTop.map((name) => world.launch('top', name, TOP)));
  const room = { BERTH_AGENT_INVENTORY: 'VCPU=400,MEMORY_MB=65536' };
  await Promise.all(CELLS.flatMap((cell) => ['h1', 'h2'].map((host) => world.launch(cell, `agent.${host}`, room))));
  await eventually(
    'the top knows all hosts',
    async () => {
      const known = await top.client.cells();
      return known.map(({ summary }) => summary?.availableCount).join() === '2,2';
    },
    TIMEOUT_MS,
  );
});
afterAll(() => world?.stop());

/** UUIDs of the instances of each request; a request is repeated until it is taken. */
const requested: string[][] = [];
const over = new AbortController();

async function build(count: number): Promise<readonly string[]> {
  const instanceUuids = Array.from({ length: count }, () => systemRandom.uuid());
  requested.push(instanceUuids);
  const spec = aRequestSpec({ resources: { VCPU: 1, MEMORY_MB: 64 } });
  await top.client.build({
    spec,
    count,
    minCount: count > 1 ? count : 0,
    instanceUuids,
    requestId: systemRandom.uuid(),
  });
  return instanceUuids;
}

const isWhere = async (uuid: string) => (await top.client.instance(uuid)).cell;
const EXPECTED = ['deadline_exceeded', 'unavailable', 'failed_precondition', 'not_found', 'aborted'];

/** A client that builds, stops, moves to the other cell and terminates, while processes are killed. */
async function work(turn: number): Promise<void> {
  for (let n = turn; !over.signal.aborted; n++) {
    try {
      const uuids = await build(n % 3 === 0 ? GANG : 1);
      const [uuid = ''] = uuids;
      await top.client.wait(uuid, ['active', 'error'], { timeoutMs: 20_000 });
      if (n % 4 === 1) await top.client.operateAndWait(uuid, 'stop', { timeoutMs: 20_000 });
      if (n % 4 <= 1) {
        const targetCell = (await isWhere(uuid)) === 'b' ? 'cell1' : 'b';
        await top.client.operateAndWait(uuid, 'migrate', { targetCell, timeoutMs: 20_000 });
      }
      if (n % 5 !== 0) await Promise.all(uuids.map((one) => top.client.terminate(one)));
    } catch (thrown) {
      const { code } = BerthError.from(thrown);
      if (!EXPECTED.includes(code)) throw thrown;
    }
  }
}

const ENDED: readonly Instance['state'][] = ['error', 'deleted'];

/** Violations at rest. */
async function wrongAtRest(): Promise<string[]> {
  const found: string[] = [];
  const uuids = requested.flat();
  const records = await top.instances.get(uuids);
  const byUuid = new Map(records.map((record) => [record.uuid, record]));
  for (const { uuid, state, cell, dueAtMs } of records) {
    if (cell?.move || cell?.left?.isGone === false || dueAtMs !== undefined)
      found.push(`${uuid} is on its way: ${state}`);
  }
  for (const gang of requested.filter(({ length }) => length === GANG)) {
    const states = gang.map((uuid) => byUuid.get(uuid)?.state ?? 'unknown');
    const lost = states.filter((state) => state === 'error').length;
    if (lost > 0 && states.some((state) => !ENDED.includes(state))) found.push(`gang of ${states.join()}`);
  }
  const alive = records.filter(({ state }) => !ENDED.includes(state));
  const reserved = await consumersOf(top);
  found.push(
    ...differences(
      'reserved at the top',
      reserved,
      alive.map(({ uuid }) => uuid),
    ),
  );
  for (const opened of cells) {
    const there = (await opened.instances.get(uuids)).filter(({ state }) => !ENDED.includes(state));
    const known = alive.filter(({ cell }) => cell?.name === opened.cell).map(({ uuid }) => uuid);
    found.push(
      ...differences(
        `on record in ${opened.cell}`,
        there.map(({ uuid }) => uuid),
        known,
      ),
    );
    found.push(...differences(`claimed in ${opened.cell}`, await consumersOf(opened), known));
    const others = there.filter(({ uuid, state }) => byUuid.get(uuid)?.state !== state);
    found.push(
      ...others.map(
        ({ uuid, state }) => `${uuid} is ${state} in ${opened.cell}, ${byUuid.get(uuid)?.state} at the top`,
      ),
    );
  }
  return found;
}

async function consumersOf({ placement }: OpenedCell): Promise<string[]> {
  const uuids: string[] = [];
  await placement.scanConsumers(async (rows) => {
    uuids.push(...rows.map(({ uuid }) => uuid));
  });
  return uuids;
}

function differences(what: string, is: readonly string[], wanted: readonly string[]): string[] {
  const has = new Set(is);
  const wants = new Set(wanted);
  return [
    ...is.filter((uuid) => !wants.has(uuid)).map((uuid) => `${uuid} is ${what}, and has ended or is elsewhere`),
    ...wanted.filter((uuid) => !has.has(uuid)).map((uuid) => `${uuid} is not ${what}`),
  ];
}

it('builds, gangs, moves and ends are in one cell each, with their claims and no others, whoever is killed', async () => {
  const working = [0, 1, 2, 3].map((turn) => work(turn));
  for (const [cell, name] of KILLED) {
    const before = requested.length;
    await eventually('clients go on', async () => requested.length >= before + 4, TIMEOUT_MS);
    await world.kill(cell, name);
    await world.launch(cell, name, cell === 'top' ? TOP : {});
  }
  over.abort();
  await Promise.all(working);
  let wrong: readonly string[] = [];
  const isAtRest = async () => {
    wrong = await wrongAtRest().catch((thrown: unknown) => [String(thrown)]);
    return wrong.length === 0;
  };
  await eventually('all is at rest', isAtRest, TIMEOUT_MS).catch((error: Error) => {
    throw new Error(`${error.message}: ${wrong.slice(0, 10).join('\n')}\n${world.said().slice(-6_000)}`);
  });
  const states = (await top.instances.get(requested.flat())).map(({ state }) => state);
  const count = (state: string) => states.filter((one) => one === state).length;
  expect([count('active') > 10, count('stopped') > 0, count('deleted') > 0]).toEqual([true, true, true]);
  const moved = (await top.instances.get(requested.flat())).filter(({ cell }) => cell?.left);
  expect(moved.length).toBeGreaterThan(0);
});
