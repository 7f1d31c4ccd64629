import { systemClock, systemRandom } from '#libs/runtime/system';
import { CATALOGUE } from '../../../services/cli/catalogue';
import type { Context } from '../../../services/cli/context';
import { runLine } from '../../../services/cli/testing/run-line';
import { createTerminal } from '../../../services/cli/views/terminal';
import { code, ofNoMachine, plain } from './markdown';

/**
 * Every command as its `--help` says it: a page for each, and a page that lists them under the headings of `berth --help`.
 * The names are of pages, without their ends: `commands`, `commands/host-drain`.
 */
export async function commandPages(): Promise<Readonly<Record<string, string>>> {
  const pages: Record<string, string> = {};
  const lists: string[] = [];
  for (const { heading, commands } of CATALOGUE) {
    lists.push(`## ${heading.replace(/:$/, '')}`);
    for (const entry of commands.filter(({ isHidden }) => !isHidden)) {
      const found = linesOf(await entry.load(contextOfBuild()), entry.name);
      for (const command of found) pages[`commands/${fileOf(command.line)}`] = await pageOf(command);
      lists.push(found.map(({ line, about }) => itemOf(line, about, 'commands/')).join('\n'));
    }
  }
  return {
    commands: `# Commands\n\nA page for each command, with what its ${code('--help')} says.\n\n${lists.join('\n\n')}\n`,
    ...pages,
  };
}

async function pageOf({ line, below }: Line): Promise<string> {
  const { out } = await runLine(`${line} --help`);
  const more = below.map(({ line: one, about }) => itemOf(one, about, '')).join('\n');
  const parts = [
    `# berth ${line}`,
    `\`\`\`\n${ofNoMachine(out.trimEnd())}\n\`\`\``,
    more,
    '[All commands](../commands.md)',
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function itemOf(line: string, about: string, folder: string): string {
  return `- [berth ${line}](${folder}${fileOf(line)}.md): ${plain(about)}`;
}

function fileOf(line: string): string {
  return line.replaceAll(' ', '-');
}

function contextOfBuild(): Context {
  const terminal = createTerminal(process.stdout, process.stderr, {});
  const interrupted = new AbortController().signal;
  return { env: {}, outside: {}, terminal, clock: systemClock(), random: systemRandom, interrupted, exit: () => {} };
}

/** A command with those below it. */
interface Line {
  readonly line: string;
  readonly about: string;
  readonly below: readonly Line[];
}

interface HasCommands {
  readonly commands: readonly (HasCommands & { name(): string })[];
  description(): string;
}

/** A command and all below it, each before its own. */
function linesOf(command: HasCommands, line: string): Line[] {
  const below = command.commands.map((one) => linesOf(one, `${line} ${one.name()}`));
  const [about = ''] = command.description().split('\n');
  return [{ line, about, below: below.flatMap((lines) => lines.slice(0, 1)) }, ...below.flat()];
}
