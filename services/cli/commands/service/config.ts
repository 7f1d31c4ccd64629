import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { BerthError } from '#libs/domain/errors';
import { closestTo } from '#libs/domain/naming/known-names';
import { badConfig, hideSecret, type Option, type Options } from '#libs/runtime/config';
import { EXIT } from '#libs/runtime/exit-codes';
import type { Environment } from '#libs/runtime/system';
import { answerCommand, showAnswer } from '../../answers/answer';
import type { Context } from '../../context';
import { layersOf } from '../../contexts/contexts-file';
import { addHelp } from '../../help-text';
import { flagOf, showValue, unknownSettings } from '../../settings';
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
  const command = answerCommand('config')
    .argument('[name...]', 'only these: BERTH_BUS_URL, bus-url, or a part of the name')
    .option('--set', 'only settings with a value of their own', false)
    .option('--origin', 'the origin of each value: the environment, a file, a context, or the default', false);
  command.action(async (names, flags) => {
    const origin = await originsIn(context);
    const all = settingsTables.flatMap(({ of, options }) => settingsIn(of, options, context.env, origin));
    const each = all.filter(({ name }, i) => all.findIndex((other) => other.name === name) === i);
    const settings = meant(each, names).filter(({ isSet }) => isSet || !flags.set);
    await showAnswer(context, flags, async () => ({
      plain: settings,
      names: settings.map(({ name }) => name),
      draw: (terminal) => (flags.origin ? showOrigins(terminal, settings) : show(terminal, settings)),
    }));
    if (settings.some((setting) => setting.problem !== undefined)) context.exit(EXIT.usage);
    const unknown = names.length === 0 ? unknownSettings(context.env) : [];
    if (unknown.length > 0) throw badConfig(unknown);
  });
  return addHelp(command, [
    ['berth config', 'every setting'],
    ['berth config bus-url store', 'the bus URL, and all settings with store in their name'],
    ['BERTH_LOG_LEVEL=debug berth config --set', 'what is set here, and whether it is right'],
    ['berth config --set --origin', 'and where: the environment, berth.yaml, a file of berth.d, a context'],
  ]);
}

/**
 * The settings of these names, in either form, or with them as a part.
 *
 * @throws BerthError `not_found / no_such_setting` with the closest one.
 */
function meant(all: readonly Setting[], names: readonly string[]): readonly Setting[] {
  if (names.length === 0) return all;
  const found = names.flatMap((text) => {
    const part = text.replace(/^--/, '').toUpperCase().replaceAll('-', '_');
    const exact = all.filter(({ name }) => name === part || name === `BERTH_${part}`);
    const such = exact.length > 0 ? exact : all.filter(({ name }) => name.includes(part));
    if (such.length > 0) return such;
    const near = closestTo(
      part.startsWith('BERTH_') ? part : `BERTH_${part}`,
      all.map(({ name }) => name),
    );
    const message = `there is no setting '${text}'${near === undefined ? '' : `, did you mean ${near}?`}`;
    throw new BerthError('not_found', 'no_such_setting', message, { details: { hint: "'berth config' lists them" } });
  });
  return [...new Set(found)];
}

/** Where a setting's value is from. Flags of a command, which come first, are not seen here. */
async function originsIn({ outside }: Context): Promise<(name: string) => string> {
  const layers = await layersOf(outside);
  return (name) => {
    const given = outside[name];
    if (given !== undefined) return given === '' ? 'default' : 'environment';
    return layers.findLast(({ settings }) => settings[name] !== undefined)?.origin ?? 'default';
  };
}

function settingsIn(of: string, options: Options, env: Environment, origin: (name: string) => string) {
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
      origin: origin(option.env),
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

function showOrigins(terminal: Terminal, settings: readonly Setting[]): void {
  const rows = settings.map(({ name, value, origin }) => [name, value, origin]);
  terminal.print(table(terminal, ['NAME', 'NOW', 'FROM'], rows));
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
