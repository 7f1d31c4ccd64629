// Writes the users of the broker and of Redis into a folder that both mount, from the environment:
//
//   BERTH_<USER>_PASSWORD   for SCHEDULER, CONDUCTOR, AGENT, PLACEMENT, CLIENT and OPERATOR
//   BERTH_PLACEMENT_TOKEN   the token of the placement API's one user, who may do everything
//
// The broker gets a virtual host and one user per kind of process with the queues it may declare, write and read; Redis
// gets users that see only the keys of Berth's cells. Passwords and the token are stored hashed. Run by `docker-compose up` first.
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const VHOST = 'berth';
const folder = process.argv[2];
if (!folder) {
  console.error('usage: node credentials.mjs FOLDER');
  process.exit(2);
}

// What each kind of process may configure, write and read on the broker: patterns of queue and exchange names. Whoever
// publishes to a queue by name needs to write the default exchange; declaring a queue with dead letters writes to them.
const OWN_REPLIES = 'amq\\.gen-.*';
const SHARED = 'build\\.requests|build\\.results|rpc\\..*|stats|dead-letters|berth\\..*|cell\\..*';
const USERS = {
  scheduler: { configure: `^(${SHARED}|${OWN_REPLIES})$`, write: '.*', read: `^(${SHARED}|${OWN_REPLIES})$` },
  conductor: { configure: `^(${SHARED}|agent\\..*|${OWN_REPLIES})$`, write: '.*', read: `^(${SHARED}|${OWN_REPLIES})$` },
  agent: { configure: `^(${SHARED}|agent\\..*|${OWN_REPLIES})$`, write: '.*', read: `^(agent\\..*|dead-letters|${OWN_REPLIES})$` },
  // Clients publish requests, ask, and listen to events; they never take another's messages.
  client: { configure: `^(${SHARED}|${OWN_REPLIES})$`, write: '^(amq\\.default|build\\.requests|rpc\\..*|berth\\..*|dead-letters|' + OWN_REPLIES + ')$', read: `^(berth\\..*|${OWN_REPLIES})$` },
  operator: { configure: '.*', write: '.*', read: '.*', tags: ['administrator'] },
};
const REDIS_USERS = ['scheduler', 'conductor', 'placement'];

const passwords = new Map();
const problems = [];
function secret(name) {
  const value = process.env[name] ?? '';
  if (!/^[A-Za-z0-9_.~-]{8,}$/.test(value)) problems.push(`${name} must be 8 or more letters, digits or _.~- (it stands in URLs)`);
  if (value.endsWith('-for-trying')) console.error(`warning: ${name} is the published default; set your own in deploy/.env before anybody else can reach this`);
  return value;
}
for (const user of new Set([...Object.keys(USERS), ...REDIS_USERS])) passwords.set(user, secret(`BERTH_${user.toUpperCase()}_PASSWORD`));
const token = secret('BERTH_PLACEMENT_TOKEN');
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(2);
}

/** RabbitMQ's salted hash: 4 random bytes, then SHA-256 of them and the password. */
function rabbitHash(password) {
  const salt = randomBytes(4);
  return Buffer.concat([salt, createHash('sha256').update(salt).update(password).digest()]).toString('base64');
}

function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}

const definitions = {
  vhosts: [{ name: VHOST }],
  users: Object.entries(USERS).map(([name, { tags = [] }]) => ({
    name,
    password_hash: rabbitHash(passwords.get(name)),
    hashing_algorithm: 'rabbit_password_hashing_sha256',
    tags,
  })),
  permissions: Object.entries(USERS).map(([user, { configure, write, read }]) => ({ user, vhost: VHOST, configure, write, read })),
};

const acl = [
  // Off: nobody can log in as it. But Redis replays its append-only file as this user, so it must be allowed everything, or
  // a restart comes back empty (redis issue 14541).
  'user default off +@all ~* &*',
  ...REDIS_USERS.map((name) => {
    return `user ${name} on #${sha256(passwords.get(name))} ~{*}:* -@all +@connection +@read +@write +@scripting +@transaction -@dangerous +info +time`;
  }),
];

const tokens = [{ token_sha256: sha256(token), user_id: 'operator', project_id: 'operators', roles: ['admin', 'service'] }];

for (const [file, text] of [
  ['rabbitmq-definitions.json', JSON.stringify(definitions, null, 2)],
  ['redis-users.acl', `${acl.join('\n')}\n`],
  ['placement-tokens.json', JSON.stringify(tokens, null, 2)],
]) {
  const path = join(folder, file);
  writeFileSync(path, text);
  chmodSync(path, 0o644);
  console.log(`wrote ${path}`);
}
