import type { Clock } from '#libs/domain/clock';
import type { Random } from '#libs/domain/random';
import type { Environment } from '#libs/runtime/system';
import type { Terminal } from './terminal';

/** What every command works with. */
export interface Context {
  readonly env: Environment;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts at Ctrl-C or SIGTERM; the command then ends what it started. */
  readonly interrupted: AbortSignal;
  /** Sets the exit code of a command that ran to its end. */
  exit(code: number): void;
}
