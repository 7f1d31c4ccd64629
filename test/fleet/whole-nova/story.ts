import { isDeepStrictEqual } from 'node:util';
import type { CloudClient, CloudServer, Holdings } from './cloud-client';
import { IMAGES } from './images-and-networks';
import { BRITTLE, HOSTS, type WholeNova } from './whole-nova';

const [IMAGE, OTHER_IMAGE] = IMAGES;
const OTHERS = ['many-1', 'many-2', 'many-3'] as const;

/**
 * Flavors of the story: `huge` is more than any host has. Drivers that build nothing report no free disk to Nova: where disk is used in
 * proportion to memory, hosts rank alike with and without it.
 */
export async function prepareStory({ client }: WholeNova): Promise<void> {
  await client.createFlavor('small', 1, 256, 5);
  await client.createFlavor('big', 2, 512, 10);
  await client.createFlavor('huge', 100_000, 256, 5);
}

/**
 * A story of servers as tests, each of which goes on where the one before ended. After each step placement holds just what Nova's servers
 * need, and at the end nothing.
 *
 * @param cloud  called in the tests, when the cloud runs
 * @param noHost  the fault of a server for which there is no host
 */
export function tellStory(cloud: () => WholeNova, noHost: RegExp): void {
  const step = (name: string, run: (client: CloudClient) => Promise<void>) =>
    it(name, async () => {
      await run(cloud().client)
        .then(() => holdsWhatServersNeed(cloud().client))
        .catch((thrown: Error) => {
          throw new Error(`${thrown.message}\n${cloud().lastWords()}`, { cause: thrown });
        });
    });

  step('builds servers, one alone and several at once', async (client) => {
    await client.boot('alone', 'small', IMAGE);
    await client.boot('many', 'small', IMAGE, { count: OTHERS.length });
    await areAll(client, ['alone', ...OTHERS], 'ACTIVE');
  });

  step('builds in an availability zone', async (client) => {
    const removeZone = await client.createZone('east', ['h3']);
    await client.boot('zoned', 'small', IMAGE, { zone: 'east' });
    await areAll(client, ['zoned'], 'ACTIVE');
    expect((await client.server('zoned')).host).toBe('h3');
    await deleteAll(client, ['zoned']);
    await removeZone();
  });

  step('keeps server groups apart and together', async (client) => {
    for (const policy of ['anti-affinity', 'affinity']) {
      const group = await client.createGroup(policy, policy);
      await client.boot(policy, 'small', IMAGE, { group, count: 2 });
    }
    await areAll(client, ['anti-affinity-1', 'anti-affinity-2', 'affinity-1', 'affinity-2'], 'ACTIVE');
    const hostOf = async (name: string) => (await client.server(name)).host;
    expect(await hostOf('anti-affinity-1')).not.toBe(await hostOf('anti-affinity-2'));
    expect(await hostOf('affinity-1')).toBe(await hostOf('affinity-2'));
    await deleteAll(client, ['anti-affinity-1', 'anti-affinity-2', 'affinity-1', 'affinity-2']);
  });

  step('says in the fault why there was no valid host', async (client) => {
    await client.boot('refused', 'huge', IMAGE);
    await areAll(client, ['refused'], 'ERROR');
    expect((await client.server('refused')).fault).toMatch(noHost);
    await deleteAll(client, ['refused']);
  });

  step('resizes, and confirms or reverts', async (client) => {
    const before = await client.server('many-1');
    for (const [name, end] of [
      ['alone', 'confirmResize'],
      ['many-1', 'revertResize'],
    ] as const) {
      await client.act(name, { resize: { flavorRef: 'big' } });
      await areAll(client, [name], 'VERIFY_RESIZE');
      await client.act(name, { [end]: null });
      await areAll(client, [name], 'ACTIVE');
    }
    expect((await client.server('alone')).flavor.name).toBe('big');
    expect(await client.server('many-1')).toMatchObject({ host: before.host, flavor: { name: 'small' } });
  });

  step('migrates, cold and live', async (client) => {
    const [cold, live] = [await client.server('many-2'), await client.server('many-3')];
    await client.act('many-2', { migrate: null });
    await areAll(client, ['many-2'], 'VERIFY_RESIZE');
    await client.act('many-2', { confirmResize: null });
    await areAll(client, ['many-2'], 'ACTIVE');
    expect((await client.server('many-2')).host).not.toBe(cold.host);
    await client.act('many-3', { 'os-migrateLive': { host: null, block_migration: 'auto' } });
    await client.eventually(async () => {
      const { host } = await client.server('many-3');
      return host === live.host ? `many-3 is still on ${host}` : undefined;
    });
    await areAll(client, ['many-3'], 'ACTIVE');
  });

  step('shelves and unshelves', async (client) => {
    await client.act('many-1', { shelve: null });
    await areAll(client, ['many-1'], 'SHELVED_OFFLOADED');
    await holdsWhatServersNeed(client);
    await client.act('many-1', { unshelve: null });
    await areAll(client, ['many-1'], 'ACTIVE');
  });

  step('rebuilds with another image', async (client) => {
    const before = await client.server('many-2');
    await client.act('many-2', { rebuild: { imageRef: OTHER_IMAGE } });
    await client.eventually(async () => {
      const { image } = await client.server('many-2');
      return image === OTHER_IMAGE ? undefined : `the image is ${image}`;
    });
    await areAll(client, ['many-2'], 'ACTIVE');
    expect((await client.server('many-2')).host).toBe(before.host);
  });

  step('goes to an alternate when a build fails on its host', async (client) => {
    const removeZone = await client.createZone('brittle', [BRITTLE, 'h1']);
    await client.setEnabled(BRITTLE, true);
    // A scheduler may learn a second later that the host is enabled.
    await client.eventually(async () => {
      await client.boot('retried', 'small', IMAGE, { zone: 'brittle' });
      await areAll(client, ['retried'], 'ACTIVE');
      const hosts = await client.buildHosts('retried');
      await deleteAll(client, ['retried']);
      return hosts.join() === `${BRITTLE},h1` ? undefined : `it was built on ${hosts.join()}`;
    });
    await client.setEnabled(BRITTLE, false);
    await removeZone();
  });

  step('evacuates a dead host, which gives up what was evacuated once it is back', async (client) => {
    const { host: dead } = await client.server('alone');
    if (dead === null) throw new Error('alone has no host');
    const victims = (await client.servers()).filter(({ host }) => host === dead).map(({ name }) => name);
    await cloud().breakHost(dead);
    for (const name of victims) await client.act(name, { evacuate: {} });
    await areAll(client, victims, 'ACTIVE');
    const evacuated = (await client.servers()).filter(({ name }) => victims.includes(name));
    expect(evacuated.filter(({ host }) => host === dead)).toEqual([]);
    const also = Object.fromEntries(evacuated.map(({ id, flavor }) => [id, { [dead]: flavor.resources }]));
    await holdsWhatServersNeed(client, also);
    await cloud().repairHost(dead);
  });

  step('leaves no allocation when all servers are gone', async (client) => {
    await deleteAll(client, ['alone', ...OTHERS]);
    await client.eventually(async () => {
      const held = await client.holdings();
      return Object.keys(held).length === 0 ? undefined : `held: ${JSON.stringify(held)}`;
    });
    expect((await client.providers()).map(({ name }) => name).toSorted()).toEqual([BRITTLE, ...HOSTS]);
  });
}

/** Waits until servers have a status and nothing under way. */
export async function areAll(client: CloudClient, names: readonly string[], status: string): Promise<void> {
  await client.eventually(async () => {
    const servers = await client.servers();
    const wrong = names.flatMap((name) => {
      const server = servers.find((one) => one.name === name);
      if (server?.status === status && !server.isBusy) return [];
      return `${name} is ${server?.status}${server?.isBusy === true ? ', busy' : ''} ${server?.fault ?? ''}`;
    });
    return wrong.length === 0 ? undefined : `${wrong.join('; ')}: not ${status}`;
  });
}

/** Deletes servers, and waits until they are gone. */
export async function deleteAll(client: CloudClient, names: readonly string[]): Promise<void> {
  for (const name of names) await client.delete(name);
  await client.eventually(async () => {
    const left = (await client.servers()).filter(({ name }) => names.includes(name)).map(({ name }) => name);
    return left.length === 0 ? undefined : `${left.join(', ')} are there still`;
  });
}

/** Placement comes to hold just what servers need, on their hosts. @param also  what is held besides */
async function holdsWhatServersNeed(client: CloudClient, also: Holdings = {}): Promise<void> {
  await client.eventually(async () => {
    const expected = Object.fromEntries((await client.servers()).flatMap(needOf));
    for (const [id, more] of Object.entries(also)) expected[id] = { ...expected[id], ...more };
    const held = await client.holdings();
    if (isDeepStrictEqual(held, expected)) return undefined;
    return `held: ${JSON.stringify(held)}, expected: ${JSON.stringify(expected)}`;
  });
}

function needOf({ id, host, status, flavor }: CloudServer): [string, Holdings[string]][] {
  if (host === null || status === 'SHELVED_OFFLOADED' || status === 'ERROR') return [];
  return [[id, { [host]: flavor.resources }]];
}
