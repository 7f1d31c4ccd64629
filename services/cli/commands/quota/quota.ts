import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import type { ProjectQuotaView } from '#libs/contracts/quotas';
import { isClassOrTraitName } from '#libs/domain/names';
import { hintFor, isResourceClass } from '#libs/domain/naming/known-names';
import { OTHER_LIMITS } from '#libs/domain/queueing/admission';
import { MAX_LIMIT, UNLIMITED } from '#libs/domain/quotas/quota';
import { answerCommand, showAnswer } from '../../answers/answer';
import { changes, noun } from '../../answers/declared';
import { ownProject, useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { compareClasses } from '../../views/fill';
import { formatNumber } from '../../views/format';
import { listingCommand, sorted } from '../../views/listing';
import { table } from '../../views/table';
import { repeatable } from '../repeatable-flag';
import { sharesCommand } from './shares';

type Limits = Readonly<Record<string, number>>;

const HEAD = ['CLASS', 'USED', 'LIMIT', 'OF', 'BORROWS', 'LENDS'];

const listing = {
  nameOf: ({ projectId }: ProjectQuotaView) => projectId,
  sorts: { cohort: ({ cohort }: ProjectQuotaView) => cohort },
};

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description("Show a project's limits and use; a tenant's own by default.")
    .option('--project <id>', 'of this project');
  useClient(context, command, (client, flags) => {
    const projectId = flags.project ?? ownProject(context, command);
    if (projectId === undefined) throw usageError('say whose quota', 'berth quota show --project ID');
    return showAnswer(context, flags, async () => {
      // Every named project has one.
      const [[quota], defaultLimits] = (await Promise.all([client.quotas(projectId), client.defaultLimits()])) as [
        [ProjectQuotaView],
        Limits,
      ];
      return {
        plain: { ...quota, defaultLimits },
        names: [quota.projectId],
        draw(terminal) {
          if (quota.cohort !== '') terminal.print(`cohort ${quota.cohort}\n`);
          terminal.print(table(terminal, HEAD, rowsOf(quota, defaultLimits)));
        },
      };
    });
  });
  return addHelp(command, [['berth quota show --project default', 'its limits, and what it holds of each class']]);
}

function listCommand(context: Context): CommandUnknownOpts {
  const command = listingCommand('list', listing)
    .description('List the limits and use of projects, and the default limits.')
    .option('--project <id>', 'of this project only');
  useClient(context, command, (client, flags) =>
    showAnswer(context, flags, async () => {
      const [found, defaultLimits] = await Promise.all([client.quotas(flags.project), client.defaultLimits()]);
      const projects = sorted(found, flags, listing);
      const rows = projects.flatMap((quota) =>
        rowsOf(quota, defaultLimits).map((row) => [quota.projectId, quota.cohort || '-', ...row]),
      );
      const defaults = Object.entries(defaultLimits).map(([name, limit]) => {
        return ['(default)', '-', name, '', limitOf(limit), 'default', '', ''];
      });
      return {
        plain: { projects, defaultLimits },
        names: projects.map(listing.nameOf),
        draw: (terminal) => terminal.print(table(terminal, ['PROJECT', 'COHORT', ...HEAD], [...rows, ...defaults])),
      };
    }),
  );
  return addHelp(command, [['berth quota list', 'every project that has limits or holds something']]);
}

const setCommand = changes({
  name: 'set',
  does: 'Set limits; the others stay.',
  takes: (command: Command) =>
    addSubject(command)
      .addOption(
        repeatable('--limit <CLASS=N>', 'a limit on a resource class or on instances; -1 is none', limitOfClass),
      )
      .addOption(
        repeatable('--borrow-limit <CLASS=N>', 'how much it may borrow from its cohort above its limit', borrowOfClass),
      )
      .addOption(repeatable('--lend-limit <CLASS=N>', 'how much of its limit it lends to its cohort', borrowOfClass))
      .option('--cohort <name>', 'a cohort, whose projects lend each other unused quota')
      .option('--no-cohort', 'leave its cohort'),
  async call(client, flags) {
    const { project, default: isDefault, limit, borrowLimit, lendLimit, cohort } = flags;
    const projectId = subjectOf(project, isDefault);
    if (limit.length + borrowLimit.length + lendLimit.length === 0 && cohort === undefined) {
      throw usageError('there is nothing to set', 'say --limit CLASS=N, --borrow-limit CLASS=N or --cohort NAME');
    }
    return client.setQuota(projectId, {
      limits: Object.fromEntries(limit),
      borrowLimits: Object.fromEntries(borrowLimit),
      lendLimits: Object.fromEntries(lendLimit),
      cohort: typeof cohort === 'string' ? cohort : cohort === false ? '' : undefined,
    });
  },
  print: printChanged,
  examples: [
    ['berth quota set --project default --limit VCPU=100 --limit MEMORY_MB=204800 --limit instances=50', 'limits'],
    ['berth quota set --project default --limit CUSTOM_GPU=4', 'four devices of a kind'],
    ['berth quota set --default --limit instances=10', 'for every project without a limit of its own'],
    [
      'berth quota set --project a --limit VCPU=100 --cohort lab --borrow-limit VCPU=50',
      'up to 150, while the members of lab stay within the sum of their limits',
    ],
    ['berth quota set --project a --lend-limit VCPU=20', 'of its 100, 80 are its own whatever others borrow'],
    [
      'berth quota set --project batch --limit reclaim=0',
      'what it borrows may be taken back from its instances of priorities up to 0, by whom it has it from',
    ],
    ['berth quota set --project a --limit weight=3', 'three times the fair share of a project without a weight'],
  ],
});

const unsetCommand = changes({
  name: 'unset',
  does: 'Remove limits, so that the defaults apply; without a class, all of them.',
  takes: (command: Command) => addSubject(command).argument('[classes...]', 'resource classes, or instances'),
  call: async (client, { project, default: isDefault }, classes) =>
    client.unsetQuota(subjectOf(project, isDefault), classes),
  print: printChanged,
  examples: [['berth quota unset --project default VCPU', 'the default limit on VCPU holds again']],
});

/** `berth quota show | list | shares | set | unset` */
export const quotaCommand = noun('quota', [showCommand, listCommand, sharesCommand, setCommand, unsetCommand]);

/** Adds the flags that say whose quota. */
export function addSubject<Args extends unknown[]>(command: Command<Args>) {
  return command
    .option('--project <id>', 'of this project')
    .option('--default', 'the default, for projects without a limit', false);
}

/** A project, undefined for the default. @throws BerthError `invalid_argument / usage` unless exactly one of the two is given. */
export function subjectOf(project: string | undefined, isDefault: boolean): string | undefined {
  if ((project === undefined) !== isDefault) throw usageError('say whose quota', 'add --project ID, or --default');
  return project;
}

function printChanged({ terminal }: Context, quota: ProjectQuotaView): void {
  const rows = rowsOf(quota, {});
  if (rows.length === 0) return terminal.print('No limits are left.');
  terminal.print(table(terminal, HEAD, rows));
}

/** A row per class with a limit or usage. */
function rowsOf({ limits, borrowLimits, lendLimits, used, cohort }: ProjectQuotaView, defaultLimits: Limits) {
  const names = new Set([...Object.keys(limits), ...Object.keys(used), ...Object.keys(defaultLimits)]);
  return [...names].sort(compareClasses).map((name) => {
    const limit = limits[name] ?? defaultLimits[name] ?? UNLIMITED;
    const of = limits[name] !== undefined ? 'project' : defaultLimits[name] !== undefined ? 'default' : '-';
    const borrows = cohort === '' || limit === UNLIMITED ? '-' : (borrowLimits[name] ?? 'what is free');
    const lends = cohort === '' || limit === UNLIMITED ? '-' : (lendLimits?.[name] ?? 'all');
    return [name, used[name] ?? 0, limitOf(limit), of, borrows, lends];
  });
}

function limitOf(limit: number): string {
  return limit === UNLIMITED ? 'none' : formatNumber(limit);
}

/** The parser of `CLASS=N`: a limit on a class, or on instances; -1 is none. */
export function limitOfClass(text: string): readonly [name: string, limit: number] {
  return classAndNumber(text, UNLIMITED);
}

function borrowOfClass(text: string): readonly [name: string, limit: number] {
  return classAndNumber(text, 0);
}

function classAndNumber(text: string, least: number): readonly [name: string, limit: number] {
  const [, name = '', number = ''] = /^([^=]+)=(-?\d+)$/.exec(text) ?? [];
  const limit = Number(number);
  const isName = OTHER_LIMITS.includes(name) || isResourceClass(name);
  if (!isName && isClassOrTraitName(name)) {
    throw new InvalidArgumentError(`There is no resource class '${name}'; ${hintFor(name, 'resource class')}.`);
  }
  if (isName && number !== '' && limit >= least && limit <= MAX_LIMIT) return [name, limit];
  throw new InvalidArgumentError(
    `It must be a resource class, ${OTHER_LIMITS.join(' or ')}, =, and a whole number from ${least} to ${MAX_LIMIT}.`,
  );
}
