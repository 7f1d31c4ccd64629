import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { environment } from '#libs/runtime/system';
import { type Child, startChild, writeCommand } from '#libs/testing/servers/child';
import { findBinary } from '#libs/testing/servers/find-binary';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { ownVirtualHost } from '../shared-servers';

/* Completions of each shell on a real fleet, by the shell itself. */

const BERTH = 'services/cli/main.ts';
const folder = mkdtempSync(join(tmpdir(), 'berth-completion-'));
const children: Child[] = [];
let servers: readonly Pick<TestServer, 'url' | 'stop'>[] = [];
let client: Client;
let uuid = '';

beforeAll(async () => {
  const [broker, redis] = await Promise.all([ownVirtualHost(), startRedis()]);
  servers = [broker, redis];
  const env = { BERTH_BUS_URL: broker.url, BERTH_STORE_URL: redis.url };
  for (const args of [['scheduler'], ['conductor'], ['compute-agent', '--host', 'rack', '--hosts', '3']]) {
    const child = startChild('services/cli/main.ts', args, env);
    children.push(child);
    await child.says('"running"');
  }
  client = await connect({ url: broker.url });
  const spec = { projectId: 'p', userId: 'u', resources: { VCPU: 1, MEMORY_MB: 64 } };
  const [event] = await client.buildAndWait({ spec, name: 'web' });
  uuid = event?.instanceUuid ?? '';
  writeCommand(join(folder, 'berth'), BERTH, { BERTH_BUS_URL: broker.url });
});
afterAll(async () => {
  await client?.close();
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(folder, { recursive: true });
});

/** The command that makes each shell complete the words after `berth`. */
const SHELLS: Readonly<Record<string, (words: readonly string[]) => readonly string[]>> = {
  bash: (words) => [
    '-c',
    `source <(berth completion bash); COMP_WORDS=(berth "$@"); COMP_CWORD=$#; _berth; printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
    ...words,
  ],
  zsh: (words) => [
    '-fc',
    'compadd() { print -rl -- $values }; source <(berth completion zsh); words=(berth "$@"); CURRENT=$#words; _berth',
    'zsh',
    ...words,
  ],
  fish: (words) => [
    '-c',
    `berth completion fish | source; complete -C '${['berth', ...words].join(' ')}' | string split -f1 \\t`,
  ],
};

describe.each(Object.entries(SHELLS))('%s', (shell, argsFor) => {
  function completed(...words: readonly string[]): string[] {
    const command = findBinary({ name: shell, folders: ['/usr/bin', '/bin'], debianPackage: shell });
    const env = { PATH: `${folder}:${environment()['PATH'] ?? ''}`, HOME: folder };
    const { stdout, stderr } = spawnSync(command, argsFor(words), { encoding: 'utf8', env });
    expect(stderr).toBe('');
    // With several completions bash shows their descriptions.
    const values = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ {2}.*/, ''));
    return values.sort();
  }

  it('completes commands', () => {
    expect(completed('instance', 'sh')).toEqual(['shelve', 'show']);
  });

  it('completes flags', () => {
    expect(completed('build', '--prio')).toEqual(['--priority']);
  });

  it('completes the names of hosts, as arguments and as values of flags', () => {
    expect(completed('host', 'show', 'rack-')).toEqual(['rack-1', 'rack-2', 'rack-3']);
    expect(completed('instance', 'list', '--host', 'rack-2')).toEqual(['rack-2']);
  });

  it('completes instances by their uuids', () => {
    expect(completed('instance', 'show', uuid.slice(0, 6))).toEqual([uuid]);
  });
});

it('finds an instance by its name, too', () => {
  // Nothing of the test's own environment: Berth refuses unknown settings.
  const env = { PATH: environment()['PATH'] ?? '', HOME: folder };
  const words = ['__complete', '--', 'instance', 'show', 'we'];
  const { stdout, stderr } = spawnSync(join(folder, 'berth'), words, { encoding: 'utf8', env });
  expect(stderr).toBe('');
  expect(stdout).toMatch(new RegExp(`^${uuid}\tweb ACTIVE rack-[123]\n$`));
});
