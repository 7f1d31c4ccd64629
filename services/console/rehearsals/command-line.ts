import { invalidArgument } from '#libs/domain/errors';
import { MAX_SEEDS } from '../api/rehearsals';

/** The texts of a form. */
export type Words = Readonly<Record<string, string>>;

/** The words of a command line after `berth rehearse`. */
export interface RehearsalLine {
  /** The operation: `drain`. */
  readonly name: string;
  readonly flags: readonly string[];
  /** Arguments behind the flags: names of hosts. */
  readonly args: readonly string[];
}

const MAX_NAMES = 500;
const MAX_NAME_LENGTH = 255;

/** Each operation of the form, by the name that the form sends. */
const OPERATIONS: Readonly<Record<string, (words: Words) => RehearsalLine>> = {
  drain: (words) => onHosts('drain', words, parallelOf(words)),
  lose: (words) => onHosts('lose', words, evacuationOf(words)),
  lose_each: (words) => ({
    name: 'lose',
    flags: [`--each=${nameOf(words, 'each')}`, ...evacuationOf(words)],
    args: [],
  }),
  disable: (words) => onHosts('disable', words),
  delete: (words) => onHosts('delete', words, parallelOf(words)),
  upgrade: (words) => onHosts('upgrade', words, [...numberFlag(words, 'stopped', 86_400), ...parallelOf(words)]),
  build: (words) => ({
    name: 'build',
    flags: [`--flavor=${nameOf(words, 'flavor')}`, ...numberFlag(words, 'count', 1_000)],
    args: [],
  }),
  flavor: (words) => ({
    name: 'flavor',
    flags: [
      ...pairsOf(words, 'extraSpecs').map((pair) => `--extra-spec=${pair}`),
      ...namesOf(words, 'unset').map((key) => `--unset=${key}`),
      ...numberFlag(words, 'count', 1_000),
    ],
    args: [nameOf(words, 'flavor')],
  }),
  quota: (words) => ({
    name: 'quota',
    flags: [isGiven(words, 'project') ? `--project=${nameOf(words, 'project')}` : '--default'],
    args: atLeastOne(pairsOf(words, 'limits'), 'limits'),
  }),
  rebalance: (words) => ({ name: 'rebalance', flags: goalOf(words), args: [] }),
  outage: (words) => ({
    name: 'outage',
    flags: numberFlag(words, 'seconds', 86_400),
    args: [oneOf(words, 'server', ['broker', 'store'])],
  }),
  traffic: () => ({ name: 'traffic', flags: [], args: [] }),
};

/**
 * The rehearsal that a form's texts ask for. No text becomes a flag of its own: names stand behind `--`, and values
 * behind the `=` of their flag. Of settings only those of placement may be set.
 *
 * @throws BerthError `invalid_argument / bad_rehearsal` with the field
 */
export function rehearsalLine(words: Words): RehearsalLine {
  const { operation = '' } = words;
  const operationOf = Object.hasOwn(OPERATIONS, operation) ? OPERATIONS[operation] : undefined;
  if (operationOf === undefined) throw bad('operation', `one of ${Object.keys(OPERATIONS).join(', ')}`);
  const { name, flags, args } = operationOf(words);
  const common = [
    ...numberFlag(words, 'seeds', MAX_SEEDS),
    ...numberFlag(words, 'traffic', 86_400),
    ...settingsOf(words).map((setting) => `--set=${setting}`),
  ];
  return { name, flags: [...flags, ...common], args };
}

/** The arguments of `berth`. */
export function argumentsOf({ name, flags, args }: RehearsalLine): readonly string[] {
  return ['rehearse', name, ...flags, ...(args.length > 0 ? ['--', ...args] : [])];
}

/** The command for people, who may paste it into a shell. */
export function shownLine(line: RehearsalLine): string {
  const quoted = argumentsOf(line).map((arg) =>
    /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`,
  );
  return ['berth', ...quoted].join(' ');
}

function onHosts(name: string, words: Words, flags: readonly string[] = []): RehearsalLine {
  const hosts = namesOf(words, 'hosts');
  const domains = pairsOf(words, 'in').map((pair) => `--in=${pair}`);
  const zone = isGiven(words, 'zone') ? [`--zone=${nameOf(words, 'zone')}`] : [];
  if (hosts.length + domains.length + zone.length === 0)
    throw bad('hosts', 'hosts, a zone, or metadata such as rack=r12');
  return { name, flags: [...domains, ...zone, ...flags], args: hosts };
}

function parallelOf(words: Words): readonly string[] {
  return numberFlag(words, 'parallel', 100);
}

function evacuationOf(words: Words): readonly string[] {
  return isGiven(words, 'evacuate') ? ['--evacuate'] : [];
}

function goalOf(words: Words): readonly string[] {
  switch (oneOf(words, 'goal', ['even-out', 'defragment', 'empty'])) {
    case 'even-out':
      return ['--even-out'];
    case 'defragment':
      return [`--defragment=${isGiven(words, 'moves') ? wholeOf(words, 'moves', 1_000) : 50}`];
    default:
      return atLeastOne(namesOf(words, 'hosts'), 'hosts').map((host) => `--empty=${host}`);
  }
}

const WEIGHT = /^[A-Z_]{1,40}=-?\d{1,4}(\.\d{1,4})?$/;

/** The settings of a rehearsal's schedulers that decide where instances go. */
function settingsOf(words: Words): readonly string[] {
  const { profile = '', weights = '' } = words;
  if (!/^[a-z]{0,20}$/.test(profile)) throw bad('profile', 'a profile of schedulers');
  const given = listOf(weights);
  if (!given.every((one) => WEIGHT.test(one))) throw bad('weights', 'NAME=NUMBER, separated by commas, as CPU=-1');
  return [
    ...(profile === '' ? [] : [`BERTH_SCHEDULER_PROFILE=${profile}`]),
    ...given.map((one) => `BERTH_SCHEDULER_WEIGHT_${one}`),
  ];
}

function isGiven(words: Words, field: string): boolean {
  return (words[field] ?? '').trim() !== '';
}

/** `--field=N`; nothing for an empty field, for which the command has a default. */
function numberFlag(words: Words, field: string, most: number): readonly string[] {
  return isGiven(words, field) ? [`--${field}=${wholeOf(words, field, most)}`] : [];
}

function wholeOf(words: Words, field: string, most: number): number {
  const text = (words[field] ?? '').trim();
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < 1 || value > most) throw bad(field, `a whole number from 1 to ${most}`);
  return value;
}

function oneOf(words: Words, field: string, values: readonly string[]): string {
  const value = words[field] ?? '';
  if (!values.includes(value)) throw bad(field, `one of ${values.join(', ')}`);
  return value;
}

function nameOf(words: Words, field: string): string {
  const [name, ...others] = namesOf(words, field);
  if (name === undefined || others.length > 0) throw bad(field, 'one name');
  return name;
}

function namesOf(words: Words, field: string): readonly string[] {
  const names = listOf(words[field] ?? '');
  if (names.length > MAX_NAMES || names.some((name) => name.length > MAX_NAME_LENGTH)) {
    throw bad(field, `at most ${MAX_NAMES} names of at most ${MAX_NAME_LENGTH} characters`);
  }
  return names;
}

function pairsOf(words: Words, field: string): readonly string[] {
  const pairs = namesOf(words, field);
  if (!pairs.every((pair) => /^[^=-][^=]*=./.test(pair))) throw bad(field, 'NAME=VALUE, separated by commas');
  return pairs;
}

function atLeastOne(texts: readonly string[], field: string): readonly string[] {
  if (texts.length === 0) throw bad(field, 'at least one, separated by commas');
  return texts;
}

function listOf(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ''))];
}

function bad(field: string, must: string) {
  return invalidArgument('bad_rehearsal', `${field} must be ${must}`, field);
}
