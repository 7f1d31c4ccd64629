import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { STATE_NAMES, stateOfName } from '#libs/client/nova-states';
import { BerthError } from '#libs/domain/errors';
import type { InstanceState } from '#libs/domain/instance';

/** `--state`: a state in Nova's spelling, which completion offers; either case is accepted. */
export function stateFlag(help: string) {
  return new Option('--state <state>', `${help}, in either case`).choices(STATE_NAMES).argParser(parseState);
}

function parseState(text: string): InstanceState {
  try {
    return stateOfName(text);
  } catch (thrown) {
    throw new InvalidArgumentError(`${BerthError.from(thrown).message}.`);
  }
}

/** The parser of names in which `*` stands for anything: `web-*`. */
export function pattern(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[^A-Za-z0-9_]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
