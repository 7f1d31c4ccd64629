import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { CATALOGUE, type Entry } from '../../catalogue';
import type { Context } from '../../context';
import type { Candidate, Named } from './names';

/** The completions of a place: fixed words, or names of a kind; berth completes neither numbers nor files. */
export type Place =
  | { readonly kind: 'words'; readonly words: readonly Candidate[] }
  | { readonly kind: 'named'; readonly named: Named }
  | { readonly kind: 'unknown' };

const UNKNOWN: Place = { kind: 'unknown' };

/** The place of the last word; `words` are those after `berth`. */
export async function placeOf(context: Context, words: readonly string[]): Promise<Place> {
  const [first, ...others] = words;
  const entries = CATALOGUE.flatMap(({ commands }) => commands);
  const last = words.at(-1) ?? '';
  if (others.length === 0) return topLevel(entries, last);
  const entry = entries.find(({ name }) => name === first);
  return entry === undefined ? UNKNOWN : within(await entry.load(context), others);
}

function topLevel(entries: readonly Entry[], last: string): Place {
  if (last.startsWith('-'))
    return oneOf([
      ['--help', 'display help for command'],
      ['--version', 'print the version'],
    ]);
  return oneOf(entries.filter(({ isHidden }) => !isHidden).map(({ name, description }) => [name, description]));
}

function within(command: CommandUnknownOpts, given: readonly string[]): Place {
  const [first = '', ...others] = given;
  const subcommand = others.length > 0 ? command.commands.find((one) => one.name() === first) : undefined;
  if (subcommand) return within(subcommand, others);
  const last = given.at(-1) ?? '';
  const before = optionNamed(command, given.at(-2));
  if (before && takesValue(before)) return valueOf(before);
  if (last.startsWith('-')) return oneOf(command.options.filter(({ hidden }) => !hidden).map(flagOf));
  if (command.commands.length > 0) return oneOf(command.commands.map((one) => [one.name(), one.description()]));
  return argumentAt(command, positionals(command, given.slice(0, -1)));
}

function argumentAt(command: CommandUnknownOpts, position: number): Place {
  const all = command.registeredArguments;
  const argument = all[position] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
  if (argument === undefined) return oneOf(command.options.filter(({ hidden }) => !hidden).map(flagOf));
  if (argument.argChoices) return oneOf(argument.argChoices.map((choice) => [choice, '']));
  const name = argument.name();
  return named(name === 'name' ? (command.parent?.name() ?? '') : name);
}

/** The number of words that are neither flags nor their values. */
function positionals(command: CommandUnknownOpts, given: readonly string[]): number {
  let count = 0;
  for (const [i, word] of given.entries()) {
    const before = optionNamed(command, given[i - 1]);
    if (!word.startsWith('-') && !(before && takesValue(before))) count += 1;
  }
  return count;
}

function valueOf(option: Option): Place {
  if (option.argChoices) return oneOf(option.argChoices.map((choice) => [choice, '']));
  return named(option.long?.slice(2) ?? '');
}

/** Kinds by the name of an argument or a flag. */
const KINDS: Readonly<Record<string, Named>> = {
  host: 'host',
  empty: 'host',
  provider: 'host',
  uuid: 'instance',
  instance: 'instance',
  consumer: 'instance',
  node: 'node',
  flavor: 'flavor',
  zone: 'zone',
  group: 'group',
  aggregate: 'aggregate',
};

function named(name: string): Place {
  const kind = KINDS[name];
  return kind === undefined ? UNKNOWN : { kind: 'named', named: kind };
}

function optionNamed({ options }: CommandUnknownOpts, flag: string | undefined): Option | undefined {
  return flag?.startsWith('-') ? options.find(({ long, short }) => long === flag || short === flag) : undefined;
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** Variable and range of a setting appear in its help only. */
function flagOf({ long, short, description }: Option): Candidate {
  return [long ?? short ?? '', description.replace(/ \[BERTH_.*$/s, '')];
}

function oneOf(all: readonly Candidate[]): Place {
  return { kind: 'words', words: all };
}
