import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { type IronicAuth, startIronic } from '#libs/testing/ironic/ironic-server';
import { type KeystoneServer, startKeystone } from '#libs/testing/servers/keystone';
import type { TestServer } from '#libs/testing/servers/server-process';
import { baremetalOptions } from '../../../services/compute-agent/drivers/baremetal/baremetal-options';
import { nodeSource } from '../../../services/compute-agent/drivers/baremetal/open-nodes';

/* The account with which an agent asks Ironic. */

let keystone: KeystoneServer;
let ironic: TestServer | undefined;

beforeAll(async () => {
  keystone = await startKeystone({ forks: true });
});
afterEach(async () => {
  await ironic?.stop();
  ironic = undefined;
});
afterAll(() => keystone?.stop());

async function list(auth: IronicAuth, settings: Readonly<Record<string, string>>) {
  ironic ??= await startIronic({ auth });
  const env = { BERTH_AGENT_NODES: `ironic+${ironic.url}`, ...settings };
  const source = nodeSource(readConfig(baremetalOptions, env), { clock: systemClock(), log: silentLog });
  return source.list(async () => []);
}

it("lists with a token of Keystone's, and not without", async () => {
  const auth = { kind: 'keystone', url: keystone.url, adminPassword: keystone.adminPassword } as const;
  const account = {
    BERTH_AGENT_IRONIC_KEYSTONE_URL: keystone.url,
    BERTH_AGENT_IRONIC_KEYSTONE_PROJECT: 'admin',
    BERTH_AGENT_IRONIC_USERNAME: 'admin',
    BERTH_AGENT_IRONIC_PASSWORD: keystone.adminPassword,
  };
  await expect(list(auth, account)).resolves.toEqual([]);
  await expect(list(auth, {})).rejects.toMatchObject({ reason: 'login_refused' });
  const wrong = { ...account, BERTH_AGENT_IRONIC_PASSWORD: 'wrong' };
  await expect(list(auth, wrong)).rejects.toMatchObject({ code: 'unavailable', reason: 'controller_away' });
});

it('lists with an account of http_basic, and not with another', async () => {
  const auth = { kind: 'http_basic' } as const;
  await expect(list(auth, { BERTH_AGENT_IRONIC_PASSWORD: 'secret' })).resolves.toEqual([]);
  await expect(list(auth, { BERTH_AGENT_IRONIC_PASSWORD: 'wrong' })).rejects.toMatchObject({ reason: 'login_refused' });
});
