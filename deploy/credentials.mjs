// Writes the users of the broker and of Redis into a folder that both mount, from the environment:
//
//   BERTH_<USER>_PASSWORD   for SCHEDULER, CONDUCTOR, PLACEMENT, CONSOLE and OPERATOR
//   BERTH_USER_PASSWORDS    of agents and tenants: agent.host-1=...,service-host.rack=...,pool-rack7.metal-a=...,
//                           project.demo=...; and of other cells
//                           and the top, their services, too: cell.b.scheduler=...,cell.b.agent.host-1=...,cell.top.conductor=...
//   BERTH_BROKER_CLUSTER    on where several brokers are one cluster: all queues are replicated then
//   BERTH_PLACEMENT_TOKEN   the token of the placement API's and the console's one user, who may do everything
//   BERTH_REDIS_DEFAULT_PASSWORD   lets Redis' user `default` log in, as Kubernetes' operators of Redis do
//
// The broker gets a virtual host and users with what each may declare, write and read (libs/bus/broker-users); Redis gets
// users that see only the keys of their cell, the console's to read. Passwords and the token are stored hashed. Run by `docker compose up` first.
import { createHash } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
const { brokerDefinitions } = require('#libs/bus/broker-definitions');
const { cellOf, withoutCell } = require('#libs/contracts/cells');
const { canHaveAgents, canHaveUser, identityOf } = require('#libs/contracts/identity');
const { CELL_NAME, DEFAULT_CELL } = require('#libs/domain/cells/cell');

const VHOST = 'berth';
const folder = process.argv[2];
if (!folder) {
  console.error('usage: node credentials.mjs FOLDER');
  process.exit(2);
}

const BROKER_USERS = ['scheduler', 'conductor', 'console', 'placement', 'operator'];
const REDIS_USERS = ['scheduler', 'conductor', 'placement', 'console'];

const problems = [];
function checked(name, value) {
  if (!/^[A-Za-z0-9_.~-]{8,}$/.test(value)) problems.push(`${name} must be 8 or more letters, digits or _.~- (it stands in URLs)`);
  if (value.endsWith('-for-trying')) console.error(`warning: ${name} is the published default; set your own in deploy/.env before anybody else can reach this`);
  return value;
}
const secret = (name) => checked(name, process.env[name] ?? '');
const passwords = new Map([...new Set([...BROKER_USERS, ...REDIS_USERS])].map((user) => [user, secret(`BERTH_${user.toUpperCase()}_PASSWORD`)]));
const users = new Map(BROKER_USERS.map((user) => [user, passwords.get(user)]));
const redisUsers = new Map(REDIS_USERS.map((user) => [user, passwords.get(user)]));
for (const entry of (process.env.BERTH_USER_PASSWORDS ?? '').split(',').filter((text) => text !== '')) {
  const [user, password = ''] = entry.split('=');
  const cell = cellOf(user);
  const identity = identityOf(user, cell);
  const service = cell === DEFAULT_CELL ? undefined : REDIS_USERS.find((name) => name === withoutCell(user));
  const isKnown = service !== undefined || (identity.kind !== 'service' && canHaveUser(identity.host ?? identity.projectId) && canHaveAgents(identity.pool ?? 'none'));
  if (!isKnown || !CELL_NAME.test(cell)) {
    problems.push(`BERTH_USER_PASSWORDS: ${user} is neither agent.HOST, service-host.HOST, pool-POOL.HOST nor project.ID, nor one of cell.NAME.`);
  }
  const its = checked(`the password of ${user} in BERTH_USER_PASSWORDS`, password);
  if (service !== undefined) redisUsers.set(user, its);
  users.set(user, its);
}
const cluster = process.env.BERTH_BROKER_CLUSTER || 'off';
if (!['on', 'off'].includes(cluster)) problems.push(`BERTH_BROKER_CLUSTER is '${cluster}': on or off`);
const token = secret('BERTH_PLACEMENT_TOKEN');
const redisDefault = process.env.BERTH_REDIS_DEFAULT_PASSWORD && secret('BERTH_REDIS_DEFAULT_PASSWORD');
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(2);
}

function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}

const acl = [
  // Off: nobody can log in as it. But Redis replays its append-only file as this user, so it must be allowed everything, or
  // a restart comes back empty (redis issue 14541).
  `user default ${redisDefault ? `on #${sha256(redisDefault)}` : 'off'} +@all ~* &*`,
  ...[...redisUsers].map(([name, password]) => {
    const onlyReads = withoutCell(name) === 'console';
    const keys = `${onlyReads ? '%R~' : '~'}{${cellOf(name)}}:*`;
    const scripts = onlyReads ? '+eval_ro +evalsha_ro' : '+@write +@scripting +@transaction';
    return `user ${name} on #${sha256(password)} ${keys} -@all +@connection +@read ${scripts} -@dangerous +info +time +cluster|slots +cluster|info`;
  }),
];

const tokens = [{ token_sha256: sha256(token), user_id: 'operator', project_id: 'operators', roles: ['admin', 'service'] }];

for (const [file, text] of [
  ['rabbitmq-definitions.json', JSON.stringify(brokerDefinitions(VHOST, users, cluster === 'on'), null, 2)],
  ['redis-users.acl', `${acl.join('\n')}\n`],
  ['placement-tokens.json', JSON.stringify(tokens, null, 2)],
]) {
  const path = join(folder, file);
  writeFileSync(path, text);
  chmodSync(path, 0o644);
  console.log(`wrote ${path}`);
}
