import { Redis } from 'ioredis';
import { percentile } from '#libs/runtime/percentiles';
import { type Rate, type Results, round } from './harness';

/** Redis' policies of syncing its append-only file: never, each second, before each answer. */
const POLICIES = ['no', 'everysec', 'always'] as const;

/** The measurements under each policy, by name. */
export type Measurements = Readonly<Record<string, () => Promise<Rate>>>;

/**
 * The price of durability: the same measurements on the same fleet under each policy, in turn and in several rounds,
 * because a shared machine changes its speed meanwhile. The results are the median, the lowest and the highest of the
 * rounds.
 */
export async function measureDurability(
  redisUrl: string,
  rounds: number,
  measurements: Measurements,
  note: (text: string) => void,
): Promise<Results> {
  const redis = new Redis(redisUrl);
  const rates = new Map<string, Rate[]>();
  try {
    for (let n = 1; n <= rounds; n++) {
      for (const policy of POLICIES) {
        note(`measuring with appendfsync ${policy}, round ${n} of ${rounds}`);
        await redis.config('SET', 'appendfsync', policy);
        for (const [name, measure] of Object.entries(measurements)) {
          const key = `${name}_fsync_${policy}`;
          rates.set(key, [...(rates.get(key) ?? []), await measure()]);
        }
      }
    }
  } finally {
    redis.disconnect();
  }
  return Object.fromEntries([...rates].flatMap(([key, ofOne]) => Object.entries(summary(key, ofOne))));
}

function summary(key: string, rates: readonly Rate[]): Results {
  const perSecond = rates.map((rate) => rate.perSecond);
  const median = (values: readonly number[]) => round(percentile(values, 50));
  return {
    [`${key}_per_s`]: median(perSecond),
    ...(rates.length > 1 && {
      [`${key}_per_s_lowest`]: Math.min(...perSecond),
      [`${key}_per_s_highest`]: Math.max(...perSecond),
    }),
    [`${key}_p50_ms`]: median(rates.map((rate) => rate.p50Ms)),
    [`${key}_p99_ms`]: median(rates.map((rate) => rate.p99Ms)),
  };
}
