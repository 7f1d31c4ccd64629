import { CommanderError } from '@commander-js/extra-typings';
import { BerthError, type ErrorCode } from '#libs/domain/errors';
import { EXIT, exitCodeOf } from '#libs/runtime/exit-codes';
import type { Terminal } from './views/terminal';

/** An error in the command line, with a hint how to fix it. */
export function usageError(message: string, hint: string): BerthError {
  return new BerthError('invalid_argument', 'usage', message, { details: { hint } });
}

/**
 * Prints an error with a remedy, and returns the exit code:
 *
 * ```
 * berth: no process serves 'rpc.scheduler' now; nothing was done, retry once one runs (unavailable/no_such_queue)
 * hint: no such service has run on this broker yet; 'berth up' starts everything on this machine
 * ```
 */
export function reportFailure(thrown: unknown, terminal: Terminal): number {
  if (thrown instanceof CommanderError) return reportUsage(thrown, terminal);
  const error = BerthError.from(thrown);
  if (error.reason === 'interrupted') {
    terminal.note(`berth: ${error.message}`);
    return EXIT.interrupted;
  }
  const { red, bold, dim } = terminal.colours;
  terminal.note(`${bold(red('berth:'))} ${error.message} ${dim(`(${error.code}/${error.reason})`)}`);
  const hint = hintFor(error);
  if (hint !== undefined) terminal.note(`${bold('hint:')} ${hint}`);
  if (error.code === 'internal' && error.cause instanceof Error) terminal.note(dim(error.cause.stack ?? ''));
  return exitCodeOf(error);
}

/** Commander prints help and versions itself; its errors are one line, which may end with a suggestion. */
function reportUsage(error: CommanderError, terminal: Terminal): number {
  if (error.exitCode === 0) return EXIT.ok;
  if (error.code === 'commander.help') return EXIT.usage;
  const { red, bold } = terminal.colours;
  terminal.note(`${bold(red('berth:'))} ${error.message.replace(/^error: /, '').replaceAll('\n', ' ')}`);
  terminal.note(`${bold('hint:')} add --help to the command for its flags and examples`);
  return EXIT.usage;
}

const BY_REASON: Readonly<Record<string, string>> = {
  bad_config: "'berth config' lists every setting with its range and present value",
  queue_full: 'the services are behind; wait, or start more conductors and schedulers',
  no_such_queue: "no such service has run on this broker yet; 'berth up' starts everything on this machine",
  store_away: 'is Redis running, and is BERTH_STORE_URL right? nothing was done, so it is safe to ask again',
  store_full: "raise the store's maxmemory, and its memory first; what waits goes on by itself",
  no_such_host: "'berth host list' shows the hosts",
  no_such_zone: "'berth zone list' shows the zones",
  no_such_flavor: "'berth flavor list' shows the flavors",
  no_such_aggregate: "'berth aggregate list' shows the aggregates",
  no_such_group: "'berth group list' shows the groups",
  no_such_cell: "'berth cell list' shows the cells",
  no_such_provider: "'berth provider list' shows the providers",
  no_such_decision:
    'only the last decisions are kept, and not each one of a busy scheduler (BERTH_SCHEDULER_KEPT_DECISIONS); explain the request instead',
  malformed_uuid: "'berth instance list' shows the UUIDs",
  no_such_instance: "'berth instance list' shows the instances",
};

const BY_CODE: Partial<Record<ErrorCode, string>> = {
  unavailable: 'is it running, and is BERTH_BUS_URL right? nothing was done, so it is safe to ask again',
  deadline_exceeded: 'the outcome is not known; asking again is safe, every request is idempotent',
  aborted: 'somebody else was faster; ask again',
  invalid_argument: 'add --help to the command for what it takes',
  internal: 'this is a defect in Berth; the log of the services says more',
};

function hintFor(error: BerthError): string | undefined {
  return error.details['hint'] ?? BY_REASON[error.reason] ?? BY_CODE[error.code];
}
