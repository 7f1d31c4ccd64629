import type { Clock } from '#libs/domain/clock';
import type { Random } from '#libs/domain/random';
import type { Environment } from '#libs/runtime/system';
import type { Terminal } from './views/terminal';

/** What every command is given. */
export interface Context {
  /** What was set, and what the chosen context of the contexts file sets below it. */
  readonly env: Environment;
  /** What was set. */
  readonly outside: Environment;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts at Ctrl-C or SIGTERM; the command then stops what it started. */
  readonly interrupted: AbortSignal;
  /** Sets the exit code of a command that completes without an error. */
  exit(code: number): void;
}
