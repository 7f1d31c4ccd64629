import { Command } from 'commander';
import type { PlacementClient } from '../../client/placement-client';
import type { UsagesByType } from '../../client/placement-documents';
import { parameter } from '../../client/placement-http';
import { findProvider, readStock } from '../../client/providers';
import { addPlacementFlags, placementFor } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { compareClasses } from '../../views/fill';
import { inventoryTable } from '../../views/inventory-table';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';

interface Flags {
  readonly project?: string;
  readonly user?: string;
  readonly type?: string;
  readonly provider?: string;
  readonly json: boolean;
}

/** `berth usage`: the usage of a project or of a provider. */
export function usageCommand(context: Context): Command {
  const command = new Command('usage')
    .description('Sum up what a project holds, by type of consumer, or what is in use of a provider.')
    .option('--project <id>', 'of this project')
    .option('--user <id>', 'only what this user of the project holds')
    .option('--type <TYPE>', 'only consumers of this type, such as INSTANCE; all sums them into one')
    .option('--provider <UUID|NAME>', 'of this provider, instead of a project')
    .option('--json', 'print one JSON value', false);
  addPlacementFlags(command).action(async () => {
    const flags = command.opts<Flags>();
    requireOneSubject(flags);
    const client = placementFor(context, command);
    if (flags.provider !== undefined) await ofProvider(context, client, flags.provider, flags.json);
    else await ofProject(context, client, flags);
  });
  return addHelp(command, [
    ['berth usage --project default', 'instances, migrations and others of a project'],
    ['berth usage --project default --user alice --type INSTANCE --json', "one user's instances, for a program"],
    ['berth usage --provider host-7', 'how full a provider is'],
  ]);
}

function requireOneSubject({ project, provider, user, type }: Flags): void {
  const hint = 'berth usage --project ID, or berth usage --provider UUID|NAME';
  if ((project === undefined) === (provider === undefined)) {
    throw usageError('say whose usage: that of one project or that of one provider', hint);
  }
  if (provider !== undefined && (user ?? type) !== undefined) {
    throw usageError('--user and --type belong to --project: usages of a provider have no user and no type', hint);
  }
}

async function ofProject({ terminal }: Context, client: PlacementClient, flags: Flags): Promise<void> {
  const { project, user, type } = flags;
  const usages = await client.projectUsages([
    ...parameter('project_id', project),
    ...parameter('user_id', user),
    ...parameter('consumer_type', type),
  ]);
  if (flags.json) return terminal.json({ usages });
  if (isNothing(usages)) return terminal.print(`Project ${project} has no such usage.`);
  terminal.print(usageTable(terminal, usages));
}

async function ofProvider(
  { terminal }: Context,
  client: PlacementClient,
  uuidOrName: string,
  json: boolean,
): Promise<void> {
  const [provider] = await readStock(client, [await findProvider(client, uuidOrName)]);
  if (provider === undefined) return;
  if (json) return terminal.json(provider);
  terminal.print(inventoryTable(terminal, provider));
}

function isNothing(usages: UsagesByType): boolean {
  return Object.values(usages).every(({ consumer_count: count }) => count === 0);
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
