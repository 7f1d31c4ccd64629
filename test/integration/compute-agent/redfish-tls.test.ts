import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { askOverHttp, trusting } from '#services/compute-agent/drivers/baremetal/redfish/redfish-http';

/* Controllers that speak TLS with certificates of an authority of their owner's, or with their own. */

const CERTIFICATES = join(__dirname, '../../../deploy/certificates.sh');
let folder: string;
const servers: Server[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-redfish-tls-'));
  execFileSync('sh', [CERTIFICATES, folder], { stdio: 'pipe' });
  for (const name of ['localhost', 'serial-4711']) selfSigned(name);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  rmSync(folder, { recursive: true });
});

const fileOf = (name: string) => join(folder, name);

function selfSigned(name: string): void {
  const files = ['-keyout', fileOf(`${name}.key`), '-out', fileOf(`${name}.crt`)];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, ...files];
  execFileSync('openssl', args, { stdio: 'pipe' });
}

/** The address of a controller that has this certificate. */
async function controllerWith(certificate: string): Promise<string> {
  const [cert, key] = ['crt', 'key'].map((part) => readFileSync(fileOf(`${certificate}.${part}`)));
  const server = createServer({ cert, key }, (_, answer) => answer.end('{"Id":"1"}'));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/redfish/v1`;
}

it.each([
  ['of an authority that is named', 'placement-api', 'ca.crt'],
  ['of its own that is named, whatever it calls itself', 'serial-4711', 'serial-4711.crt'],
])('asks a controller with a certificate %s', async (_, certificate, trusted) => {
  const ask = askOverHttp(fileOf(trusted));
  expect(await ask(await controllerWith(certificate), {}, 5_000)).toMatchObject({ status: 200, body: { Id: '1' } });
});

it.each([
  ['of an authority that nobody named', 'placement-api', undefined],
  ['of its own that nobody named', 'localhost', undefined],
  ['of its own, where another is named', 'localhost', 'serial-4711.crt'],
])('asks nothing of a controller with a certificate %s, and says where to name it', async (_, certificate, trusted) => {
  const ask = askOverHttp(trusted && fileOf(trusted));
  const asked = ask(await controllerWith(certificate), {}, 5_000);
  await expect(asked).rejects.toMatchObject({
    code: 'unavailable',
    reason: 'controller_away',
    message: expect.stringContaining('BERTH_AGENT_REDFISH_CA_FILE'),
  });
});

it('trusts what the machine trusts beside the certificates of the file', () => {
  const { ca } = trusting(fileOf('ca.crt'));
  expect(ca).toEqual(expect.arrayContaining([readFileSync(fileOf('ca.crt'), 'utf8'), rootCertificates[0]]));
});

it('says of a file without certificates what it is for', () => {
  const message = expect.stringContaining('BERTH_AGENT_REDFISH_CA_FILE must name certificates in PEM');
  for (const name of ['server.key', 'none']) {
    expect(() => askOverHttp(fileOf(name))).toThrow(expect.objectContaining({ reason: 'bad_config', message }));
  }
});
