import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Option, Options } from '#libs/runtime/config';
import { EXIT } from '#libs/runtime/exit-codes';
import type { Environment } from '#libs/runtime/system';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { flagOf, refuseUnknownSettings, showValue } from '../../settings';
import { settingsTables } from '../../settings-tables';
import { table } from '../../views/table';

/** What `--json` prints of a setting. */
type Setting = ReturnType<typeof settingsIn>[number];

const LONGEST_CELL = 36;

/** `berth config`: all settings, with their present values. */
export function configCommand(context: Context): CommandUnknownOpts {
  const command = new Command('config')
    .option('--set', 'only what is set here', false)
    .option('--json', 'print one JSON value', false)
    .action(({ set, json }) => {
      const all = settingsTables.flatMap(({ of, options }) => settingsIn(of, options, context.env));
      const settings = all
        .filter(({ name }, i) => all.findIndex((other) => other.name === name) === i)
        .filter(({ isSet }) => isSet || !set);
      if (json) context.terminal.json(settings);
      else show(context, settings);
      if (settings.some((setting) => setting.problem !== undefined)) context.exit(EXIT.usage);
      refuseUnknownSettings(context.env);
    });
  return addHelp(command, [
    ['berth config', 'every setting'],
    ['BERTH_LOG_LEVEL=debug berth config --set', 'what is set here, and whether it is right'],
  ]);
}

function settingsIn(of: string, options: Options, env: Environment) {
  return Object.values(options).map((option) => {
    const text = env[option.env];
    const isSet = text !== undefined && text !== '';
    const parsed = isSet ? option.parse(text) : { value: option.default };
    return {
      of,
      name: option.env,
      flag: flagOf(option.env),
      default: showValue(option.default),
      range: option.range,
      unit: option.unit,
      help: option.help,
      /** The present value; secrets hidden. */
      value: hide(option, isSet ? text : showValue(option.default)),
      isSet,
      problem: 'problem' in parsed ? parsed.problem : undefined,
    };
  });
}

function show({ terminal }: Context, settings: readonly Setting[]): void {
  const { bold, red, cyan, dim } = terminal.colours;
  for (const of of new Set(settings.map((setting) => setting.of))) {
    const rows = settings
      .filter((setting) => setting.of === of)
      .map((s) => {
        const now = s.problem === undefined ? (s.isSet ? cyan : dim)(clip(s.value)) : red(`${s.value} ${s.problem}`);
        return [s.name, now, clip(s.default), clip(s.range), s.unit, s.help];
      });
    terminal.print(`${bold(`Settings of ${of}`)}\n`);
    terminal.print(`${table(terminal, ['NAME', 'NOW', 'DEFAULT', 'RANGE', 'UNIT', 'WHAT IT DOES'], rows)}\n`);
  }
}

/** Shortens long lists; `--json` has them whole. */
function clip(text: string): string {
  return text.length <= LONGEST_CELL ? text : `${text.slice(0, LONGEST_CELL - 1)}…`;
}

/** Hides a secret; in an address only the password. */
function hide(option: Option<unknown>, value: string): string {
  if (!option.secret || value === '') return value;
  return /^[a-z]+:/.test(value) ? value.replace(/\/\/([^:@/]*):[^@/]*@/, '//$1:***@') : '***';
}
