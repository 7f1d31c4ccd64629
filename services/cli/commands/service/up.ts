import { Command } from 'commander';
import { EXIT } from '#libs/runtime/exit-codes';
import { addressOptions } from '#libs/runtime/options';
import { placementApiOptions } from '../../../placement-api/options';
import { requireServer } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings, withFlags } from '../../settings';
import { amount, wholeFrom } from '../number-flags';
import { type ChildService, startChildren } from './children';

const { host, port } = placementApiOptions;
const SETTINGS = { tables: { addresses: addressOptions, placementApi: { host, port } } };

/** `berth up`: every service on this machine, each as its own process. */
export function upCommand(context: Context): Command {
  const command = new Command('up')
    .description('Start every service on this machine, each as its own process, on the servers named.')
    .option('--schedulers <n>', 'schedulers', amount, 2)
    .option('--conductors <n>', 'conductors', amount, 2)
    .option('--placement-apis <n>', 'placement APIs, on BERTH_PLACEMENT_PORT and the ports after it', wholeFrom(0), 1)
    .option('--hosts <n>', 'fake hosts, carried by one compute agent', amount, 20);
  addSettingFlags(command, SETTINGS).action(() => up(context, command));
  return addHelp(
    command,
    [
      [
        'berth up --bus-url amqp://guest:guest@localhost:5672 --store-url redis://localhost:6379',
        'on your own servers',
      ],
      ['BERTH_AGENT_FAKE_FAILURE_RATE=0.1 berth up --hosts 100', 'settings go to all of them; one build in ten fails'],
    ],
    [[EXIT.failed, 'one of the services ended by itself; the others are stopped']],
  );
}

async function up(context: Context, command: Command): Promise<void> {
  const { addresses, placementApi } = readSettings(SETTINGS, command, context.env);
  requireServer(addresses.busUrl, 'BERTH_BUS_URL', 'amqp://user:password@localhost:5672');
  requireServer(addresses.storeUrl, 'BERTH_STORE_URL', 'redis://localhost:6379');
  const flags = command.opts<{ schedulers: number; conductors: number; placementApis: number; hosts: number }>();
  const apiPorts = portsOf(placementApi.port, flags.placementApis);
  const services: ChildService[] = [
    ...several('scheduler', flags.schedulers),
    ...several('conductor', flags.conductors),
    ...apiPorts.map((apiPort, i) => ({
      name: `placement-api-${i + 1}`,
      args: ['placement-api', '--port', String(apiPort)],
    })),
    { name: 'compute-agent', args: ['compute-agent', '--hosts', String(flags.hosts)] },
  ];
  const children = startChildren(context, services, withFlags(SETTINGS, command, context.env));
  for (const apiPort of apiPorts.filter((number) => number !== 0)) {
    context.terminal.note(
      `placement API: http://${placementApi.host}:${apiPort}, for 'berth provider tree' and others`,
    );
  }
  const interrupted = new Promise<'interrupted'>((resolve) => {
    context.interrupted.addEventListener('abort', () => resolve('interrupted'), { once: true });
  });
  const first = await Promise.race([children.ended, interrupted]);
  if (first !== 'interrupted') {
    context.terminal.note(`berth: ${first.name} ended by itself (${first.how}); stopping the others`);
    context.exit(EXIT.failed);
  }
  await children.stop();
}

/** Consecutive ports; for 0 each process takes a free one and logs it. */
function portsOf(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (first === 0 ? 0 : first + i));
}

function several(name: string, count: number): ChildService[] {
  return Array.from({ length: count }, (_, i) => ({ name: `${name}-${i + 1}`, args: [name] }));
}
