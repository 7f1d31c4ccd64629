import { connect } from '#libs/client/connect';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type Composition, startComposition } from '../deploy/composition';

/*
 * deploy/docker-compose.cells.yml without Docker: the processes that it describes, with the settings, users and rights that it
 * gives them, one of each, on a private broker and a private Redis. A tenant of the top builds in both cells.
 */

let composition: Composition;
beforeAll(async () => {
  composition = await startComposition('docker-compose.cells.yml');
});
afterAll(() => composition.stop());

it('a tenant of the top builds in both cells, with the rights that the files give to each', async () => {
  await Promise.all(['scheduler', 'conductor', 'b-scheduler', 'b-conductor'].map((name) => composition.run(name)));
  await Promise.all(
    ['compute-agent-1', 'b-compute-agent-1', 'top-scheduler', 'top-conductor'].map((name) => composition.run(name)),
  );
  const url = composition.brokerUrl('cell.top.project.demo', 'top-demo-for-trying');
  const operatorUrl = composition.brokerUrl('operator', 'operator-for-trying');
  const [tenant, operator] = await Promise.all([
    connect({ url, cell: 'top' }),
    connect({ url: operatorUrl, cell: 'top' }),
  ]);
  try {
    for (const clock = systemClock(); ; await sleep(clock, 50)) {
      const cells = await operator.cells();
      if (cells.every(({ summary }) => summary?.availableCount === 1)) break;
    }
    const spec = aRequestSpec({ projectId: 'demo', resources: { VCPU: 1 } });
    const builds = await Promise.all(
      Array.from({ length: 12 }, () => tenant.buildAndWait({ spec }, { timeoutMs: 30_000 })),
    );
    expect(builds.flat().map(({ state, host }) => `${state} on ${host}`)).toEqual(Array(12).fill('active on host-1'));
    const rows = await tenant.instances();
    expect(new Set(rows.map(({ cell }) => cell))).toEqual(new Set(['b', 'cell1']));
    await expect(tenant.cells()).rejects.toMatchObject({ reason: 'services_only' });
    const foreign = aRequestSpec({ projectId: 'another', resources: { VCPU: 1 } });
    await expect(tenant.buildAndWait({ spec: foreign }, { timeoutMs: 20_000 })).rejects.toMatchObject({
      reason: 'wrong_project',
    });
  } finally {
    await Promise.all([tenant.close(), operator.close()]);
  }
});
