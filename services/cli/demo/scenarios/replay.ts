import { explainPast, parseWhatIf, verifyRecord } from '../../../replay/main';
import { bar } from '../../views/table';
import { requestFor } from '../workload';
import type { Scenario } from './stage';

/** A large request finds no host, and the record says which earlier choice left it without one. */
export const replay: Scenario = {
  name: 'replay',
  purpose: 'a large request finds no host; the record of decisions says which earlier choice cost it its host',
  fleet: { hosts: 3, shape: { VCPU: 8, MEMORY_MB: 16_384 }, isRecorded: true },

  async play(stage) {
    const small = { VCPU: 2, MEMORY_MB: 2_048 };
    await stage.build(1, small);
    await stage.build(1, small);
    const [third = ''] = await stage.build(1, small);
    await stage.show('the default profile spreads: one on each host');
    const whole = requestFor('whole', { VCPU: 8, MEMORY_MB: 8_192 }, 'demo');
    const { instanceUuids } = await stage.fleet.client.build(whole);
    const [large = ''] = instanceUuids;
    await stage.until('a request for a whole host ends in ERROR: no valid host', async () => {
      return (await stage.fleet.client.instance(large)).state === 'error';
    });

    const folder = stage.recordFolder;
    await stage.until('the record has the decision', () =>
      explainPast(folder, { uuid: large, changes: [], horizon: 0 }).then(
        () => true,
        () => false,
      ),
    );
    stage.tell(`berth explain --instance ${third.slice(0, 8)}... --with weight=cpu:-1 --with weight=ram:-1`);
    const changes = ['weight=cpu:-1', 'weight=ram:-1'].map(parseWhatIf);
    const past = await explainPast(folder, { uuid: third, changes, horizon: 1_000 });
    stage.check('made again, the decision is the same', past.isSame);
    for (const { host, weight } of past.hosts) {
      stage.tell(
        `  ${host}  ${bar(stage.context.terminal, weight, past.hosts[0]?.weight ?? 1, 16)} ${weight.toFixed(2)}`,
      );
    }
    const { outcome, regret } = past.instead ?? {};
    const instead = outcome?.kind === 'decided' ? outcome.destinations[0]?.host : undefined;
    stage.tell(`it would have gone to ${instead}, and of ${regret?.count} later decisions`);
    for (const later of regret?.placed ?? []) {
      const where = later.instead.kind === 'decided' ? later.instead.destinations[0]?.host : 'nowhere';
      stage.tell(`  request ${later.requestId.slice(0, 8)}... would have found ${where}`);
    }
    stage.check('the large one would have found a host', (regret?.placed.length ?? 0) > 0);

    let count = 0;
    let different = 0;
    for await (const verified of verifyRecord(folder)) {
      count += verified.count;
      different += verified.different.length;
    }
    stage.tell(`berth record verify: ${count} decisions made again, ${different} came out otherwise`);
    stage.check('all came out as they were', different === 0);
  },
};
