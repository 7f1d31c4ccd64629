import { realpath } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';
import { commandWords } from '../command-words';

/** The commands that instances may run. */
export interface CommandPolicy {
  /** The command of a request without one. */
  readonly command: readonly string[];
  /** Programs that a request may name. */
  readonly allowed: readonly string[];
}

/**
 * The command of an instance, as words that no shell expands. Requests may come from anybody, so they can only name
 * programs that the operator listed, compared by their real paths. Its arguments are not checked, which is why a shell
 * or an interpreter must not be listed.
 *
 * @throws BerthError `permission_denied / command_not_allowed`, `invalid_argument / malformed_command`.
 */
export async function commandFor(spec: RequestSpec, policy: CommandPolicy): Promise<readonly string[]> {
  const words = commandWords(spec);
  if (words === undefined) return policy.command;
  const [program = ''] = words;
  const [wantedPath, ...allowedPaths] = await Promise.all([program, ...policy.allowed].map(realPathOf));
  if (isAbsolute(program) && wantedPath !== undefined && allowedPaths.includes(wantedPath)) return words;
  throw new BerthError(
    'permission_denied',
    'command_not_allowed',
    `'${program}' is not among the programs that requests may run on this host (BERTH_AGENT_PROCESS_ALLOWED)`,
  );
}

async function realPathOf(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}
