import { Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { sleep } from '#libs/domain/clock';
import type { Context } from '../context';
import { withProgramKeys } from '../views/program-keys';
import type { Terminal } from '../views/terminal';
import { collecting } from './collecting';
import { showLong } from './pager';

/** A command's answer, for people and for programs. */
export interface Answer {
  /** For `--output json` and `yaml`. */
  readonly plain: unknown;
  /** For `--output name`: the names that other commands accept. */
  readonly names: readonly string[];
  /** Prints it for people; wide includes all columns. */
  draw(terminal: Terminal, isWide: boolean): void;
}

/** Parsed flags of `answerCommand`. */
export interface AnswerFlags {
  readonly output: (typeof FORMS)[number];
  readonly json: boolean;
}

const FORMS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
const WATCH_MS = 2_000;

/** A command with an answer: adds `--output` and `--json`. */
export function answerCommand(name: string) {
  return addAnswerFlags(new Command(name));
}

/** Adds the flags of an answer to a command with others. */
export function addAnswerFlags<Args extends unknown[], Flags extends OptionValues>(command: Command<Args, Flags>) {
  return command
    .addOption(new Option('-o, --output <form>', 'output format').choices(FORMS).default('table' as const))
    .option('--json', 'print one JSON value: --output json', false);
}

/** Reads an answer and shows it in the form of the flags, once or, with `watch`, repeatedly until Ctrl-C. */
export async function showAnswer(
  { terminal, clock, interrupted, env }: Pick<Context, 'terminal' | 'clock' | 'interrupted' | 'env'>,
  flags: AnswerFlags & { readonly watch?: boolean },
  read: () => Promise<Answer>,
): Promise<void> {
  const { screen } = terminal;
  const form = flags.json ? 'json' : flags.output;
  const isForPeople = form === 'table' || form === 'wide';
  for (;;) {
    const answer = await read();
    if (!isForPeople) await print(answer);
    else {
      const { text, notes } = collecting(terminal, (collector) => answer.draw(collector, form === 'wide'));
      if (flags.watch && screen !== undefined) screen.draw(text.split('\n'));
      else if (flags.watch) terminal.print(text);
      else await showLong(terminal, text, env);
      for (const note of notes) terminal.note(note);
    }
    if (!flags.watch) return;
    try {
      await sleep(clock, WATCH_MS, interrupted);
    } finally {
      if (interrupted.aborted) screen?.end();
    }
    if (interrupted.aborted) return;
  }

  async function print({ plain, names }: Answer): Promise<void> {
    if (form === 'json') return terminal.json(plain);
    if (form === 'name') return terminal.print(names.join('\n'));
    const { stringify } = await import('yaml');
    terminal.print(stringify(plain, withProgramKeys).trimEnd());
  }
}
