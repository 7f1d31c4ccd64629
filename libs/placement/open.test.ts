import { seededRandom } from '../domain/random';
import { readConfig } from '../runtime/config';
import { silentLog } from '../runtime/log';
import { openPlacementStore } from './open';
import { placementOptions } from './options';

it('gives the services of one process the same store in memory, one for each cell', async () => {
  const open = (cell: string) =>
    openPlacementStore(readConfig(placementOptions, { BERTH_CELL: cell }), { log: silentLog, random: seededRandom(1) });
  expect(await open('a')).toBe(await open('a'));
  expect(await open('a')).not.toBe(await open('b'));
});
