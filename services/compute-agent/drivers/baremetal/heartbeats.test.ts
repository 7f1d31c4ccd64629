import { silentLog } from '#libs/runtime/log';
import { type Heartbeats, serveHeartbeats, signatureOf } from './heartbeats';

const SECRET = 'a secret of the images';
const MACHINE = '0badcafe-0000-4000-8000-000000000001';
let heartbeats: Heartbeats;

beforeEach(async () => {
  heartbeats = await serveHeartbeats({ host: '127.0.0.1', port: 0, secret: SECRET, log: silentLog });
});
afterEach(() => heartbeats.close());

const expectBoot = () => heartbeats.expect({ node: 'n1', systemId: () => MACHINE, device: 'Utilities' });
const at = (machine = MACHINE) => `${heartbeats.url}/v1/boots/${machine}`;
const say = (body: object) => fetch(at(), { method: 'POST', body: JSON.stringify(body) });
const nonceOf = async () => ((await (await fetch(at())).json()) as { nonce: string }).nonce;

it('takes the word of what has booted, signed with the secret', async () => {
  const boot = expectBoot();
  const signature = signatureOf(SECRET, MACHINE, 'Utilities', await nonceOf());
  expect((await say({ device: 'Utilities', signature })).status).toBe(200);
  expect(boot.word).toEqual({ kind: 'done' });
});

it('takes no word that is signed otherwise, or for an earlier boot', async () => {
  const first = expectBoot();
  const signature = signatureOf(SECRET, MACHINE, 'Utilities', await nonceOf());
  first.end();
  const boot = expectBoot();
  expect((await say({ device: 'Utilities', signature })).status).toBe(403);
  const forged = signatureOf('the secret of a tenant', MACHINE, 'Utilities', await nonceOf());
  expect((await say({ device: 'Utilities', signature: forged })).status).toBe(403);
  expect(boot.word).toEqual({ kind: 'none' });
});

it('takes an image that booted in place of the other as a failure, and an error for what it is', async () => {
  const boot = expectBoot();
  const nonce = await nonceOf();
  await say({ device: 'Pxe', signature: signatureOf(SECRET, MACHINE, 'Pxe', nonce) });
  expect(boot.word).toMatchObject({ kind: 'failed', why: expect.stringContaining('booted as Pxe') });
  await say({ device: 'Utilities', error: 'disk 2', signature: signatureOf(SECRET, MACHINE, 'Utilities', nonce) });
  expect(boot.word).toEqual({ kind: 'failed', why: 'disk 2' });
});

it('knows no machine whose boot nobody awaits, and one by its uuid in either order of bytes', async () => {
  expect((await fetch(at())).status).toBe(404);
  expectBoot();
  expect((await fetch(at('fecaad0b-0000-0040-8000-000000000001'))).status).toBe(200);
});
