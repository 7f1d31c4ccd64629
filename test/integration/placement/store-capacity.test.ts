import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { array, assert, asyncProperty, constantFrom, double, integer, oneof, record } from 'fast-check';
import { type Inventory, refusalOf } from '#libs/domain/inventory';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { sharedServer } from '../../shared-servers';

jest.setTimeout(60_000);

const RULE = readFileSync(join(__dirname, '../../../libs/placement/redis/lua/include/capacity.lua'), 'utf8');
const SCRIPT = `${RULE}
local answers = {}
for i, case in ipairs(cjson.decode(ARGV[1])) do answers[i] = refusal_of(case[1], case[2], case[3]) or '' end
return answers`;

let client: RedisClient;
beforeAll(async () => {
  client = await connectRedis(sharedServer('redis'), {
    log: silentLog,
    random: systemRandom,
    commandTimeoutMs: 5_000,
    connectionName: 'capacity',
  });
});
afterAll(() => client.close());

const amounts = oneof(integer({ min: 0, max: 40 }), integer({ min: 0, max: 2_147_483_647 }));
const ratios = oneof(
  constantFrom(0.1, 0.3, 1, 1.1, 1.5, 2.2, 16),
  double({ min: 0.001, max: 100, noNaN: true, noDefaultInfinity: true }),
);
const inventories = record<Inventory>({
  total: amounts,
  reserved: integer({ min: 0, max: 20 }),
  allocationRatio: ratios,
  minUnit: integer({ min: 1, max: 4 }),
  maxUnit: amounts,
  stepSize: integer({ min: 1, max: 4 }),
});

it('says the same in Lua as in TypeScript, to the last bit of the allocation ratio', async () => {
  const cases = array(record({ inv: inventories, used: amounts, amount: amounts }), { minLength: 200, maxLength: 400 });
  await assert(
    asyncProperty(cases, async (list) => {
      // Where it matters: exactly at the capacity, and one beside it.
      const edges = list.flatMap(({ inv, used }) => {
        const room = Math.floor((inv.total - inv.reserved) * inv.allocationRatio) - used;
        return [room - 1, room, room + 1].map((amount) => ({ inv, used, amount }));
      });
      const all = [...list, ...edges];
      const packed = all.map(({ inv, used, amount }) => [
        [inv.total, inv.reserved, inv.allocationRatio, inv.minUnit, inv.maxUnit, inv.stepSize],
        used,
        amount,
      ]);
      const answers = await client.run((redis) => redis.eval(SCRIPT, 0, JSON.stringify(packed)));
      expect(answers).toEqual(all.map(({ inv, used, amount }) => refusalOf(inv, used, amount) ?? ''));
    }),
    { numRuns: 50 },
  );
});
