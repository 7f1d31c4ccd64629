import { layered, type Rule } from './check-directions';

/** The files that put a process together: they may name an adapter of a port. */
const ASSEMBLY = ['libs/*/open.ts', 'services/*/main.ts', 'services/cli/embedded/', 'services/rehearsal/world/'];

const FLAVORS = ['serve-flavors.ts', 'fill-in-flavor.ts'].map((file) => `libs/fleet-settings/${file}`);

/**
 * Which part may use which: arrows point down only (the design: `domain` <- `contracts`, ports <- adapters <- `main.ts`).
 * A use of a type counts. Tests are bound by none of this.
 */
export const RULES: readonly Rule[] = [
  {
    says: 'the domain imports nothing',
    of: ['libs/domain/'],
    only: [],
    never: ['npm:', 'node:'],
    breach: 'libs/domain/clock.ts -> libs/runtime/log.ts',
  },
  {
    says: 'contracts import the domain only',
    of: ['libs/contracts/'],
    only: ['libs/domain/'],
    breach: 'libs/contracts/hosts.ts -> libs/bus/port.ts',
  },
  {
    says: 'the runtime imports the domain only',
    of: ['libs/runtime/'],
    only: ['libs/domain/'],
    breach: 'libs/runtime/run-service.ts -> libs/bus/port.ts',
  },
  {
    says: 'the bus imports contracts, domain and runtime only',
    of: ['libs/bus/'],
    only: ['libs/amqp/', 'libs/contracts/', 'libs/domain/', 'libs/runtime/'],
    breach: 'libs/bus/open.ts -> libs/placement/port/placement-store.ts',
  },
  {
    says: 'connections to a broker know nothing of what travels on them',
    of: ['libs/amqp/'],
    only: ['libs/domain/', 'libs/runtime/'],
    breach: 'libs/amqp/connection.ts -> libs/bus/port.ts',
  },
  {
    says: "oslo.messaging's wire knows connections, and neither Berth's bus nor Nova",
    of: ['libs/oslo/'],
    only: ['libs/amqp/', 'libs/domain/', 'libs/runtime/'],
    breach: 'libs/oslo/rpc-server.ts -> libs/bus/port.ts',
  },
  {
    says: "the port of the placement store imports the domain and contracts' types only",
    of: ['libs/placement/port/'],
    only: ['libs/domain/', 'libs/contracts/'],
    breach: 'libs/placement/port/placement-store.ts -> libs/placement/redis/keys.ts',
  },
  {
    says: 'commands, search, index and mirror of placement know no adapter and no bus',
    of: ['commands/', 'search/', 'index/', 'mirror/'].map((folder) => `libs/placement/${folder}`),
    only: ['libs/domain/', 'libs/runtime/', 'libs/placement/port/'],
    breach: 'libs/placement/mirror/mirror.ts -> libs/placement/redis/follow.ts',
  },
  ...layered('the search reads the index, which knows nothing of searches', 'libs/placement/', [
    ['index/'],
    ['search/'],
  ]),
  ...['redis', 'memory'].map((adapter): Rule => {
    return {
      says: 'an adapter knows its port and the commands, not who reads the store',
      of: [`libs/placement/${adapter}/`],
      only: ['libs/domain/', 'libs/runtime/', 'libs/redis/', 'libs/placement/port/', 'libs/placement/commands/'],
      breach: `libs/placement/${adapter}/placement-store.ts -> libs/placement/mirror/mirror.ts`,
    };
  }),
  {
    says: 'sealed allocation requests know the wire and the port, no adapter and no bus',
    of: ['libs/placement/sealed/'],
    only: ['libs/domain/', 'libs/contracts/', 'libs/runtime/', 'libs/placement/port/'],
    breach: 'libs/placement/sealed/allocation-request.ts -> libs/bus/port.ts',
  },
  {
    says: 'instances import domain, runtime, the client of Redis and what opens the placement store only',
    of: ['libs/instances/'],
    only: ['libs/domain/', 'libs/runtime/', 'libs/redis/', 'libs/placement/options.ts', 'libs/placement/open.ts'],
    breach: 'libs/instances/store.ts -> libs/placement/port/placement-store.ts',
  },
  {
    says: 'settings that schedulers of cells and of the top serve alike know the wire and the placement store',
    of: ['libs/fleet-settings/'],
    except: FLAVORS,
    only: ['libs/bus/', 'libs/contracts/', 'libs/domain/', 'libs/runtime/', 'libs/placement/'],
    breach: 'libs/fleet-settings/quota-calls.ts -> libs/instances/store.ts',
  },
  {
    says: 'flavors know the wire, expressions over devices and their store',
    of: FLAVORS,
    only: ['libs/bus/', 'libs/contracts/', 'libs/devices/', 'libs/domain/', 'libs/runtime/', 'libs/instances/'],
    breach: 'libs/fleet-settings/serve-flavors.ts -> libs/placement/port/placement-store.ts',
  },
  {
    says: 'the ring imports nothing',
    of: ['libs/ring/'],
    only: ['libs/ring/'],
    never: ['npm:', 'node:'],
    breach: 'libs/ring/ring.ts -> libs/domain/clock.ts',
  },
  {
    says: 'expressions over devices import domain and runtime only',
    of: ['libs/devices/'],
    only: ['libs/domain/', 'libs/runtime/'],
    breach: 'libs/devices/selector.ts -> libs/contracts/devices.ts',
  },
  {
    says: 'the client knows the wire, and no store',
    of: ['libs/client/'],
    only: ['libs/amqp/', 'libs/bus/', 'libs/contracts/', 'libs/domain/', 'libs/runtime/'],
    breach: 'libs/client/client.ts -> libs/instances/store.ts',
  },
  {
    says: 'authentication knows the domain and the runtime only',
    of: ['libs/auth/'],
    only: ['libs/domain/', 'libs/runtime/'],
    breach: 'libs/auth/open.ts -> libs/bus/port.ts',
  },
  {
    says: 'libraries know no service',
    of: ['libs/'],
    never: ['services/'],
    breach: 'libs/bus/open.ts -> services/scheduler/start.ts',
  },
  ...[
    ['libs/bus/', 'amqp/'],
    ['libs/bus/', 'memory/'],
    ['libs/placement/', 'redis/'],
    ['libs/placement/', 'memory/'],
    ['libs/instances/', 'redis/'],
    ['libs/instances/', 'memory/'],
  ].map(([lib, adapter]): Rule => {
    return {
      says: 'adapters are named only where a process is put together',
      of: ['libs/', 'services/'],
      except: [...ASSEMBLY, `${lib}${adapter}`],
      never: [`${lib}${adapter}`],
      breach: `services/conductor/start.ts -> ${lib}${adapter}made-up.ts`,
    };
  }),
  ...[
    'scheduler',
    'conductor',
    'compute-agent',
    'placement-api',
    'console',
    'top-scheduler',
    'top-conductor',
    'nova-scheduler',
  ].map((service): Rule => {
    return {
      says: 'services never import each other',
      of: [`services/${service}/`],
      only: ['libs/'],
      breach: `services/${service}/start.ts -> services/cli/context.ts`,
    };
  }),
  {
    says: "pages know of the console what it tells them, and nothing of the server's",
    of: ['services/console/web/'],
    only: ['services/console/api/', 'libs/domain/'],
    never: ['node:'],
    breach: 'services/console/web/state/router.ts -> services/console/live/live.ts',
  },
  {
    says: 'what pages are told is plain data',
    of: ['services/console/api/'],
    only: [],
    never: ['npm:', 'node:'],
    breach: 'services/console/api/fleet.ts -> libs/domain/host.ts',
  },
  {
    says: 'the command line knows of services how they start and what their settings are',
    of: ['services/cli/'],
    except: ['services/cli/embedded/'],
    only: ['libs/', 'services/*/main.ts', 'services/*/options.ts'],
    breach: 'services/cli/commands/host.ts -> services/scheduler/fleet/fleet.ts',
  },
  {
    says: 'production code imports nothing that is for tests',
    of: ['libs/', 'services/'],
    never: ['libs/testing/', 'test/', 'libs/*/testing/', 'services/*/testing/', 'services/*/stories/'],
    breach: 'services/scheduler/start.ts -> services/scheduler/testing/made-up.ts',
  },
  ...layered(
    'a decision reads downwards: devices, request, fleet, demand, filters and weighers, ranking, decision; reports stand beside it',
    'services/scheduler/',
    [
      ['devices/'],
      ['request/'],
      ['fleet/'],
      ['demand/'],
      ['filters/', 'weighers/'],
      ['ranking/'],
      ['decision/', 'reports/'],
    ],
  ),
  {
    says: 'reconcile is a pure function of record, claim and observation',
    of: ['reconcile.ts', 'reconcile/', 'evidence.ts', 'step.ts', 'observation.ts'].map(
      (file) => `services/conductor/${file}`,
    ),
    only: ['libs/domain/', 'libs/contracts/'],
    never: ['npm:', 'node:'],
    breach: 'services/conductor/reconcile.ts -> services/conductor/steps/perform.ts',
  },
  ...layered('a trigger leads to the loop, and the loop to steps', 'services/conductor/', [
    ['steps/'],
    ['reconcile-loop.ts'],
    ['triggers/'],
  ]),
  ...layered(
    'an order leads to the host and is answered by a report; host and drivers know neither',
    'services/compute-agent/',
    [['drivers/'], ['host/'], ['reports/'], ['orders/']],
  ),
  ...Object.entries({
    'npm:amqplib': ['libs/amqp/', 'libs/bus/amqp/', 'libs/oslo/'],
    'npm:ioredis': ['libs/redis/'],
    'npm:mysql2': ['services/nova-scheduler/facts/mysql.ts'],
    ...Object.fromEntries(
      ['api', 'exporter-trace-otlp-http', 'resources', 'sdk-trace-node'].map((part) => [
        `npm:@opentelemetry/${part}`,
        ['libs/runtime/open-telemetry.ts'],
      ]),
    ),
    'npm:pino': ['libs/runtime/pino-log.ts'],
    'npm:pino-pretty': ['libs/runtime/pino-log.ts'],
    'npm:fastify': [
      'services/placement-api/',
      'services/console/http/',
      'libs/runtime/http.ts',
      'libs/auth/guess-limit.ts',
      'libs/runtime/bound-connections.ts',
    ],
    'npm:preact': ['services/console/web/'],
    'npm:preact/hooks': ['services/console/web/'],
    'npm:commander': ['services/cli/'],
    'npm:@commander-js/extra-typings': ['services/cli/'],
    'global:process.env': ['libs/runtime/system.ts'],
    // A page has the browser's time, and no other.
    'global:Date.now': ['libs/runtime/system.ts', 'services/console/web/'],
    'global:Math.random': ['libs/runtime/system.ts'],
    'global:setTimeout': ['libs/runtime/system.ts', 'services/console/web/'],
    'global:setInterval': ['libs/runtime/system.ts', 'services/console/web/'],
  }).map(([used, home]): Rule => {
    return {
      says: `${used.replace(/^\w+:/, '')} has one home, ${home.join(' and ')}`,
      of: ['libs/', 'services/'],
      except: home,
      never: [used],
      breach: `services/scheduler/start.ts -> ${used}`,
    };
  }),
];
