import { PassThrough } from 'node:stream';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { CATALOGUE } from './catalogue';
import { takeGlobalFlags } from './contexts/global-flags';
import { createTerminal } from './views/terminal';

/* Every example in every `--help`, parsed by its own command: there are such flags, arguments and values. */

const context = {
  env: {},
  outside: {},
  terminal: createTerminal(new PassThrough(), new PassThrough(), {}),
  clock: systemClock(),
  random: systemRandom,
  interrupted: new AbortController().signal,
  exit() {},
};

/** The command of this name, or all; none does anything but note that it was reached. */
async function parser(reached: () => void, named?: string): Promise<CommandUnknownOpts> {
  const program = new Command('berth') as CommandUnknownOpts;
  const entries = CATALOGUE.flatMap(({ commands }) => commands);
  for (const entry of entries.filter(({ name }) => (named ?? name) === name)) {
    program.addCommand(await entry.load(context));
  }
  const tame = (command: CommandUnknownOpts) => {
    command.exitOverride().configureOutput({ writeOut() {}, writeErr() {}, outputError() {} });
    if (command.commands.length === 0) command.action(reached);
    command.commands.forEach(tame);
  };
  tame(program);
  return program;
}

/** The lines after `$` in a help. */
function examplesIn(command: CommandUnknownOpts): string[] {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
  });
  command.outputHelp();
  return [...help.matchAll(/^ {2}\$ (.+)$/gm)].map(([, line = '']) => line);
}

async function examples(): Promise<string[]> {
  const program = await parser(() => {});
  const leaves = (command: CommandUnknownOpts): CommandUnknownOpts[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
  return leaves(program).flatMap(examplesIn);
}

/** The words of the command of berth in a line for a shell, without variables, quotes and what it is connected to. */
function wordsIn(line: string): string[] {
  const [, typed = ''] = /(?:^|[\s(])berth (.*?)\)?$/.exec(line) ?? [];
  const [command = ''] = typed.split(/ [|>&]/);
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
}

async function problemOf(line: string): Promise<string | undefined> {
  let isReached = false;
  const { args } = takeGlobalFlags(wordsIn(line), {});
  const program = await parser(() => {
    isReached = true;
  }, args[0]);
  try {
    await program.parseAsync(args, { from: 'user' });
    return isReached ? undefined : 'names no command';
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

it('is what its command takes', async () => {
  const lines = (await examples()).filter((line) => /\bberth /.test(line));
  expect(lines.length).toBeGreaterThan(120);
  const wrong: string[] = [];
  for (const line of lines) {
    const problem = await problemOf(line);
    if (problem !== undefined) wrong.push(`${line}: ${problem}`);
  }
  expect(wrong).toEqual([]);
}, 120_000);

it.each([
  ['berth placement-api --filters x', "error: unknown option '--filters'"],
  ['berth instance list --state nowhere', 'there is no state'],
  ['berth host drain', "error: missing required argument 'host'"],
])('finds what is wrong with %s', async (line, problem) => {
  expect(await problemOf(line)).toContain(problem);
});

it('takes a line of a shell that runs a command', async () => {
  expect(await problemOf('source <(berth completion bash)')).toBeUndefined();
});
