import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BerthError } from '#libs/domain/errors';
import { environment } from '#libs/runtime/system';
import { freePort, serverFolder, startServer, type TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';

/*
 * Runs a folder of Placement's functional tests against Berth's API, on the memory store and on a private Redis:
 *
 *     npm run conformance -- --suite DIR [--only REGEX] [--store memory|redis]
 *
 * DIR has `run-gabbits` with its `gabbits/`, and may have `run-osc`. Before each file the API is restarted with
 * the configuration that the file needs. Exits 1 when a test fails.
 */
const USAGE = 'usage: npm run conformance -- --suite DIR [--only REGEX] [--store memory|redis]\n';
const CLI = join(__dirname, '../services/cli/main.js');

/** Settings of each profile of the suite, beside noauth. */
const PROFILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  default: {},
  'legacy-rbac': {},
  'secure-rbac': { BERTH_PLACEMENT_ENFORCE_NEW_DEFAULTS: 'true' },
  'open-policy': { BERTH_PLACEMENT_POLICY: 'open' },
  cors: {
    BERTH_PLACEMENT_CORS_ALLOWED_ORIGIN: 'http://valid.example.com',
    BERTH_PLACEMENT_CORS_ALLOW_HEADERS: 'openstack-api-version',
  },
};

async function main(): Promise<number> {
  const options = { suite: { type: 'string' }, only: { type: 'string' }, store: { type: 'string' } } as const;
  const { suite, only, store } = parseArgs({ options }).values;
  if (suite === undefined || !existsSync(join(suite, 'run-gabbits'))) {
    process.stderr.write(`${USAGE}DIR must have run-gabbits and gabbits/\n`);
    return 2;
  }
  const failed: string[] = [];
  for (const kind of ['memory', 'redis'] as const) {
    if (store !== undefined && store !== kind) continue;
    process.stdout.write(`\n== the placement API on ${kind === 'memory' ? 'the memory store' : 'a private Redis'}\n\n`);
    if (!(await runOn(kind, suite, only))) failed.push(kind);
  }
  process.stdout.write(failed.length === 0 ? '\neverything passes\n' : `\ntests fail on: ${failed.join(', ')}\n`);
  return failed.length === 0 ? 0 : 1;
}

async function runOn(kind: 'memory' | 'redis', suite: string, only: string | undefined): Promise<boolean> {
  const redis = kind === 'redis' ? await startRedis() : undefined;
  const api = new Api(redis?.url ?? 'memory:', await freePort());
  const control = createServer((request, response) => {
    const profile = (request.url ?? '').slice(1);
    api.restart(PROFILES[profile] ?? {}).then(
      () => response.writeHead(204).end(),
      (thrown: unknown) => response.writeHead(500).end(BerthError.from(thrown).message),
    );
  });
  try {
    await api.restart({});
    control.listen(0, '127.0.0.1');
    await once(control, 'listening');
    const { port } = control.address() as AddressInfo;
    const reset = ['--reset-url', `http://127.0.0.1:${port}/{profile}`];
    const filter = only === undefined ? [] : ['--only', only];
    const gabbits = ['--suite-dir', join(suite, 'gabbits'), '--url', api.url, ...reset, ...filter];
    const passed = [await run(join(suite, 'run-gabbits'), gabbits)];
    if (only === undefined && existsSync(join(suite, 'run-osc'))) {
      await api.restart({});
      passed.push(await run(join(suite, 'run-osc'), ['--url', api.url]));
    }
    return passed.every(Boolean);
  } finally {
    control.close();
    await api.stop();
    await redis?.stop();
  }
}

/** A placement API process, always on the same port. */
class Api {
  #server: TestServer | undefined;

  constructor(
    private readonly storeUrl: string,
    private readonly port: number,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Restarts it on a new, empty cell. */
  async restart(settings: Readonly<Record<string, string>>): Promise<void> {
    await this.stop();
    const { port, url } = this;
    this.#server = await startServer({
      name: 'the placement API',
      url,
      port,
      folder: serverFolder('placement-api'),
      command: process.execPath,
      args: [CLI, 'placement-api'],
      env: {
        ...environment(),
        BERTH_LOG_LEVEL: 'warn',
        BERTH_STORE_URL: this.storeUrl,
        BERTH_CELL: randomUUID(),
        BERTH_PLACEMENT_PORT: String(port),
        ...settings,
      },
      probe: { send: 'GET / HTTP/1.0\r\n\r\n', expect: 'HTTP/1.1 200' },
    });
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }
}

async function run(command: string, args: readonly string[]): Promise<boolean> {
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

main().then(
  (code) => process.exit(code),
  (thrown: unknown) => {
    process.stderr.write(`${BerthError.from(thrown).message}\n`);
    process.exit(1);
  },
);
