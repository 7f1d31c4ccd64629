import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { CATALOGUE } from '../../services/cli/catalogue';
import { takeGlobalFlags } from '../../services/cli/contexts/global-flags';
import { createTerminal } from '../../services/cli/views/terminal';
import { commandLines } from '../docs-site/command-lines';
import { readSources } from '../docs-site/repository';
import { pathsBelow } from './source-files';

/* Every command line of `berth` in a code block of any Markdown file: the command exists, and has those flags. */

const ROOT = join(__dirname, '../..');

const context = {
  env: {},
  outside: {},
  terminal: createTerminal(new PassThrough(), new PassThrough(), {}),
  clock: systemClock(),
  random: systemRandom,
  interrupted: new AbortController().signal,
  exit() {},
};

/** The problem of a command line; undefined when it has none. */
async function problemOf(line: string): Promise<string | undefined> {
  const typed = (line.split(/\s[|>&;]/)[0] ?? '').trim().split(/\s+/);
  const { args } = takeGlobalFlags(typed, {});
  if (args.length === 0 || args[0]?.startsWith('-')) return undefined;
  const entry = CATALOGUE.flatMap(({ commands }) => commands).find(({ name }) => name === args[0]);
  if (entry === undefined) return `no command ${args[0]}`;
  let command: CommandUnknownOpts = await entry.load(context);
  let rest = args.slice(1);
  for (;;) {
    const next = command.commands.find((one) => one.name() === rest[0]);
    if (next === undefined) break;
    command = next;
    rest = rest.slice(1);
  }
  if (command.commands.length > 0 && rest[0] !== undefined && !/^[-A-Z|]/.test(rest[0])) {
    return `no command ${args[0]} ${rest[0]}`;
  }
  const flags = rest.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0]);
  const known = ['--help', ...command.options.flatMap(({ long, short }) => [long, short])];
  const unknown = flags.find((flag) => !known.includes(flag));
  return unknown && `no flag ${unknown}`;
}

it('names commands and flags that there are', async () => {
  const found: string[] = [];
  const lines = commandLines(readSources(ROOT));
  for (const { path, typed } of lines) {
    const problem = await problemOf(typed);
    if (problem !== undefined) found.push(`${path}: berth ${typed}: ${problem}`);
  }
  expect(found).toEqual([]);
  expect(lines.length).toBeGreaterThan(100);
});

/** A command of two words, or in quotes, in a message, a hint or a comment of the sources. */
const NAMED = /(?<quote>['`]?)\bberth (?<command>[a-z][a-z-]*(?: [a-z][a-z-]*)?)/g;

/** Names that only look like one: the seed of a uuid. */
const NO_COMMANDS = ['nested'];

/** The name as far as it can be a command: the next word of a sentence is not part of it. */
async function problemOfName(name: string, isQuoted: boolean): Promise<string | undefined> {
  const [first = '', second = ''] = name.split(' ');
  const entry = CATALOGUE.flatMap(({ commands }) => commands).find((one) => one.name === first);
  if (entry === undefined) return isQuoted && !NO_COMMANDS.includes(first) ? `no command ${first}` : undefined;
  const command: CommandUnknownOpts = await entry.load(context);
  if (command.commands.length === 0 || second === '') return undefined;
  return command.commands.some((one) => one.name() === second) ? undefined : `no command ${name}`;
}

it('names in messages of the sources only commands that there are', async () => {
  const found: string[] = [];
  let count = 0;
  for (const path of pathsBelow('libs', 'services')) {
    if (path.includes('/generated/') || path.endsWith('.test.ts')) continue;
    for (const { groups } of readFileSync(join(ROOT, path), 'utf8').matchAll(NAMED)) {
      count++;
      const problem = await problemOfName(groups?.command ?? '', groups?.quote !== '');
      if (problem !== undefined) found.push(`${path}: berth ${groups?.command}: ${problem}`);
    }
  }
  expect(found).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

it('finds a name of no command', async () => {
  expect(await problemOfName('allocation list', false)).toBe('no command allocation list');
  expect(await problemOfName('hosts', true)).toBe('no command hosts');
});

it.each([
  ['hosts list', 'no command hosts'],
  ['host lst', 'no command host lst'],
  ['host list --sort name', 'no flag --sort'],
  ['host list --sort-by name --no-pager | head', undefined],
  ['--context prod host list -o wide', undefined],
])('finds what is wrong with %s', async (line, problem) => {
  expect(await problemOf(line)).toBe(problem);
});
