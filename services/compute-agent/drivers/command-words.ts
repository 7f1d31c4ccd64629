import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';

/** The extra spec with a request's command: a JSON array of words. */
export const COMMAND_SPEC = 'berth:command';

const MAX_WORDS = 256;

/**
 * The command of a request, as words that no shell expands; undefined without one.
 *
 * @throws BerthError `invalid_argument / malformed_command`.
 */
export function commandWords({ extraSpecs }: RequestSpec): readonly string[] | undefined {
  const text = extraSpecs[COMMAND_SPEC];
  if (text === undefined) return undefined;
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
