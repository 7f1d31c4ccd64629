import { createHash } from 'node:crypto';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { connectToCell } from '#libs/redis/schema';
import type { LuaScript } from '#libs/redis/scripts';
import { silentLog } from '#libs/runtime/log';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { freePort, type TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';

const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 1_000, connectionName: 'client-test' };
const SUM = script('sum', "return redis.call('INCRBY', KEYS[1], ARGV[1])");
const LOOK = script('look', "return redis.call('GET', KEYS[1])", true);

function script(name: string, source: string, isReadOnly = false): LuaScript {
  return { name, keyCount: 1, isReadOnly, source, sha: createHash('sha1').update(source).digest('hex') };
}

let server: TestServer;
let client: RedisClient;
beforeAll(async () => {
  server = await startRedis();
  client = await connectRedis(server.url, options);
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

it('runs a script that the server forgot', async () => {
  expect(await client.runScript(SUM, ['a'], [2])).toBe(2);
  expect(await client.runScript(SUM, ['a'], [2])).toBe(4);
  await client.run((redis) => redis.script('FLUSH'));
  expect(await client.runScript(SUM, ['a'], [2])).toBe(6);
});

it('runs a script that only reads, also one that the server forgot, as one that may not write', async () => {
  await client.run((redis) => redis.set('b', '3'));
  for (let i = 0; i < 2; i++) expect(await client.runScript(LOOK, ['b'], [])).toBe('3');
  await client.run((redis) => redis.script('FLUSH'));
  expect(await client.runScript(LOOK, ['b'], [])).toBe('3');
  const lies = script('lies', SUM.source, true);
  await expect(client.runScript(lies, ['b'], [1])).rejects.toThrow('Write commands are not allowed');
});

it('tells what the server did not understand as a defect', async () => {
  const broken = { ...SUM, name: 'broken', source: "return redis.call('NOPE', KEYS[1])" };
  await expect(client.runScript(broken, ['a'], [])).rejects.toMatchObject({ code: 'internal', reason: 'store_reply' });
  await expect(client.runScript(SUM, [], [])).rejects.toThrow('sum takes 1 keys, not 0');
});

it('fails what is under way when the connection breaks, and does not send it again', async () => {
  const victim = await connectRedis(server.url, options);
  const id = await victim.run((redis) => redis.client('ID'));
  const waiting = victim.run((redis) => redis.blpop('nothing', 0));
  await client.run((redis) => redis.call('CLIENT', 'KILL', 'ID', String(id)));
  await expect(waiting).rejects.toMatchObject({ code: 'unavailable', reason: 'outcome_unknown' });
  await victim.ready();
  expect(await victim.run((redis) => redis.ping())).toBe('PONG');
  await victim.close();
});

it('takes a connection on which nothing answers as dead', async () => {
  const victim = await connectRedis(server.url, { ...options, commandTimeoutMs: 200 });
  await expect(victim.run((redis) => redis.blpop('nothing', 0))).rejects.toMatchObject({ reason: 'outcome_unknown' });
  await victim.ready();
  await victim.close();
});

it('waits for a server that goes away while a cell is opened', async () => {
  await client.run((redis) => redis.client('PAUSE', 1_000, 'WRITE'));
  const said: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, text: string) => void said.push(text) };
  const patience = { clock: systemClock(), commandTimeoutMs: 200 };
  const opened = await connectToCell(server.url, 'slow', { ...options, ...patience, log });
  expect(said).toContain('store unavailable, asking it again');
  expect(await opened.run((redis) => redis.get('{slow}:schema'))).toBe('2');
  await opened.close();
});

it('says that the credentials are wrong', async () => {
  await client.run((redis) => redis.config('SET', 'requirepass', 'secret'));
  const refused = { code: 'permission_denied', reason: 'store_credentials' };
  await expect(connectRedis(server.url, options)).rejects.toMatchObject(refused);
  await expect(connectRedis(server.url.replace('//', '//:wrong@'), options)).rejects.toMatchObject(refused);
  const other = await connectRedis(server.url.replace('//', '//:secret@'), options);
  expect(await other.run((redis) => redis.ping())).toBe('PONG');
  await other.close();
});

it('waits for a server that is not there until it is told to stop', async () => {
  const abort = new AbortController();
  const connecting = connectRedis(`redis://127.0.0.1:${await freePort()}`, options, abort.signal);
  abort.abort();
  await expect(connecting).rejects.toMatchObject({ code: 'aborted', reason: 'cancelled' });
});
