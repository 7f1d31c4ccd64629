import { inventory } from '#libs/domain/inventory';
import { openInstanceStore } from '#libs/instances/open';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { anInstance, nextVersion } from '#libs/testing/instances/instance';
import { aProvider, aWrite, claim, mustAcquire } from '#libs/testing/placement/placement';
import { startRedis } from '#libs/testing/servers/servers';
import { type LoggedCommand, readAppendOnlyFile } from '../../sim/model/trace/append-only-file';
import { StoreTrace } from '../../sim/model/trace/store-trace';

const FORGED = '99999999999999999';
let transactions: LoggedCommand[][];

beforeAll(async () => {
  const server = await startRedis({ appendOnly: true });
  const config = readConfig(placementOptions, { BERTH_STORE_URL: server.url });
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const placement = await openPlacementStore(config, around);
  const instances = await openInstanceStore(config, around);

  const provider = await aProvider(placement, { VCPU: inventory(10) });
  const [first, second] = [anInstance(), anInstance()];
  await instances.create(first.requestId, [first]);
  await instances.create(second.requestId, [second]);
  await claim(placement, aWrite({ [provider]: { VCPU: 6 } }, { uuid: first.uuid }));
  await claim(placement, aWrite({ [provider]: { VCPU: 4 } }, { uuid: second.uuid }));
  const building = nextVersion(first, { state: 'building', host: 'host-1' });
  await instances.update(building);
  await instances.markPublished(first.uuid, 2);
  await instances.update(nextVersion(building, { state: 'active' }));
  await claim(placement, aWrite({}, { uuid: second.uuid }));
  await mustAcquire(placement, { agentRun: 'run-1', serviceHost: 'host-1' });
  await instances.acquire('audit', 'conductor-1', 60_000);
  await instances.release('audit', 'conductor-1');
  await instances.acquire('audit', 'conductor-2', 60_000);
  await instances.acquire('audit', 'conductor-2', 60_000);

  transactions = readAppendOnlyFile(server.folder) ?? [];
  await Promise.all([placement.close(), instances.close()]);
  await server.stop();
});

function traced(log: readonly (readonly LoggedCommand[])[]): StoreTrace {
  const trace = new StoreTrace();
  for (const transaction of log) trace.take(transaction);
  return trace;
}

/** The log with words replaced in commands on a table, from the nth such command on; undefined takes the command out. */
function doctored(table: string, nth: number, replace: (word: string) => string | undefined): LoggedCommand[][] {
  let seen = 0;
  return transactions.map((commands) =>
    commands.flatMap((command): LoggedCommand[] => {
      if (command[1] !== `{cell1}:${table}` || ++seen !== nth) return [command];
      const words = command.map(replace);
      return words.includes(undefined) ? [] : [words as string[]];
    }),
  );
}

it('checks each step of a real store, of each kind that its append-only file shows', () => {
  const { broken, counts } = traced(transactions);
  expect(broken).toBeUndefined();
  expect(Object.fromEntries(counts)).toMatchObject({
    'claims: write': 3,
    'claims: offer': expect.any(Number),
    'claims: count': expect.any(Number),
    'records: create': 2,
    'records: update': 2,
    'records: keep': 4,
    'leases: acquire': 4,
    'leases: release': 1,
  });
});

it.each<[string, () => LoggedCommand[][], RegExp]>([
  [
    'a claim above a capacity',
    () => doctored('changes', 4, (word) => word.replace(/VCPU 4/, 'VCPU 5')),
    /11 of .* VCPU would be in use, above its capacity of 10/,
  ],
  [
    'amounts in use that are not held',
    () => doctored('changes', 3, (word) => word.replace('{"VCPU":6}', '{"VCPU":5}')),
    /5 of .* VCPU are counted, 6 held/,
  ],
  ['a claim token that comes again', () => doctored('claim-token', 4, () => '1'), /claim .* is not after claim/],
  [
    'a version that is missing',
    () => doctored('instances', 3, () => undefined),
    /version 3 is written after version 1/,
  ],
  [
    'a version that is not in the outbox',
    () => doctored('instances:outbox', 3, () => undefined),
    /version 2 is not in the outbox/,
  ],
  [
    'an end without an order',
    () => doctored('instances', 4, (word) => word.replace(/^3 active/, '3 deleted')),
    /is deleted without an order to its host/,
  ],
  [
    'a lease that somebody else holds',
    () => doctored('lease:audit', 2, () => undefined),
    /conductor-2 is given task audit, which conductor-1 holds/,
  ],
  [
    'an epoch that goes back',
    () => [...doctored('host-holders', 1, (word) => word.replace(/^\d+/, FORGED)), ...reacquired()],
    /is given epoch \d+ of host host-1, after epoch/,
  ],
])('finds %s in a doctored log', (_, log, expected) => {
  expect(traced(log()).broken).toMatch(expected);
});

/** The transactions that gave the host, once more. */
function reacquired(): LoggedCommand[][] {
  return transactions.filter((commands) => commands.some(([, key]) => key === '{cell1}:host-holders'));
}
