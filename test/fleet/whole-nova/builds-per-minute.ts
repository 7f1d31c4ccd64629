import pLimit from 'p-limit';
import { systemClock } from '#libs/runtime/system';
import type { CloudClient } from './cloud-client';
import { IMAGES } from './images-and-networks';
import { areAll, deleteAll } from './story';

const BUILDS = 40;
const CALLERS = 4;
const MINUTE_MS = 60_000;

/**
 * Builds of a whole Nova a minute: single servers requested by a few callers at once, from the first request until the last server is
 * active. Nova's API, conductor and computes, whose drivers build nothing, are most of its work.
 */
export async function buildsPerMinute(client: CloudClient): Promise<number> {
  const names = Array.from({ length: BUILDS }, (_, i) => `measured-${i}`);
  const clock = systemClock();
  const startedAtMs = clock.elapsed();
  const limit = pLimit(CALLERS);
  await Promise.all(names.map((name) => limit(() => client.boot(name, 'small', IMAGES[0]))));
  await areAll(client, names, 'ACTIVE');
  const tookMs = clock.elapsed() - startedAtMs;
  await deleteAll(client, names);
  return Math.round((BUILDS * MINUTE_MS) / tookMs);
}
