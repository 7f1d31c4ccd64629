import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { busOptions } from '#libs/bus/options';
import { placementOptions } from '#libs/placement/options';
import { EXIT } from '#libs/runtime/exit-codes';
import { addressOptions } from '#libs/runtime/options';
import { consoleOptions } from '../../../console/options';
import { placementApiOptions } from '../../../placement-api/options';
import { requireServer } from '../../client/require-server';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings, withFlags } from '../../settings';
import { amount, wholeFrom } from '../number-flags';
import { awaitServers } from './await-servers';
import { type ChildService, startChildren } from './children';

const { host, port } = placementApiOptions;
const { host: consoleHost, port: consolePort } = consoleOptions;
const SETTINGS = {
  tables: {
    addresses: addressOptions,
    servers: { connectTimeoutMs: busOptions.connectTimeoutMs, storeTimeoutMs: placementOptions.storeTimeoutMs },
    placementApi: { host, port },
    console: { host: consoleHost, port: consolePort },
  },
};

/** `berth up`: every service on this machine, each as its own process. */
export function upCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('up')
    .option('--schedulers <n>', 'schedulers', amount, 2)
    .option('--conductors <n>', 'conductors', amount, 2)
    .option('--placement-apis <n>', 'placement APIs, on BERTH_PLACEMENT_PORT and the ports after it', wholeFrom(0), 1)
    .option('--no-console', 'without the console')
    .option('--hosts <n>', 'fake hosts, carried by one compute agent', amount, 20);
  addSettingFlags(command, SETTINGS).action(
    async ({ schedulers, conductors, placementApis, hosts, console: hasConsole }) => {
      const { addresses, servers, placementApi, console: page } = readSettings(SETTINGS, command, context.env);
      requireServer(addresses.busUrl, 'BERTH_BUS_URL', 'amqp://user:password@localhost:5672');
      requireServer(addresses.storeUrl, 'BERTH_STORE_URL', 'redis://localhost:6379');
      await awaitServers(context, { ...addresses, ...servers });
      const ports = portsOf(placementApi.port, placementApis);
      const services = [
        ...several('scheduler', schedulers),
        ...several('conductor', conductors),
        ...ports.map((it, i) => ({ name: `placement-api-${i + 1}`, args: ['placement-api', '--port', String(it)] })),
        ...(hasConsole ? [{ name: 'console', args: ['console'] }] : []),
        { name: 'compute-agent', args: ['compute-agent', '--hosts', String(hosts)] },
      ];
      // A claim key for this run, unless one is set: an earlier run's selections are selected again.
      const claimKey = { BERTH_CLAIM_KEY: randomBytes(24).toString('base64url') };
      const children = startChildren(context, services, { ...claimKey, ...withFlags(SETTINGS, command, context.env) });
      const urls = [
        ...ports.filter((it) => it !== 0).map((it) => `placement API: http://${placementApi.host}:${it}`),
        ...(hasConsole && page.port !== 0 ? [`console: http://${page.host}:${page.port}`] : []),
      ];
      const ready = [`ready: all ${services.length} processes work`, ...urls].join('\n');
      void children.ready.then(() => context.interrupted.aborted || terminal.note(ready));
      const interrupted = once(context.interrupted, 'abort').then(() => undefined);
      const first = await Promise.race([children.ended, interrupted]);
      if (first !== undefined) {
        terminal.note(`berth: ${first.name} ended by itself (${first.how}); stopping the others`);
        context.exit(EXIT.failed);
      }
      await children.stop();
    },
  );
  return addHelp(
    command,
    [
      [
        'berth up --bus-url amqp://guest:guest@localhost:5672 --store-url redis://localhost:6379',
        'on your own servers',
      ],
      ['BERTH_AGENT_FAKE_FAILURE_RATE=0.1 berth up --hosts 100', 'settings go to all of them; one build in ten fails'],
    ],
    [
      [EXIT.failed, 'one of the services ended by itself; the others are stopped'],
      [EXIT.unavailable, 'no broker or no store within BERTH_BUS_CONNECT_TIMEOUT_MS; nothing was started'],
    ],
  );
}

/** Consecutive ports; with 0 each process takes a free one and logs it. */
function portsOf(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (first === 0 ? 0 : first + i));
}

function several(name: string, count: number): ChildService[] {
  return Array.from({ length: count }, (_, i) => ({ name: `${name}-${i + 1}`, args: [name] }));
}
