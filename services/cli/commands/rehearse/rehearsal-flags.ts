import { availableParallelism } from 'node:os';
import { Command, type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { placementOptions } from '#libs/placement/options';
import { type Condition, KILL_KINDS, type KillKind, METRICS, parseCondition } from '../../../rehearsal/main';
import { addSettingFlags } from '../../settings';
import { keyAndValue } from '../build/request-flags';
import { amount } from '../number-flags';
import { RECORD_SETTINGS, RECORD_TABLES } from '../record/record-flags';
import { repeatable } from '../repeatable-flag';

/** Where a fleet is read from. */
export const STORE_SETTINGS = { tables: { placement: placementOptions } } as const;

const HOURS = 6;

/** A command that rehearses something with hosts, named or by their aggregates. */
export function hostsCommand(name: string, purpose: string) {
  return new Command(name)
    .description(purpose)
    .argument('[host...]', 'hosts')
    .addOption(repeatable('--in <NAME=VALUE>', 'hosts of aggregates with this metadata, as rack=r12', keyAndValue))
    .option('--zone <name>', 'hosts of this availability zone');
}

/**
 * Adds what every rehearsal takes, and the flags of the store. Their types are `RehearsalFlags`: to add them to those of a
 * command makes the compiler slow beyond use.
 */
export function addRehearsalFlags<C extends CommandUnknownOpts>(command: C): C {
  command
    .optionsGroup('Rehearsal:')
    .addOption(
      new Option('--from <file>', 'a fleet that berth rehearse save wrote, or - for stdin, instead of the store'),
    )
    .addOption(number('--seeds <n>', 'number of rehearsals, each with its own random seed', 20))
    .addOption(repeatable('--kill <kind>', `meanwhile, kill one repeatedly: ${KILL_KINDS.join(', ')}`, killKind))
    .addOption(
      repeatable('--set <NAME=VALUE>', 'a setting of its services, as BERTH_SCHEDULER_PROFILE=pack', keyAndValue),
    )
    .addOption(
      new Option(
        '--traffic <seconds>',
        'meanwhile, replay the last requests of tenants from a record of decisions, for this long; or none',
      )
        .argParser((text) => (text === 'none' ? 0 : amount(text)))
        .default(0, 'none'),
    )
    .addOption(number('--build-time <seconds>', 'duration of a build; by default as on record'))
    .addOption(number('--copy-time <seconds>', 'duration of the copy in a live migration'))
    .addOption(number('--limit <seconds>', 'time limit of a rehearsal, in rehearsed time', HOURS * 3_600))
    .addOption(number('--jobs <n>', 'threads', availableParallelism()))
    .addOption(
      repeatable('--fail-if <condition>', "exit with 1 if this holds in any rehearsal, as 'refused > 0'", condition),
    )
    .addOption(new Option('--svg <file>', 'draw the timelines'))
    .addOption(new Option('--json', 'print one JSON value').default(false));
  const tables = { ...STORE_SETTINGS.tables, ...RECORD_TABLES };
  return addSettingFlags(command, { ...RECORD_SETTINGS, tables });
}

function number(flags: string, help: string, value?: number): Option {
  return new Option(flags, help).argParser(amount).default(value);
}

function killKind(text: string): KillKind {
  const kind = KILL_KINDS.find((one) => one === text);
  if (kind === undefined) throw new InvalidArgumentError(`It must be one of ${KILL_KINDS.join(', ')}.`);
  return kind;
}

function condition(text: string): Condition {
  const parsed = parseCondition(text);
  if (parsed !== undefined) return parsed;
  throw new InvalidArgumentError(`It must be one of ${METRICS.join(', ')}, then >, >=, < or <=, then a number.`);
}

/** The parsed flags. */
export interface RehearsalFlags {
  readonly from?: string | undefined;
  readonly seeds: number;
  readonly kill: readonly KillKind[];
  readonly set: readonly (readonly [string, string])[];
  readonly traffic: number;
  readonly buildTime?: number | undefined;
  readonly copyTime?: number | undefined;
  readonly limit: number;
  readonly jobs: number;
  readonly failIf: readonly Condition[];
  readonly svg?: string | undefined;
  readonly json: boolean;
}
