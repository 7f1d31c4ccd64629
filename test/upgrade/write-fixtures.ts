import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { openInstanceStore } from '#libs/instances/open';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { startRedis } from '#libs/testing/servers/servers';
import { dumpRows } from './cell-rows';
import { type RecordedCell, ROOT, ROWS_FILE, SOURCES_FILE } from './fixtures';
import { SAMPLES } from './sample-messages';
import { scriptCell } from './scripted-cell';

/*
 * Makes this commit the previous version of the tests of upgrades (`npm run upgrade-fixtures`): the rows and messages that
 * it writes, and the sources of its services. A change of a stored form does so before it raises the number of the form, so
 * that the tests show whether it reads what was there.
 */

const SOURCES = ['libs', 'services', 'proto', 'package.json'];
const NEEDED_OF_TESTING = 'libs/testing/typescript.cjs';
const NOT_RUN = /\.test\.tsx?$|\.md$|\.png$|\.svg$|\/testing\/|^services\/console\/web\//;

void main();

async function main(): Promise<void> {
  if (git('status', '--porcelain', '--', ...SOURCES) !== '') throw new Error('commit the sources first');
  const cell: RecordedCell = { ...(await recordRows()), messages: encodeSamples() };
  writeFileSync(ROWS_FILE, `${JSON.stringify(cell, undefined, 1)}\n`);
  writeSources();
}

async function recordRows(): Promise<Omit<RecordedCell, 'messages'>> {
  const server = await startRedis();
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: server.url });
  const placement = await openPlacementStore(config, around);
  const instances = await openInstanceStore(config, around);
  const redis = new Redis(server.url);
  try {
    const known = await scriptCell({ placement, instances });
    return { ...known, rows: await dumpRows(redis) };
  } finally {
    redis.disconnect();
    await Promise.all([placement.close(), instances.close()]);
    await server.stop();
  }
}

function encodeSamples(): Record<string, string> {
  const encoded = Object.entries(SAMPLES).map(([name, { encode }]) => [name, Buffer.from(encode()).toString('base64')]);
  return Object.fromEntries(encoded) as Record<string, string>;
}

function writeSources(): void {
  const files = git('ls-files', '--', ...SOURCES).split('\n');
  const kept = files.filter((file) => file === NEEDED_OF_TESTING || !NOT_RUN.test(file));
  git('archive', '--format=tar.gz', '-9', '-o', SOURCES_FILE, 'HEAD', '--', ...kept);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}
