import { type Command, Option as Flag } from 'commander';
import { type ConfigOf, type Options, readConfig, refuseUnknown } from '#libs/runtime/config';
import type { Environment } from '#libs/runtime/system';
import { settingsTables } from './settings-tables';

const PREFIX = 'BERTH_';

/** The settings that a command reads, as variables and as flags. */
export interface Settings<O extends Options> {
  readonly options: O;
  /** `BERTH_AGENT_` for `berth compute-agent`: on its own command `BERTH_AGENT_HOSTS` is `--hosts`. */
  readonly ownPrefix?: string;
}

/** Gives a command a flag for each of its settings: `BERTH_BUS_URL` is `--bus-url`. */
export function addSettingFlags<O extends Options>(command: Command, { options, ownPrefix }: Settings<O>): Command {
  command.optionsGroup('Settings (flag before environment variable before default):');
  for (const option of Object.values(options)) {
    const shown = showValue(option.default);
    const fallback = shown === '' ? '' : `, default ${shown}${option.unit === '' ? '' : ` ${option.unit}`}`;
    const help = `${option.help} [${option.env}: ${option.range}${fallback}]`;
    command.addOption(new Flag(`${flagOf(option.env, ownPrefix)} <value>`, help));
  }
  return command;
}

/**
 * Reads a command's settings.
 *
 * @throws BerthError `invalid_argument / bad_config` with every problem.
 */
export function readSettings<O extends Options>(
  settings: Settings<O>,
  command: Command,
  env: Environment,
): ConfigOf<O> {
  refuseUnknownSettings(env);
  return readConfig(settings.options, withFlags(settings, command, env));
}

/** The environment with a command's flags laid over it: what a child process gets. */
export function withFlags<O extends Options>(settings: Settings<O>, command: Command, env: Environment): Environment {
  const flags: Record<string, unknown> = command.opts();
  const overlay: Record<string, string | undefined> = { ...env };
  for (const { env: name } of Object.values(settings.options)) {
    const given = flags[new Flag(flagOf(name, settings.ownPrefix)).attributeName()];
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
export function flagOf(env: string, ownPrefix = PREFIX): string {
  const prefix = env.startsWith(ownPrefix) ? ownPrefix : PREFIX;
  return `--${env.slice(prefix.length).toLowerCase().replaceAll('_', '-')}`;
}

/** A value of a setting as people read it. */
export function showValue(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
