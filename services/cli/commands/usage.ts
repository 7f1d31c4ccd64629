import { Command } from 'commander';
import type { Context } from '../context';
import { usageError } from '../failure';
import type { UsagesByType } from '../placement/documents';
import { findProvider } from '../placement/find-provider';
import { inventoryTable } from '../placement/inventory-table';
import type { PlacementClient } from '../placement/placement-client';
import { parameter } from '../placement/placement-http';
import { stock } from '../placement/stock';
import { usageTable } from '../placement/usage-table';
import { addPlacementFlags, placementFor } from '../placement/with-placement';
import { teach } from '../teach';

interface Flags {
  readonly project?: string;
  readonly user?: string;
  readonly type?: string;
  readonly provider?: string;
  readonly json: boolean;
}

/** `berth usage`: what a project holds, or what is in use of a provider. */
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
  return teach(command, [
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
    throw usageError('--user and --type belong to --project: providers do not tell who uses them', hint);
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
  if (isNothing(usages)) return terminal.print(`Project ${project} holds nothing like that.`);
  terminal.print(usageTable(terminal, usages));
}

async function ofProvider(
  { terminal }: Context,
  client: PlacementClient,
  uuidOrName: string,
  json: boolean,
): Promise<void> {
  const [provider] = await stock(client, [await findProvider(client, uuidOrName)]);
  if (provider === undefined) return;
  if (json) return terminal.json(provider);
  terminal.print(inventoryTable(terminal, provider));
}

function isNothing(usages: UsagesByType): boolean {
  return Object.values(usages).every(({ consumer_count: count }) => count === 0);
}
