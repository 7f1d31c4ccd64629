import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '#libs/runtime/exit-codes';

/** Exit codes of any command. */
const COMMON_EXITS: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.ok, 'done'],
  [EXIT.usage, 'a flag, a setting or the request is wrong'],
  [EXIT.unavailable, 'the bus or a service is away, or did not answer in time'],
  [EXIT.refused, 'refused: not found, full, or not allowed in the present state'],
  [EXIT.internal, 'a defect in Berth'],
  [EXIT.interrupted, 'ended by Ctrl-C'],
];

/** Adds examples (a line to type, its effect) and exit codes to the end of a command's help. */
export function addHelp(
  command: CommandUnknownOpts,
  examples: readonly (readonly [line: string, does: string])[],
  exits: readonly (readonly [code: number, meaning: string])[] = [],
): CommandUnknownOpts {
  const shown = examples.map(([line, does]) => `  # ${does}\n  $ ${line}`);
  const codes = [...COMMON_EXITS, ...exits]
    .sort(([a], [b]) => a - b)
    .map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`);
  return command.addHelpText('after', `\nExamples:\n${shown.join('\n')}\n\nExit codes:\n${codes.join('\n')}`);
}
