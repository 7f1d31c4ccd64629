import { seededRandom } from '../domain/random';
import { readConfig } from '../runtime/config';
import { silentLog } from '../runtime/log';
import { createMetrics } from '../runtime/metrics';
import { fakeClock } from '../testing/fake-clock';
import { openPlacementStore } from './open';
import { placementOptions } from './options';

it('gives the services of one process the same store in memory, one for each cell', async () => {
  const around = { clock: fakeClock(), random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
  const open = (cell: string) => openPlacementStore(readConfig(placementOptions, { BERTH_CELL: cell }), around);
  expect(await open('a')).toBe(await open('a'));
  expect(await open('a')).not.toBe(await open('b'));
});
