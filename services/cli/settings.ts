import { type Command, Option as Flag } from 'commander';
import { type ConfigOf, type Options, readConfig, refuseUnknown } from '#libs/runtime/config';
import type { Environment } from '#libs/runtime/system';
import { settingsTables } from './settings-tables';

/** Gives a command a flag for each setting of a table: `BERTH_BUS_URL` is `--bus-url`. */
export function addSettingFlags(command: Command, options: Options): Command {
  command.optionsGroup('Settings (each is also an environment variable, BERTH_...):');
  for (const option of Object.values(options)) {
    const fallback = option.default === '' ? '' : ` (default ${showValue(option.default)}${unitOf(option.unit)})`;
    command.addOption(new Flag(`${flagOf(option.env)} <value>`, `${option.help} [${option.range}]${fallback}`));
  }
  return command;
}

/**
 * Reads a table with flags before environment before defaults.
 *
 * @throws BerthError `invalid_argument / bad_config` with every problem, unknown `BERTH_*` names among them.
 */
export function readSettings<O extends Options>(options: O, command: Command, env: Environment): ConfigOf<O> {
  refuseUnknown(
    settingsTables.map((entry) => entry.options),
    env,
  );
  const flags: Record<string, unknown> = command.opts();
  const overlay: Record<string, string | undefined> = { ...env };
  for (const option of Object.values(options)) {
    const given = flags[attributeOf(option.env)];
    if (typeof given === 'string') overlay[option.env] = given;
  }
  return readConfig(options, overlay);
}

/** `BERTH_BUS_URL` as `--bus-url`. */
export function flagOf(env: string): string {
  return `--${env
    .replace(/^BERTH_/, '')
    .toLowerCase()
    .replaceAll('_', '-')}`;
}

/** A value of a setting as people read it. */
export function showValue(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}

function attributeOf(env: string): string {
  return new Flag(`${flagOf(env)} <value>`).attributeName();
}

function unitOf(unit: string): string {
  return unit === '' ? '' : ` ${unit}`;
}
