import { type Command, Option as Flag } from 'commander';
import { type ConfigOf, type Options, readConfig, refuseUnknown } from '#libs/runtime/config';
import type { Environment } from '#libs/runtime/system';
import { settingsTables } from './settings-tables';

/** Gives a command a flag for each setting of a table: `BERTH_BUS_URL` is `--bus-url`. */
export function addSettingFlags(command: Command, options: Options): Command {
  command.optionsGroup('Settings (each is also an environment variable: --bus-url is BERTH_BUS_URL):');
  for (const option of Object.values(options)) {
    const shown = showValue(option.default);
    const unit = option.unit === '' ? '' : ` ${option.unit}`;
    const fallback = shown === '' ? '' : `, default ${shown}${unit}`;
    command.addOption(new Flag(`${flagOf(option.env)} <value>`, `${option.help} (${option.range}${fallback})`));
  }
  return command;
}

/**
 * Reads a table with flags before environment before defaults.
 *
 * @throws BerthError `invalid_argument / bad_config` with every problem.
 */
export function readSettings<O extends Options>(options: O, command: Command, env: Environment): ConfigOf<O> {
  refuseUnknownSettings(env);
  return readConfig(options, withFlags(options, command, env));
}

/** The environment with a command's flags laid over it: what a child process gets. */
export function withFlags(options: Options, command: Command, env: Environment): Environment {
  const flags: Record<string, unknown> = command.opts();
  const overlay: Record<string, string | undefined> = { ...env };
  for (const { env: name } of Object.values(options)) {
    const given = flags[new Flag(`${flagOf(name)} <value>`).attributeName()];
    if (typeof given === 'string') overlay[name] = given;
  }
  return overlay;
}

/** @throws BerthError `invalid_argument / bad_config` for `BERTH_*` names that are no setting of any part of Berth. */
export function refuseUnknownSettings(env: Environment): void {
  refuseUnknown(
    settingsTables.map(({ options }) => options),
    env,
  );
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
