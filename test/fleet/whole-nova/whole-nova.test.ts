import { writeSync } from 'node:fs';
import type { Decision } from '#libs/contracts/diagnosis';
import type { ShadowReport } from '#libs/contracts/shadow-report';
import { type Child, urlIn } from '#libs/testing/servers/child';
import { runLine } from '../../../services/cli/testing/run-line';
import { buildsPerMinute } from './builds-per-minute';
import { IMAGES } from './images-and-networks';
import { areAll, deleteAll, prepareStory, tellStory } from './story';
import { WholeNova } from './whole-nova';

/*
 * A day of operations on a stock Nova 26 that has Berth's placement API: with Berth's scheduler in the place of Nova's, then again
 * with Nova's own and Berth's in shadow.
 */

// Packages of Debian are installed where they are missing.
const SETUP_MS = 1_800_000;

const REASON = /^No valid host was found\. 4 hosts: .*placement refuses \d \(.*VCPU/;

let cloud: WholeNova;
beforeAll(async () => {
  cloud = await WholeNova.start();
  await prepareStory(cloud);
}, SETUP_MS);
afterAll(() => cloud?.stop());

describe("with Berth's scheduler in the place of Nova's", () => {
  let scheduler: Child;
  beforeAll(async () => {
    scheduler = await cloud.launchBerthsScheduler();
  });
  afterAll(() => end(scheduler));

  tellStory(() => cloud, REASON);

  it('builds servers that are requested at once', async () => {
    const perMinute = await buildsPerMinute(cloud.client);
    say('builds a minute with berth nova-scheduler', perMinute);
    expect(perMinute).toBeGreaterThan(1);
  });

  it('explains in the words of the fault why a server has no host', async () => {
    const env = await cloud.launchExplainer();
    await cloud.client.boot('unexplained', 'huge', IMAGES[0]);
    await areAll(cloud.client, ['unexplained'], 'ERROR');
    const { id, fault } = await cloud.client.server('unexplained');
    const { out, err } = await runLine(['explain', '--instance', id, '--json'], env);
    expect(err).toBe('');
    const { diagnosis } = JSON.parse(out) as Decision;
    expect(fault).toContain(diagnosis.summary);
    await deleteAll(cloud.client, ['unexplained']);
  });
});

describe("with Nova's scheduler, and Berth's in shadow", () => {
  let shadow: Child;
  beforeAll(async () => {
    await cloud.launchStockScheduler();
    shadow = await cloud.launchBerthsScheduler({
      ...cloud.databaseSettings,
      BERTH_NOVA_SHADOW: 'true',
      BERTH_NOVA_HOST: 'shadow',
      BERTH_NOVA_SHADOW_WAIT_MS: '60000',
    });
  });
  afterAll(() => end(shadow));

  tellStory(() => cloud, /^No valid host was found/);

  it('reports how often both chose alike, and explains each difference', async () => {
    // Said once BERTH_NOVA_SHADOW_WAIT_MS have passed without a claim.
    await shadow.says('"outcome":"neither"');
    const url = urlIn(shadow);
    const { outcomes, causes, differences } = (await (await fetch(`${url}/shadow`)).json()) as ShadowReport;
    say('a story in shadow', { ...outcomes, ...causes });
    expect(outcomes.same + outcomes.alternate).toBeGreaterThan(10);
    expect(outcomes.neither).toBeGreaterThan(0);
    // Weights are all that the two may differ in: Nova's of a moment ago, or equal ones.
    expect(differences.filter(({ cause }) => !cause.endsWith('_weight'))).toEqual([]);
  });

  it('builds servers that are requested at once, without the shadow', async () => {
    await end(shadow);
    const perMinute = await buildsPerMinute(cloud.client);
    say('builds a minute with nova-scheduler', perMinute);
    expect(perMinute).toBeGreaterThan(1);
  });
});

function say(what: string, measured: unknown): void {
  writeSync(process.stdout.fd, `measured: ${what}: ${JSON.stringify(measured)}\n`);
}

async function end(scheduler: Child | undefined): Promise<void> {
  scheduler?.process.kill('SIGTERM');
  await scheduler?.exit;
}
