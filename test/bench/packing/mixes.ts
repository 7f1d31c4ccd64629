import { type Random, randomInt } from '#libs/domain/random';
import { USUAL } from './fleet-kinds';

/** Shapes of VMs, each with its share of the requests; the shares need not sum to 1. */
export type Mix = readonly (readonly [cores: number, ram: number, share: number])[];

/** The shapes requested most, and some of the largest, as in Azure's traces. */
export const AZURE: Mix = [
  [200, 28, 18],
  [100, 14, 15],
  [400, 56, 10.5],
  [800, 112, 8.7],
  [100, 32, 8.5],
  [200, 64, 4.5],
  [800, 64, 3.1],
  [1600, 128, 2.6],
  [42, 7, 1.8],
  [800, 224, 1.8],
  [80, 16, 1.7],
  [800, 256, 1.8],
  [400, 128, 1.5],
  [1600, 448, 1.45],
  [20, 4, 1.3],
  [1600, 224, 1.3],
  [400, 112, 1.3],
  [2, 8, 1],
  [120, 32, 0.9],
  [200, 128, 0.7],
  [400, 256, 0.6],
  [1600, 512, 0.3],
  [2400, 672, 0.3],
  [3200, 1024, 0.06],
  [3200, 1728, 0.1],
  [4000, 1792, 0.3],
  [4800, 2016, 0.05],
];

/** Half a usual host to a whole one. */
export const LARGE: Mix = [
  [4800, 1125, 3],
  [6400, 1500, 1],
  [6400, 2016, 2],
  [9600, 2250, 1],
];

export const CORE_HEAVY: Mix = [
  [200, 16, 4],
  [400, 32, 3],
  [800, 64, 3],
  [1600, 128, 2],
  [3200, 256, 0.4],
  [4800, 384, 0.1],
];

export const MEMORY_HEAVY: Mix = [
  [100, 64, 4],
  [200, 128, 3],
  [400, 256, 2],
  [800, 512, 1],
  [1600, 1024, 0.3],
  [2400, 1536, 0.1],
];

/** In the ratio of the usual host, each twice the one before. */
const DOUBLING: Mix = [
  [150, 35, 16],
  [300, 70, 8],
  [600, 140, 4],
  [1200, 281, 2],
  [2400, 562, 1],
  [4800, 1125, 0.3],
];

/** One of the mixes, or one of shapes drawn at random. */
export function anyMix(random: Random): Mix {
  const known = [AZURE, CORE_HEAVY, MEMORY_HEAVY, DOUBLING];
  const kind = randomInt(random, known.length + 2);
  return known[kind] ?? drawnMix(3 + randomInt(random, kind === known.length ? 4 : 20), random);
}

/** Sizes from a hundredth to half of a host, even on a logarithmic scale; ratios of up to e and 1/e of the host's. */
function drawnMix(shapes: number, random: Random): Mix {
  return Array.from({ length: shapes }, () => {
    const size = 0.01 * 50 ** random.next();
    const ratio = Math.exp(2 * random.next() - 1);
    const cores = Math.round(USUAL.cores * size);
    const ram = Math.min(MOST_RAM, Math.round(USUAL.ram * size * ratio));
    return [cores, ram, random.next() / size] as const;
  });
}

/** Fits beside something on every host. */
const MOST_RAM = 2_048;
