import { type CommandUnknownOpts, Option as Flag } from '@commander-js/extra-typings';
import { type ConfigsOf, type Option, readConfigs, type Tables, unknownNames } from '#libs/runtime/config';
import type { Environment } from '#libs/runtime/system';
import { settingsTables } from './settings-tables';

const PREFIX = 'BERTH_';

/** The settings that a command reads from variables and flags. */
export interface Settings<T extends Tables> {
  readonly tables: T;
  /** `BERTH_AGENT_` for `berth compute-agent`: on its own command `BERTH_AGENT_HOSTS` is `--hosts`. */
  readonly ownPrefix?: string;
}

/** Adds a flag for each setting to a command: `BERTH_BUS_URL` is `--bus-url`. */
export function addSettingFlags<C extends CommandUnknownOpts>(command: C, settings: Settings<Tables>): C {
  command.optionsGroup('Settings (flag before environment variable before default):');
  for (const option of optionsIn(settings.tables)) {
    const flag = new Flag(`${flagOf(option.env, settings.ownPrefix)} <value>`, `${option.help} [${option.range}]`);
    const shown = [showValue(option.default), option.unit].filter(Boolean).join(' ');
    command.addOption(flag.env(option.env).default(showValue(option.default) || undefined, shown));
  }
  return command;
}

/**
 * Reads a command's settings.
 *
 * @throws BerthError `invalid_argument / bad_config` with every problem.
 */
export function readSettings<T extends Tables>(
  settings: Settings<T>,
  command: CommandUnknownOpts,
  env: Environment,
): ConfigsOf<T> {
  return readConfigs(settings.tables, withFlags(settings, command, env), unknownSettings(env));
}

/**
 * The environment, overridden by a command's flags, for a child process. (Commander reads variables by itself, but only
 * this process's: a context adds others.)
 */
export function withFlags(settings: Settings<Tables>, command: CommandUnknownOpts, env: Environment): Environment {
  const overlay: Record<string, string | undefined> = { ...env };
  for (const { env: name } of optionsIn(settings.tables)) {
    const flag = new Flag(flagOf(name, settings.ownPrefix)).attributeName();
    if (command.getOptionValueSource(flag) === 'cli') overlay[name] = command.getOptionValue(flag) as string;
  }
  return overlay;
}

/** The problems of unknown `BERTH_*` names. */
export function unknownSettings(env: Environment): readonly string[] {
  return unknownNames(
    settingsTables.map(({ options }) => options),
    env,
  );
}

/** `BERTH_BUS_URL` as `--bus-url`. */
export function flagOf(env: string, ownPrefix = PREFIX): string {
  const prefix = env.startsWith(ownPrefix) ? ownPrefix : PREFIX;
  return `--${env.slice(prefix.length).toLowerCase().replaceAll('_', '-')}`;
}

/** Each option once: some are in several tables, such as the address of the store. */
function optionsIn(tables: Tables): Option<unknown>[] {
  const options = Object.values(tables).flatMap((table) => Object.values(table));
  return [...new Map(options.map((option) => [option.env, option])).values()];
}

/** A setting's value for people; '' when a profile decides it. */
export function showValue(value: unknown): string {
  const shown = Array.isArray(value) ? value.join(',') : String(value);
  return shown === 'undefined' ? '' : shown;
}
