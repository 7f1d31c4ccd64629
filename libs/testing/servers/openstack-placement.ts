import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from '../../runtime/system';
import { type Binary, findBinary } from './find-binary';
import { freePort, serverFolder, startServer, type TestServer } from './server-process';

const PLACEMENT: Binary = { name: 'placement-api', folders: ['/usr/bin'], debianPackage: 'python3-placement' };

/**
 * Starts a private OpenStack Placement (Debian's) on SQLite, with noauth: the token `admin` may do everything. It serves
 * one request at a time.
 *
 * @throws BerthError of `findBinary` and `startServer`.
 */
export async function startOpenstackPlacement(): Promise<TestServer> {
  const command = findBinary(PLACEMENT);
  const port = await freePort();
  const folder = serverFolder('openstack-placement');
  const config = [
    '[api]\nauth_strategy = noauth2',
    `[placement_database]\nconnection = sqlite:///${join(folder, 'placement.db')}\nsync_on_startup = true`,
    '',
  ];
  writeFileSync(join(folder, 'placement.conf'), config.join('\n'));
  const env = { PATH: environment()['PATH'], HOME: folder, OS_PLACEMENT_CONFIG_DIR: folder };
  const args = ['--host', '127.0.0.1', '--port', String(port)];
  const probe = { send: 'GET / HTTP/1.0\r\n\r\n', expect: 'HTTP/1.0 200' };
  const url = `http://127.0.0.1:${port}`;
  return startServer({ name: 'OpenStack Placement', url, port, folder, command, args, env, probe });
}
