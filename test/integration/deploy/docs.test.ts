import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from '#libs/runtime/system';
import { type Child, startChild, writeCommand } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { ownVirtualHost } from '../../shared-servers';

/* The documentation's pages, as a reader types them: every line of a page's `sh` blocks, in one shell, on a broker and a store. */

const ROOT = join(__dirname, '../../..');
const DOCS = join(ROOT, 'services/console/docs');
const PAGES = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, commands: commandsOf(readFileSync(join(DOCS, path), 'utf8')) }))
  .filter(({ commands }) => commands.length > 0);
const BERTH = 'services/cli/main.ts';
/** Commands that run until Ctrl-C, and their output once they are up. */
const LASTING: readonly (readonly [command: RegExp, isUp: RegExp])[] = [
  [/^berth up\b/, /^compute-agent .*"msg":"running"/m],
  [/^berth demo --console/, /http:\/\/127\.0\.0\.1:\d+/],
];

const folder = mkdtempSync(join(tmpdir(), 'berth-tutorial-'));
const children: Child[] = [];
let servers: readonly Pick<TestServer, 'url' | 'stop'>[] = [];
let env: Record<string, string> = {};
let shell: ReturnType<typeof openShell> | undefined;

beforeAll(async () => {
  servers = await Promise.all([ownVirtualHost(), startRedis()]);
  env = {
    BERTH_BUS_URL: servers[0]?.url ?? '',
    BERTH_STORE_URL: servers[1]?.url ?? '',
    BERTH_AGENT_HOST: 'host',
    BERTH_PLACEMENT_PORT: '0',
    BERTH_CONSOLE_PORT: '0',
  };
  writeCommand(join(folder, 'berth'), BERTH);
});

afterAll(async () => {
  shell?.end();
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(folder, { recursive: true });
});

it('has commands in the tutorial and with the concepts', () => {
  const pages = PAGES.map(({ path, commands }) => `${path}: ${commands.length}`);
  expect(pages.length).toBeGreaterThan(4);
  expect(PAGES.find(({ path }) => path === 'tutorial.md')?.commands.length).toBeGreaterThan(15);
});

it.each(PAGES)('$path: does what it says, command by command', async ({ commands }) => {
  shell?.end();
  shell = openShell();
  for (const { line, exitCode } of commands) {
    const lasting = LASTING.find(([command]) => command.test(line));
    const outcome = await (lasting ? startLasting(line, lasting[1]) : shell.run(line));
    const said = outcome.exitCode === exitCode ? '' : outcome.said.slice(-MOST_SHOWN);
    expect({ line, exitCode: outcome.exitCode, said }).toEqual({ line, exitCode, said: '' });
  }
});

/** Characters of a command's output that a failure shows. */
const MOST_SHOWN = 4_000;

interface Outcome {
  readonly exitCode: number | null;
  readonly said: string;
}

interface Command {
  readonly line: string;
  /** 0, or the code in a comment after the command. */
  readonly exitCode: number;
}

function commandsOf(markdown: string): Command[] {
  const blocks = [...markdown.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text = '']) => text);
  const lines = blocks.flatMap((text) => text.trimEnd().split('\n'));
  return lines.map((text) => {
    const [, line = text, code = '0'] = /^(.*?)\s+# exit code (\d+)$/.exec(text) ?? [];
    return { line, exitCode: Number(code) };
  });
}

/** Resolves once it is up; a demo ends with Ctrl-C then, the others with the tests. */
async function startLasting(line: string, isUp: RegExp): Promise<Outcome> {
  // The demo has no server, so the others' settings are not for it.
  const isDemo = line.startsWith('berth demo');
  const child = startChild(BERTH, line.split(' ').slice(1), isDemo ? { BERTH_CONSOLE_PORT: '0' } : env);
  children.push(child);
  await child.says(isUp);
  if (!isDemo) return { exitCode: 0, said: '' };
  child.process.kill('SIGINT');
  const { code } = await child.exit;
  return { exitCode: code, said: child.stdout() + child.stderr() };
}

/** One shell for all commands, because some set a variable for later ones. */
function openShell() {
  const bash = spawn('bash', { cwd: ROOT, env: { PATH: `${folder}:${environment()['PATH'] ?? ''}`, ...env } });
  let said = '';
  let onSaid = () => {};
  for (const stream of [bash.stdout, bash.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      onSaid();
    });
  }
  return {
    run: (line: string) =>
      new Promise<Outcome>((resolve) => {
        said = '';
        onSaid = () => {
          const [, before = '', code] = /^([^]*)^done with (\d+)\n/m.exec(said) ?? [];
          if (code !== undefined) resolve({ exitCode: Number(code), said: before });
        };
        bash.stdin.write(`${line}\necho "done with $?"\n`);
      }),
    end: () => bash.stdin.end(),
  };
}
