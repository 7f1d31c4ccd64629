import type { EmbeddedFleet } from '../../embedded/fleet';
import { startLate, startTopLate } from '../../embedded/start-late';
import type { EmbeddedTop } from '../../embedded/top';
import { table } from '../../views/table';
import { requestFor } from '../workload';
import type { Scenario, Stage } from './stage';

const B = 'b';
const SETTINGS = {
  BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS: '100',
  BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS: '300',
  BERTH_SCHEDULER_SUMMARY_INTERVAL_MS: '100',
};

/** Two cells with equal host names, and a top that builds go through. */
export const cells: Scenario = {
  name: 'cells',
  purpose: 'two cells and a top: one request for all of them, and no cell waits for the top',
  fleet: { hosts: 2, shape: { VCPU: 8, MEMORY_MB: 32_768 }, settings: SETTINGS },

  async play(stage) {
    const { context, fleet } = stage;
    const around = { ...context, env: { ...SETTINGS, ...context.env } };
    const size = { schedulers: 2, conductors: 2, failureRate: 0, latencyMs: 400 };
    const second = await startLate(
      { ...around, env: { ...around.env, BERTH_CELL: B } },
      { ...size, hosts: 3, shape: { VCPU: 16, MEMORY_MB: 65_536 }, broker: fleet.broker },
    );
    const top = await startTopLate(around, fleet.broker, ['cell1', B]);
    try {
      await playWith(stage, second, top);
      const { overAllocated, leaked } = await second.audit();
      if (overAllocated + leaked > 0) stage.broken.push(`cell ${B}: the store and the hosts disagree`);
    } finally {
      await top.close();
      await second.close();
    }
  },
};

async function playWith(stage: Stage, second: EmbeddedFleet, top: EmbeddedTop): Promise<void> {
  await stage.until('the top knows both cells, by summaries', async () => {
    return (await top.client.cells()).every(({ summary }) => (summary?.availableCount ?? 0) > 0);
  });
  await showCells(stage, top);

  stage.tell('12 VCPUs are asked for: no host of cell1 has so many');
  const [large] = await top.client.buildAndWait(requestFor('large', { VCPU: 12, MEMORY_MB: 8_192 }, 'demo'));
  await stage.until(`it runs on ${large?.host} of ${B}; ${large?.host} of cell1 has never heard of it`, async () => {
    const own = await second.client.instances();
    return own.length === 1 && (await stage.instances()).length === 0;
  });

  stage.tell('64 VCPUs are asked for');
  const [none] = await top.client.buildAndWait(requestFor('huge', { VCPU: 64, MEMORY_MB: 8_192 }, 'demo'));
  await stage.until('no cell takes it, and each says why', async () => none?.fault?.reason === 'no_valid_host');
  stage.tell(stage.context.terminal.colours.dim(none?.fault?.message ?? ''));

  stage.tell(`cell1 is disabled, and ${B} gets all; every build on one of its hosts fails`);
  await top.client.setCellState('cell1', 'disabled', 'a demo');
  const empty = [...second.drivers].filter(([host]) => host !== large?.host);
  empty[0]?.[1].setFailureRate(1);
  const { instanceUuids } = await top.client.build({
    ...requestFor('worker', { VCPU: 4, MEMORY_MB: 4_096 }, 'demo'),
    count: 4,
  });
  await stage.until(`${B} has selected hosts for four builds`, async () => {
    const rows = await second.client.instances({ state: 'building' });
    return rows.length === 4;
  });
  await top.stop();
  await second.stopSchedulers();
  stage.tell(stage.context.terminal.colours.red(`the top is gone, and so is every scheduler of ${B}`));
  await stage.until('the conductors go on: what failed is built on alternates, and all four run', async () => {
    const own = await Promise.all(instanceUuids.map((uuid) => second.client.instance(uuid)));
    return own.every(({ state }) => state === 'active');
  });
  const own = await Promise.all(instanceUuids.map((uuid) => second.client.instance(uuid)));
  const failedOver = own.filter(({ attempts }) => attempts.length > 1).length;
  if (failedOver === 0) stage.broken.push('no build failed over to an alternate');
  stage.tell(`${failedOver} of them on an alternate`);

  await top.start();
  stage.tell('the top is back');
  await stage.until('it has heard of all four', async () => {
    const rows = await Promise.all(instanceUuids.map((uuid) => top.client.instance(uuid)));
    return rows.every(({ state, cell }) => state === 'active' && cell === B);
  });
}

/** Prints the top's view of the cells. */
async function showCells({ context: { terminal } }: Stage, { client }: EmbeddedTop): Promise<void> {
  const rows = (await client.cells()).map(({ name, state, isReachable, summary }) => {
    const free = summary?.classes.reduce((sum, one) => sum + (one.free['VCPU']?.total ?? 0), 0);
    const hosts = summary ? `${summary.availableCount} of ${summary.hostCount}` : '-';
    return [name, isReachable ? state : 'unreachable', hosts, summary?.instanceCount ?? '-', free ?? '-'];
  });
  terminal.print(`\n${table(terminal, ['CELL', 'STATE', 'HOSTS', 'INSTANCES', 'VCPU FREE'], rows)}\n`);
}
