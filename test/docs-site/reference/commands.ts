import { systemClock, systemRandom } from '#libs/runtime/system';
import { CATALOGUE, type Entry } from '../../../services/cli/catalogue';
import { runLine } from '../../../services/cli/testing/run-line';
import { createTerminal } from '../../../services/cli/views/terminal';
import { code, ofNoMachine } from './markdown';

/** Every command, under the headings of `berth --help`, as its `--help` says it. */
export async function commandsPage(): Promise<string> {
  const parts: string[] = [];
  for (const { heading, commands } of CATALOGUE) {
    parts.push(`## ${heading.replace(/:$/, '')}`);
    for (const entry of commands.filter(({ isHidden }) => !isHidden)) parts.push(...(await partsOf(entry)));
  }
  return `# Commands

What ${code('berth COMMAND --help')} says of each.

${parts.join('\n\n')}
`;
}

async function partsOf(entry: Entry): Promise<string[]> {
  const terminal = createTerminal(process.stdout, process.stderr, {});
  const interrupted = new AbortController().signal;
  const context = {
    env: {},
    outside: {},
    terminal,
    clock: systemClock(),
    random: systemRandom,
    interrupted,
    exit: () => {},
  };
  const lines = linesOf(await entry.load(context), entry.name);
  const parts: string[] = [];
  for (const line of lines) {
    const { out } = await runLine(`${line} --help`);
    parts.push(`### berth ${line}\n\n\`\`\`\n${ofNoMachine(out.trimEnd())}\n\`\`\``);
  }
  return parts;
}

interface HasCommands {
  readonly commands: readonly (HasCommands & { name(): string })[];
}

function linesOf({ commands }: HasCommands, line: string): string[] {
  return [line, ...commands.flatMap((one) => linesOf(one, `${line} ${one.name()}`))];
}
