import { runCommand } from './command';

/** The result of a command line of `npm run sim`. */
export interface Served {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs the command lines that a parent sends, one after the other, and answers each. An exception ends the process. */
process.on('message', (args: readonly string[]) => {
  const lines: string[] = [];
  void runCommand(args, (text) => lines.push(`${text}\n`)).then((exitCode) => {
    process.send?.({ exitCode, output: lines.join('') } satisfies Served);
  });
});
process.on('disconnect', () => process.exit(0));
