import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { hideSecret, type Option, type Options } from '#libs/runtime/config';
import { EXIT } from '#libs/runtime/exit-codes';
import type { Environment } from '#libs/runtime/system';
import { answerCommand, showAnswer } from '../../answers/answer';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { flagOf, refuseUnknownSettings, showValue } from '../../settings';
import { settingsTables } from '../../settings-tables';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';

/** A setting in the output of `--json`. */
type Setting = ReturnType<typeof settingsIn>[number];

/** Width of the text beside the names: at least, and without a terminal. */
const MIN_WIDTH = 30;
const MAX_WIDTH = 160;

/** `berth config`: all settings, with their present values. */
export function configCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('config').option('--set', 'only what is set here', false);
  command.action(async (flags) => {
    const all = settingsTables.flatMap(({ of, options }) => settingsIn(of, options, context.env));
    const settings = all
      .filter(({ name }, i) => all.findIndex((other) => other.name === name) === i)
      .filter(({ isSet }) => isSet || !flags.set);
    await showAnswer(context, flags, async () => ({
      plain: settings,
      names: settings.map(({ name }) => name),
      draw: (terminal) => show(terminal, settings),
    }));
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
    return {
      of,
      name: option.env,
      flag: flagOf(option.env),
      default: showValue(option.default),
      range: option.range,
      unit: option.unit,
      help: option.help,
      /** The present value; secrets hidden. */
      value: shown(option, isSet ? text : showValue(option.default)),
      isSet,
      problem: isSet ? option.schema.safeParse(text).error?.issues[0]?.message : undefined,
    };
  });
}

function show(terminal: Terminal, settings: readonly Setting[]): void {
  const { bold, red, cyan, dim } = terminal.colours;
  const nameWidth = Math.max(...settings.map(({ name }) => name.length));
  const width = Math.max(MIN_WIDTH, (terminal.columns ?? MAX_WIDTH) - nameWidth - 2);
  for (const of of new Set(settings.map((setting) => setting.of))) {
    const rows = settings
      .filter((setting) => setting.of === of)
      .map((s) => {
        const now = atCommas(s.value, width);
        const isDefault = s.problem === undefined && !s.isSet;
        const value = s.problem !== undefined ? `${red(now)}\n${red(s.problem)}` : isDefault ? dim(now) : cyan(now);
        const range = [s.range, s.unit].filter((part) => part !== '').join(', ');
        const facts = isDefault ? [] : [`default: ${atCommas(s.default, width - 9)}`];
        return [s.name, [value, `${s.help}${range === '' ? '' : ` (${range})`}`, ...facts].join('\n')];
      });
    terminal.print(`${bold(`Settings of ${of}`)}\n`);
    terminal.print(`${table(terminal, ['NAME', 'NOW'], rows)}\n`);
  }
}

/** A list without spaces, broken after commas. */
function atCommas(text: string, width: number): string {
  const lines = text.split(/(?<=,)/).reduce<string[]>((done, part) => {
    const last = done.at(-1);
    if (last !== undefined && last.length + part.length <= width) return [...done.slice(0, -1), last + part];
    return [...done, part];
  }, []);
  return lines.join('\n');
}

function shown({ secret }: Option<unknown>, value: string): string {
  return secret && value !== '' ? hideSecret(value) : value;
}
