import { inCell, queueInCell } from '../contracts/cells';
import { CONSOLE_USER, type PLACEMENT_USER, type RestrictedIdentity, userOf } from '../contracts/identity';
import {
  agentQueue,
  BUILD_REQUESTS,
  BUILD_RESULTS,
  EVENTS_EXCHANGE,
  HOST_LEASES,
  projectWord,
  type QueueSpec,
  REPORTS_EXCHANGE,
  REQUESTS_EXCHANGE,
  RPC_CONDUCTOR,
  RPC_SCHEDULER,
  STATS,
} from '../contracts/queues';
import { DEFAULT_CELL, TOP } from '../domain/cells/cell';
import { DEAD_LETTERS } from './port';

/** A broker user's permissions: regular expressions of names, and of routing keys on topic exchanges. */
export interface BrokerRights {
  /** To declare and delete. */
  readonly configure: string;
  /** To publish to an exchange, and to bind to a queue. */
  readonly write: string;
  /** To consume from a queue, and to bind to an exchange. */
  readonly read: string;
  readonly topics: readonly { readonly exchange: string; readonly write: string; readonly read: string }[];
}

const UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const NOTHING = '^$';
/**
 * RabbitMQ's name for the nameless exchange in permissions; a user with write permission to it can write to every
 * queue.
 */
const DEFAULT_EXCHANGE = 'amq.default';

/**
 * The rights of an agent's or a tenant's user in its cell; it has none in others.
 *
 * It publishes to one topic exchange, under routing keys that end in its own name, and reads its own queues. It
 * declares only queues for answers and events, whose names begin with its own and end in a uuid, so that `agent.h1`
 * can't take a queue of `agent.h1.example`. RabbitMQ checks the patterns of the topics that it binds, too.
 */
export function rightsOf(identity: RestrictedIdentity, cell = DEFAULT_CELL): BrokerRights {
  const user = userOf(identity, cell);
  const [requests, reports, events] = ENTRANCES.map((exchange) => inCell(cell, exchange)) as [string, string, string];
  const own = `private\\.${escaped(user)}\\.${UUID}`;
  const keys = (queues: readonly string[]) => `^(${queues.map(escaped).join('|')})\\.${escaped(userOf(identity))}$`;
  if (identity.kind === 'agent') {
    const orders = agentQueue(identity.host).name;
    const ordersQueue = inCell(cell, orders);
    return {
      configure: `^${own}$`,
      write: `^${escaped(reports)}$`,
      read: `^(${escaped(ordersQueue)}|${own})$`,
      topics: [
        {
          exchange: reports,
          write: keys([BUILD_RESULTS.name, STATS.name, HOST_LEASES.name, DEAD_LETTERS, orders]),
          read: NOTHING,
        },
      ],
    };
  }
  const word = escaped(projectWord(identity.projectId));
  return {
    configure: `^${own}$`,
    write: `^(${escaped(requests)}|${own})$`,
    read: `^(${escaped(events)}|${own})$`,
    topics: [
      {
        exchange: requests,
        write: keys([BUILD_REQUESTS.name, RPC_CONDUCTOR.name, RPC_SCHEDULER.name]),
        read: NOTHING,
      },
      {
        exchange: events,
        write: NOTHING,
        read: `^(instance\\.(\\*|[a-z_]+)\\.${word}\\.(\\*|#|${UUID})|request\\.refused\\.${word})$`,
      },
    ],
  };
}

/** The services with a user of their own. */
export type ServiceUser = 'scheduler' | 'conductor' | typeof CONSOLE_USER | typeof PLACEMENT_USER | 'operator';

/**
 * The rights of a service in a cell: its own queues to declare and consume, and the default exchange, by which it
 * writes to every queue. Conductors also declare the queues of agents. Services of the top also hear the events of all cells. An operator has all rights in all
 * cells.
 *
 * A console sends requests and calls by the tenants' entrance, hears all events, publishes events of operators' actions
 * by the entrance, and reads dead letters, which it may requeue to the builds' queue; it declares only its own queues. A
 * placement API, which also builds, requests, calls and hears like it, and nothing else.
 */
export function serviceRightsOf(service: ServiceUser, cell = DEFAULT_CELL): BrokerRights {
  switch (service) {
    case 'scheduler':
      return serviceRights(service, cell, [RPC_SCHEDULER, STATS], []);
    case 'conductor':
      return withOrderQueues(
        serviceRights(service, cell, [RPC_CONDUCTOR, HOST_LEASES, BUILD_REQUESTS, BUILD_RESULTS], [EVENTS_EXCHANGE]),
        cell,
      );
    case 'console':
    case 'placement':
      return rightsAtEntrance(service, cell);
    case 'operator':
      return { configure: '.*', write: '.*', read: '.*', topics: [] };
  }
}

const ENTRANCES = [REQUESTS_EXCHANGE, REPORTS_EXCHANGE, EVENTS_EXCHANGE] as const;
/** The event exchanges of all cells with their queues, which the opener of a cell's bus declares. */
const EVENTS_OF_CELLS = `(cell\\.[^.]+\\.)?${escaped(EVENTS_EXCHANGE)}`;
const BASE_OF_CELLS = `(cell\\.[^.]+\\.)?(${[DEAD_LETTERS, ...ENTRANCES, BUILD_REQUESTS.name].map(escaped).join('|')})`;

function serviceRights(
  service: ServiceUser,
  cell: string,
  specs: readonly QueueSpec[],
  publishes: readonly string[],
): BrokerRights {
  const queues = specs.map((spec) => queueInCell(cell, spec));
  const own = `private\\.${escaped(inCell(cell, service))}\\.${UUID}`;
  const names = (plain: readonly string[]) => plain.map((name) => inCell(cell, name));
  const entrances = names([REQUESTS_EXCHANGE, REPORTS_EXCHANGE]);
  const declared = [...queues.map(({ name }) => name), ...names([DEAD_LETTERS])];
  const isTop = cell === TOP;
  const patterns = (plain: readonly string[], ...further: readonly string[]) =>
    `^(${[...plain.map(escaped), own, ...further].join('|')})$`;
  return {
    configure: patterns([...declared, ...entrances, ...names([EVENTS_EXCHANGE])], ...(isTop ? [BASE_OF_CELLS] : [])),
    write: patterns([...declared, DEFAULT_EXCHANGE, ...names(publishes)], ...(isTop ? [BASE_OF_CELLS] : [])),
    // Without the dead letters, which only operators read.
    read: patterns(
      [...queues.map(({ name }) => name), ...entrances],
      ...(isTop ? [EVENTS_OF_CELLS, `(cell\\.[^.]+\\.)?${escaped(REPORTS_EXCHANGE)}`] : []),
    ),
    topics: [],
  };
}

/** A conductor declares an agent's queue again that somebody deleted. To name its dead letters takes the right to read it. */
function withOrderQueues(rights: BrokerRights, cell: string): BrokerRights {
  const orders = `^${escaped(inCell(cell, agentQueue('').name))}.+$`;
  const or = (pattern: string) => `${pattern}|${orders}`;
  return { ...rights, configure: or(rights.configure), write: or(rights.write), read: or(rights.read) };
}

/** Requests, calls, and all events: a placement API's. A console's are these and more. */
function rightsAtEntrance(user: string, cell: string): BrokerRights {
  const isConsole = user === CONSOLE_USER;
  const own = `private\\.${escaped(inCell(cell, user))}\\.${UUID}`;
  const [requests, reports, events] = ENTRANCES.map((exchange) => inCell(cell, exchange)) as [string, string, string];
  const written = isConsole ? [requests, reports, events] : [requests];
  const heard = isConsole ? [events, inCell(cell, DEAD_LETTERS)] : [events];
  const keys = (queues: readonly QueueSpec[]) => `^(${queues.map(({ name }) => escaped(name)).join('|')})\\.${user}$`;
  return {
    configure: `^${own}$`,
    write: `^(${[...written.map(escaped), own].join('|')})$`,
    read: `^(${[...heard.map(escaped), own].join('|')})$`,
    topics: [
      { exchange: requests, write: keys([BUILD_REQUESTS, RPC_CONDUCTOR, RPC_SCHEDULER]), read: NOTHING },
      ...(isConsole ? [{ exchange: reports, write: keys([BUILD_RESULTS]), read: NOTHING }] : []),
      { exchange: events, write: isConsole ? '^operator\\.' : NOTHING, read: '.*' },
    ],
  };
}

function escaped(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
