import type { Environment } from '#libs/runtime/system';
import { usageError } from '../failure';

const FLAGS: Readonly<Record<string, string>> = { '--context': 'BERTH_CONTEXT', '--config': 'BERTH_CONFIG' };
/** Flags without a value, and the variables that they set. */
const SWITCHES: Readonly<Record<string, readonly [name: string, value: string]>> = { '--no-pager': ['PAGER', 'cat'] };

/**
 * Moves `--context NAME`, `--config FILE` and `--no-pager`, which every command accepts, from a command line (before
 * any `--`) into the environment.
 *
 * @throws BerthError `invalid_argument / usage` for a missing value.
 */
export function takeGlobalFlags(args: readonly string[], env: Environment): { args: string[]; env: Environment } {
  const end = args.indexOf('--');
  const before = end === -1 ? args : args.slice(0, end);
  const left: string[] = [];
  const given: Record<string, string> = {};
  for (let i = 0; i < before.length; i++) {
    const word = before[i] ?? '';
    const [flag = '', ...value] = word.split('=');
    const name = FLAGS[flag];
    const onOff = SWITCHES[word];
    if (onOff !== undefined) given[onOff[0]] = onOff[1];
    else if (name === undefined) left.push(word);
    else {
      const said = value.length > 0 ? value.join('=') : before[++i];
      if (!said) throw usageError(`${flag} needs a value`, `as in 'berth ${flag} NAME host list'`);
      given[name] = said;
    }
  }
  return { args: [...left, ...args.slice(before.length)], env: { ...env, ...given } };
}
