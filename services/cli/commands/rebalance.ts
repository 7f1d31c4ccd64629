import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { HostSummary, InstanceView } from '#libs/contracts/messages';
import { capacityOf, type Resources } from '#libs/domain/inventory';
import { EXIT } from '#libs/runtime/exit-codes';
import { useClient } from '../client/with-client';
import type { Context } from '../context';
import { usageError } from '../failure';
import { addHelp } from '../help-text';
import { type Fleet, type Plan, planAdmit, planEmpty, planEvenOut } from '../rebalance/plan';
import { table } from '../views/table';
import { amountOfClass } from './build/request-flags';
import { repeatable } from './repeatable-flag';

/** `berth rebalance --plan`: the fewest moves that reach a goal. */
export function rebalanceCommand(context: Context): CommandUnknownOpts {
  const command = new Command('rebalance')
    .description('Plan the fewest moves that reach a goal: empty hosts, admit a request, even out.')
    .option('--plan', 'print the moves; nothing is changed', false)
    .addOption(repeatable('--empty <host>', 'nothing is left on this host', (text) => text))
    .addOption(repeatable('--admit <CLASS=N>', 'some host has room for so much', amountOfClass))
    .option('--even-out', 'the fullest and the emptiest hosts come closer', false)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { plan: isPlan, empty, admit, evenOut, json }) => {
    const goals = [empty.length > 0, admit.length > 0, evenOut].filter(Boolean).length;
    if (!isPlan || goals !== 1) {
      throw usageError('say --plan and one goal', 'berth rebalance --plan --empty host-7');
    }
    const [hosts, instances] = await Promise.all([client.hosts(), client.instances()]);
    const fleet = fleetOf(hosts, instances);
    const plan = planFor(fleet, { empty, admit: Object.fromEntries(admit) });
    if (json) context.terminal.json(plan);
    else show(context, plan, instances);
    if (plan.kind === 'impossible') context.exit(EXIT.failed);
  });
  return addHelp(command, [
    ['berth rebalance --plan --empty host-7 --empty host-8', 'where all of it would go'],
    ['berth rebalance --plan --admit VCPU=16 --admit MEMORY_MB=65536', 'what would have to move for that'],
    ['berth rebalance --plan --even-out', 'which moves bring the fullest and the emptiest hosts closer'],
  ]);
}

function planFor(fleet: Fleet, { empty, admit }: { empty: readonly string[]; admit: Resources }): Plan {
  if (empty.length > 0) return planEmpty(fleet, empty);
  return Object.keys(admit).length > 0 ? planAdmit(fleet, admit) : planEvenOut(fleet);
}

/**
 * By amounts alone: traits, groups and the like are for the scheduler to say when something is moved. Of what extra specs ask
 * beyond the request's resources, only the host knows.
 */
function fleetOf(hosts: readonly HostSummary[], instances: readonly InstanceView[]): Fleet {
  return {
    hosts: hosts.map(({ host, up, enabled, quarantinedUntilMs, resources }) => {
      const classes = Object.entries(resources);
      const capacity = Object.fromEntries(classes.map(([name, { inventory }]) => [name, capacityOf(inventory)]));
      const free = Object.fromEntries(classes.map(([name, { used }]) => [name, (capacity[name] ?? 0) - used]));
      return { name: host, isOpen: up && enabled && quarantinedUntilMs === 0, capacity, free };
    }),
    instances: instances
      .filter(({ host, state }) => host !== '' && state !== 'deleted' && state !== 'error')
      .map(({ uuid, host, state, migration, requestSpec }) => {
        const isMovable = state === 'active' && migration === undefined;
        return { uuid, host, resources: requestSpec.resources, isMovable };
      }),
  };
}

function show({ terminal }: Context, plan: Plan, instances: readonly InstanceView[]): void {
  if (plan.kind === 'impossible') return terminal.print(`there is no such plan: ${plan.why}`);
  if (plan.moves.length === 0) return terminal.print('nothing has to move');
  const names = new Map(instances.map(({ uuid, name }) => [uuid, name]));
  const rows = plan.moves.map(({ uuid, from, to }, n) => [n + 1, uuid, names.get(uuid) ?? '', from, to]);
  terminal.print(table(terminal, ['MOVE', 'INSTANCE', 'NAME', 'FROM', 'TO'], rows));
}
