import type { Environment } from '#libs/runtime/system';
import { RETIRED, type Retired } from '../../retired-settings';
import { unknownSettings } from '../../settings';
import { settingsTables } from '../../settings-tables';
import type { Check } from './checks';

/**
 * Checks that this release knows what is set: options, and the filters, weighers and other values that they name. A service
 * of this release would not start with what it does not know.
 */
export function checkSettings(env: Environment, retired: readonly Retired[] = RETIRED): Check {
  const options = settingsTables.flatMap((table) => Object.values(table.options));
  const byName = new Map(options.map((option) => [option.env, option]));
  const wrong = [...byName.values()].flatMap((option) => {
    const set = env[option.env];
    const issues = set ? (option.schema.safeParse(set).error?.issues ?? []) : [];
    return issues.map(({ message }) => `${option.env} ${message}`);
  });
  const gone = retired.flatMap(({ env: name, value, since, instead }) => {
    const set = env[name];
    if (!set || (value !== undefined && !set.split(',').some((part) => part.trim() === value))) return [];
    return [`${value === undefined ? name : `'${value}' of ${name}`} is no more since ${since}: ${instead}`];
  });
  const known = new Set(retired.map(({ env: name }) => name));
  const others = Object.fromEntries(Object.entries(env).filter(([name]) => !known.has(name) || byName.has(name)));
  const details = [...gone, ...unknownSettings(others), ...wrong];
  return { check: 'Settings', result: details.length === 0 ? 'success' : 'failure', details };
}
