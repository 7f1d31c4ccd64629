import { realpath } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';

/** The extra spec by which a request gives its command: a JSON array of words. */
export const COMMAND_SPEC = 'berth:command';

const MAX_WORDS = 256;

/** What instances may run. */
export interface CommandPolicy {
  /** Of an instance whose request gives no command. */
  readonly command: readonly string[];
  /** Programs that a request may name. */
  readonly allowed: readonly string[];
}

/**
 * The command of an instance, as words that no shell expands. A request may come from anybody, so it can only name
 * programs that the operator listed, compared by their real paths. Its arguments are not checked, which is why a shell
 * or an interpreter must not be listed.
 *
 * @throws BerthError `permission_denied / command_not_allowed`, `invalid_argument / malformed_command`.
 */
export async function commandFor(spec: RequestSpec, policy: CommandPolicy): Promise<readonly string[]> {
  const wanted = spec.extraSpecs[COMMAND_SPEC];
  if (wanted === undefined) return policy.command;
  const words = parseWords(wanted);
  const [program = ''] = words;
  const [wantedPath, ...allowedPaths] = await Promise.all([program, ...policy.allowed].map(realPathOf));
  if (isAbsolute(program) && wantedPath !== undefined && allowedPaths.includes(wantedPath)) return words;
  throw new BerthError(
    'permission_denied',
    'command_not_allowed',
    `'${program}' is not among the programs that requests may run on this host (BERTH_AGENT_PROCESS_ALLOWED)`,
  );
}

function parseWords(text: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const isCommand =
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MAX_WORDS &&
    value.every((word) => typeof word === 'string' && !word.includes('\0'));
  if (isCommand) return value as string[];
  throw new BerthError(
    'invalid_argument',
    'malformed_command',
    `extra spec ${COMMAND_SPEC} must be a JSON array of 1 to ${MAX_WORDS} words, the first of them a program`,
  );
}

async function realPathOf(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}
