import { type RestrictedIdentity, userOf } from '../contracts/identity';
import {
  agentQueue,
  BUILD_REQUESTS,
  BUILD_RESULTS,
  EVENTS_EXCHANGE,
  projectWord,
  type QueueSpec,
  REPORTS_EXCHANGE,
  REQUESTS_EXCHANGE,
  RPC_CONDUCTOR,
  RPC_SCHEDULER,
  STATS,
} from '../contracts/queues';
import { DEAD_LETTERS } from './port';

/** What a user of the broker may do: regular expressions of names, and of routing keys on topic exchanges. */
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
/** RabbitMQ's name for the exchange without a name in permissions: who may write to it may write to every queue. */
const DEFAULT_EXCHANGE = 'amq.default';

/**
 * The rights of an agent's or a tenant's user.
 *
 * It publishes to one topic exchange, under routing keys that end in its own name, and reads its own queues. It declares
 * queues for answers and events only, whose names begin with its own and end in a uuid, so that `agent.h1` can't take a
 * queue of `agent.h1.example`. RabbitMQ checks the patterns of the topics that it binds, too.
 */
export function rightsOf(identity: RestrictedIdentity): BrokerRights {
  const user = userOf(identity);
  const own = `private\\.${escaped(user)}\\.${UUID}`;
  const keys = (queues: readonly string[]) => `^(${queues.map(escaped).join('|')})\\.${escaped(user)}$`;
  if (identity.kind === 'agent') {
    const orders = agentQueue(identity.host).name;
    return {
      configure: `^${own}$`,
      write: `^${escaped(REPORTS_EXCHANGE)}$`,
      read: `^(${escaped(orders)}|${own})$`,
      topics: [
        {
          exchange: REPORTS_EXCHANGE,
          write: keys([BUILD_RESULTS.name, STATS.name, DEAD_LETTERS, orders]),
          read: NOTHING,
        },
      ],
    };
  }
  const word = escaped(projectWord(identity.projectId));
  return {
    configure: `^${own}$`,
    write: `^(${escaped(REQUESTS_EXCHANGE)}|${own})$`,
    read: `^(${escaped(EVENTS_EXCHANGE)}|${own})$`,
    topics: [
      {
        exchange: REQUESTS_EXCHANGE,
        write: keys([BUILD_REQUESTS.name, RPC_CONDUCTOR.name, RPC_SCHEDULER.name]),
        read: NOTHING,
      },
      {
        exchange: EVENTS_EXCHANGE,
        write: NOTHING,
        read: `^(instance\\.(\\*|[a-z_]+)\\.${word}\\.(\\*|#|${UUID})|request\\.refused\\.${word})$`,
      },
    ],
  };
}

/** The rights of services: what each declares and consumes; and the default exchange, by which they write to every queue. */
export const SERVICE_RIGHTS: Readonly<Record<'scheduler' | 'conductor' | 'operator', BrokerRights>> = {
  scheduler: serviceRights('scheduler', [RPC_SCHEDULER, STATS], []),
  conductor: serviceRights('conductor', [RPC_CONDUCTOR, BUILD_REQUESTS, BUILD_RESULTS], [EVENTS_EXCHANGE]),
  operator: { configure: '.*', write: '.*', read: '.*', topics: [] },
};

function serviceRights(user: string, queues: readonly QueueSpec[], publishes: readonly string[]): BrokerRights {
  const own = `private\\.${user}\\.${UUID}`;
  const entrances = [REQUESTS_EXCHANGE, REPORTS_EXCHANGE];
  const declared = [...queues.map(({ name }) => name), DEAD_LETTERS];
  const patterns = (names: readonly string[]) => `^(${[...names.map(escaped), own].join('|')})$`;
  return {
    configure: patterns([...declared, ...entrances, EVENTS_EXCHANGE]),
    write: patterns([...declared, DEFAULT_EXCHANGE, ...publishes]),
    // Not the dead letters: only operators read them.
    read: patterns([...queues.map(({ name }) => name), ...entrances]),
    topics: [],
  };
}

function escaped(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
