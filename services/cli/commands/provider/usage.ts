import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { answerCommand, showAnswer } from '../../answers/answer';
import { clientOptions } from '../../client/client-options';
import type { UsagesByType } from '../../client/placement-documents';
import { parameter } from '../../client/placement-http';
import { findProvider, readStock } from '../../client/providers';
import { usePlacement, withClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { addSettingFlags } from '../../settings';
import { compareClasses } from '../../views/fill';
import { inventoryTable } from '../../views/inventory-table';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { lastDay, sharedBy, showUsageSince, sinceDay } from './usage-since';

const HINT_SINCE = 'berth usage --since 7d --project ID';
const HINT = 'berth usage --project ID, or berth usage --provider UUID|NAME';

/** `berth usage`: the usage of a project or of a provider. */
export function usageCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('usage')
    .option('--project <id>', 'of this project')
    .option('--user <id>', 'only consumers of this user of the project')
    .option('--type <TYPE>', 'only consumers of this type, such as INSTANCE; all sums them into one')
    .option('--provider <UUID|NAME>', 'of this provider, instead of a project')
    .option(
      '--since <day>',
      'usage of projects on each day since then instead, in unit-seconds: a day (UTC), or 7d',
      sinceDay,
    )
    .option('--until <day>', 'with --since: up to and including this day (UTC)', lastDay)
    .option(
      '--csv',
      'with --since: as CSV for billing, a row for each project, day and class, in seconds and hours',
      false,
    )
    .option('--by <names>', 'with --since: split by user, flavor or instance, or several: user,flavor', sharedBy)
    .option('--total', 'with --since: all days in one', false);
  addSettingFlags(command, { tables: { client: { busUrl: clientOptions.busUrl } } });
  usePlacement(context, command, async (client, flags) => {
    const { project, user, type, provider, since, until, csv, by, total } = flags;
    if (since !== undefined) {
      if ((user ?? type ?? provider) !== undefined) throw usageError('--since goes with --project only', HINT_SINCE);
      return withClient(context, command, (bus) => showUsageSince(bus, context, { ...flags, since }));
    }
    if ((until ?? by) !== undefined || csv || total) {
      throw usageError('--until, --by, --total and --csv go with --since', HINT_SINCE);
    }
    if ((project === undefined) === (provider === undefined)) {
      throw usageError('say whose usage: that of one project or that of one provider', HINT);
    }
    if (provider !== undefined) {
      if ((user ?? type) !== undefined) {
        throw usageError('--user and --type belong to --project: usages of a provider have no user and no type', HINT);
      }
      return showAnswer(context, flags, async () => {
        const stocked = await readStock(client, await findProvider(client, provider));
        const draw = (terminal: Terminal) => terminal.print(inventoryTable(terminal, stocked));
        return { plain: stocked, names: [stocked.name], draw };
      });
    }
    return showAnswer(context, flags, async () => {
      const usages = await client.projectUsages([
        ...parameter('project_id', project),
        ...parameter('user_id', user),
        ...parameter('consumer_type', type),
      ]);
      const isNone = Object.values(usages).every((usage) => usage.consumer_count === 0);
      return {
        plain: { usages },
        names: Object.keys(usages),
        draw: (terminal) =>
          terminal.print(isNone ? `Project ${project} has no such usage.` : usageTable(terminal, usages)),
      };
    });
  });
  return addHelp(command, [
    ['berth usage --project default', 'instances, migrations and others of a project'],
    ['berth usage --project default --user alice --type INSTANCE --json', "one user's instances, for a program"],
    ['berth usage --provider host-7', 'how full a provider is'],
    ['berth usage --since 2026-11-01 --project default', 'what it held each day: VCPU-seconds and the like'],
    [
      'berth usage --since 2026-11-01 --until 2026-11-30 --csv',
      "a month of all projects, for billing: sums are the store's own",
    ],
    ['berth usage --since 2026-11-01 --project default --by user,flavor --total', 'who held it, and as which sizes'],
  ]);
}

/** One line per type of consumer and, for several types, their sum. */
function usageTable(terminal: Terminal, usages: UsagesByType): string {
  const { bold } = terminal.colours;
  const types = Object.entries(usages).sort(([a], [b]) => a.localeCompare(b));
  const keys = new Set(types.flatMap(([, amounts]) => Object.keys(amounts)));
  keys.delete('consumer_count');
  const classes = [...keys].sort(compareClasses);
  const rows = types.map(([type, amounts]) => [
    type,
    amounts.consumer_count,
    ...classes.map((resourceClass) => amounts[resourceClass] ?? 0),
  ]);
  const sums = ['consumer_count', ...classes].map((key) =>
    types.reduce((sum, [, amounts]) => sum + (amounts[key] ?? 0), 0),
  );
  if (rows.length > 1) rows.push([bold('together'), ...sums]);
  return table(terminal, ['CONSUMER TYPE', 'CONSUMERS', ...classes], rows);
}
