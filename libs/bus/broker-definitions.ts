import { createHash, randomBytes } from 'node:crypto';
import { cellOf, inCell, queueInCell, withoutCell } from '../contracts/cells';
import { CONSOLE_USER, identityOf, isRestricted, PLACEMENT_USER } from '../contracts/identity';
import { agentQueue, EVENTS_EXCHANGE, type QueueSpec, REPORTS_EXCHANGE, REQUESTS_EXCHANGE } from '../contracts/queues';
import { type BrokerRights, rightsOf, type ServiceUser, serviceRightsOf } from './broker-users';
import { DEAD_LETTER_QUEUE, MAX_DEAD_LETTER_BYTES } from './handling/dead-letter';
import { queueArguments } from './queue-arguments';

/**
 * RabbitMQ's definitions file (`load_definitions`): a virtual host, users with passwords and rights, and the objects
 * that restricted users need before a service has run: the exchanges, and each agent's order queue.
 *
 * @param users  `scheduler`, `conductor`, `console`, `placement`, `operator`, and those of agents and projects (`userOf`), in other
 *   cells than the first with the cell's name in front (`cell.b.scheduler`); others get no rights
 * @param isCluster  several brokers form one: all queues that outlive a connection are replicated (quorum), so that
 *   none fails with one broker. RabbitMQ applies the virtual host's type to queues declared without one.
 */
export function brokerDefinitions(vhost: string, users: ReadonlyMap<string, string>, isCluster = false): object {
  const cells = [...new Set([...users.keys()].map(cellOf))];
  const queues = [...users.keys()].flatMap((user) => {
    const identity = identityOf(user, cellOf(user));
    return identity.kind === 'agent' ? [queueInCell(cellOf(user), agentQueue(identity.host))] : [];
  });
  const declared = [...cells.map((cell) => queueInCell(cell, DEAD_LETTER_QUEUE)), ...queues];
  const exchanges = cells.flatMap((cell) => EXCHANGES.map((name) => inCell(cell, name)));
  const rights = [...users.keys()].flatMap((user) => {
    const found = rightsOfUser(user);
    return found === undefined ? [] : [{ user, ...found }];
  });
  return {
    vhosts: [
      { name: vhost, ...(isCluster && { metadata: { default_queue_type: 'quorum', description: '', tags: [] } }) },
    ],
    users: [...users].map(([name, password]) => ({
      name,
      password_hash: passwordHash(password),
      hashing_algorithm: 'rabbit_password_hashing_sha256',
      tags: name === 'operator' ? ['administrator'] : [],
    })),
    permissions: rights.map(({ user, configure, write, read }) => ({ user, vhost, configure, write, read })),
    topic_permissions: rights.flatMap(({ user, topics }) => topics.map((topic) => ({ user, vhost, ...topic }))),
    policies: POLICIES.map((policy, priority) => ({ vhost, 'apply-to': 'queues', priority, ...policy })),
    exchanges: exchanges.map((name) => {
      return { name, vhost, type: 'topic', durable: true, auto_delete: false, internal: false, arguments: {} };
    }),
    queues: declared.map((spec) => {
      const type = isCluster ? { 'x-queue-type': 'quorum' } : {};
      return {
        name: spec.name,
        vhost,
        durable: true,
        auto_delete: false,
        arguments: { ...type, ...queueArguments(spec) },
      };
    }),
    bindings: declared.flatMap((spec) => bindingOf(spec, vhost)),
  };
}

/** The rights of a user by its name; undefined for an unknown name. */
function rightsOfUser(user: string): BrokerRights | undefined {
  const cell = cellOf(user);
  const identity = identityOf(user, cell);
  if (isRestricted(identity)) return rightsOf(identity, cell);
  const service = SERVICES.find((name) => name === withoutCell(user));
  return service && serviceRightsOf(service, cell);
}

const SERVICES: readonly ServiceUser[] = ['scheduler', 'conductor', CONSOLE_USER, PLACEMENT_USER, 'operator'];
const EXCHANGES = [REQUESTS_EXCHANGE, REPORTS_EXCHANGE, EVENTS_EXCHANGE];

/**
 * Limits in bytes, also for existing queues: above them a queue refuses messages, or by its own argument drops the
 * oldest. With `disk_free_limit` they keep a flooded queue from triggering the disk alarm, which blocks everyone. Later
 * policies take precedence.
 */
const POLICIES = [
  {
    name: 'berth-private',
    pattern: '^private\\.',
    definition: { 'max-length-bytes': 268_435_456 },
  },
  {
    name: 'berth-queues',
    pattern: '^(cell\\.[^.]+\\.)?(build\\.(requests|results)|rpc\\.(scheduler|conductor)|stats|agent\\..+)$',
    definition: { 'max-length-bytes': 1_073_741_824 },
  },
  {
    name: 'berth-dead-letters',
    pattern: '^(cell\\.[^.]+\\.)?dead-letters$',
    definition: { 'max-length-bytes': MAX_DEAD_LETTER_BYTES },
  },
] as const;

function bindingOf({ name, entrance }: QueueSpec, vhost: string): object[] {
  if (entrance === undefined) return [];
  const { exchange: source, pattern } = entrance;
  return [{ source, vhost, destination: name, destination_type: 'queue', routing_key: pattern, arguments: {} }];
}

/** RabbitMQ's salted hash: 4 random bytes, then SHA-256 of them and the password. */
function passwordHash(password: string): string {
  const salt = randomBytes(4);
  return Buffer.concat([salt, createHash('sha256').update(salt).update(password).digest()]).toString('base64');
}
