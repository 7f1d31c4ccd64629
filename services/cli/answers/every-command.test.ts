import { PassThrough } from 'node:stream';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { parse } from 'yaml';
import { systemRandom } from '#libs/runtime/system';
import { fakeClock } from '#libs/testing/fake-clock';
import { CATALOGUE } from '../catalogue';
import type { Context } from '../context';
import { runBerth } from '../program';
import { runLine } from '../testing/run-line';
import { createTerminal } from '../views/terminal';
import { showAnswer } from './answer';

/* Rules for every command that shows objects. */

const VERBS = ['list', 'show', 'tree'];
const SHOWING = ['usage', 'candidates', 'config', 'audit', 'build', 'explain'];

const context: Context = {
  env: {},
  outside: {},
  terminal: createTerminal(new PassThrough(), new PassThrough(), {}),
  clock: fakeClock(),
  random: systemRandom,
  interrupted: new AbortController().signal,
  exit() {},
};

/** Every command without subcommands, by its full name. */
async function leaves(): Promise<ReadonlyMap<string, CommandUnknownOpts>> {
  const found = new Map<string, CommandUnknownOpts>();
  const walk = (command: CommandUnknownOpts, name: string) => {
    if (command.commands.length === 0) found.set(name, command);
    for (const one of command.commands) walk(one, `${name} ${one.name()}`);
  };
  for (const entry of CATALOGUE.flatMap(({ commands }) => commands)) walk(await entry.load(context), entry.name);
  return found;
}

const choicesOf = (command: CommandUnknownOpts, flag: string) =>
  command.options.find(({ long }) => long === flag)?.argChoices;

it('has --output and --json wherever something is listed or shown, and order and --watch for lists', async () => {
  const all = await leaves();
  const showing = [...all].filter(([name]) => SHOWING.includes(name) || VERBS.includes(name.split(' ').at(-1) ?? ''));
  expect(showing.length).toBeGreaterThan(20);
  for (const [name, command] of showing) {
    expect([name, choicesOf(command, '--output')]).toEqual([name, ['table', 'wide', 'json', 'yaml', 'name']]);
    const flags = command.options.map(({ long }) => long);
    expect([name, flags]).toEqual([name, expect.arrayContaining(['--json'])]);
    if (!name.endsWith(' list')) continue;
    expect([name, flags]).toEqual([name, expect.arrayContaining(['--sort-by', '--reverse', '--watch'])]);
    expect([name, choicesOf(command, '--sort-by')?.[0]]).toEqual([name, 'name']);
  }
  const withAge = ['instance', 'host', 'node', 'flavor', 'group', 'aggregate', 'cell'];
  for (const kind of withAge) {
    const command = all.get(`${kind} list`) as CommandUnknownOpts;
    expect([kind, choicesOf(command, '--sort-by')]).toEqual([kind, expect.arrayContaining(['age'])]);
  }
});

it.each(['json', 'yaml'] as const)('names instances by uuid in %s, wherever they stand', async (output) => {
  const out = new PassThrough();
  const terminal = createTerminal(out, new PassThrough(), {});
  const plain = [{ host: 'node-1', instanceUuid: 'a', moves: [{ instanceUuids: ['b', 'c'] }] }];
  const answer = { plain, names: [], draw() {} };
  await showAnswer({ ...context, terminal }, { output, json: false }, async () => answer);
  expect(parse(String(out.read()))).toEqual([{ host: 'node-1', uuid: 'a', moves: [{ uuids: ['b', 'c'] }] }]);
});

it.each([60, 80, 100])('has berth config fit a terminal of %i columns, with every default whole', async (columns) => {
  const out = Object.assign(new PassThrough(), { isTTY: true, columns, rows: 50 });
  const env = { NO_COLOR: '1', PAGER: 'cat', TERM: 'xterm' };
  const { interrupted, clock, random } = context;
  const terminal = createTerminal(out, new PassThrough(), env);
  expect(await runBerth(['config'], { env, terminal, clock, random, interrupted })).toBe(0);
  const text = String(out.read());
  expect(text.split('\n').filter((line) => line.length > columns)).toEqual([]);
  expect(text).not.toContain('…');
  const settings = JSON.parse((await runLine('config --json')).out) as readonly {
    readonly name: string;
    readonly default: string;
    readonly value: string;
  }[];
  const flat = text.replaceAll(/\s+/g, '');
  const cut = settings.filter(
    // Secret defaults hide their password.
    (setting) => setting.value !== '***' && !flat.includes(setting.default.replaceAll(/\s+/g, '')),
  );
  expect(cut.map(({ name }) => name)).toEqual([]);
});
