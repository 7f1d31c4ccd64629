import type { Clock } from '#libs/domain/clock';
import type { Random } from '#libs/domain/random';
import type { Environment } from '#libs/runtime/system';
import type { Terminal } from './views/terminal';

/** Dependencies of every command. */
export interface Context {
  /** The process's settings over those of the selected context in the contexts file. */
  readonly env: Environment;
  /** The process's settings alone. */
  readonly outside: Environment;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts at Ctrl-C or SIGTERM; the command then stops everything that it started. */
  readonly interrupted: AbortSignal;
  /** Sets the exit code of a command that completes without an error. */
  exit(code: number): void;
}
