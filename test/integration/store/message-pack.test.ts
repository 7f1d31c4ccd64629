import { assert, asyncProperty, boolean, double, integer, letrec, maxSafeInteger, oneof, string } from 'fast-check';
import { connectRedis, type RedisClient } from '#libs/redis/connect';
import { type Packable, packMessage } from '#libs/redis/message-pack';
import { silentLog } from '#libs/runtime/log';
import { systemRandom } from '#libs/runtime/system';
import { sharedServer } from '../../shared-servers';

/** Numbers with all their digits: the reply of a script would round them. */
const UNPACK = `
  local function show(value)
    if type(value) == 'number' then return 'n' .. string.format('%.17g', value) end
    if type(value) == 'boolean' then return 'b' .. tostring(value) end
    if type(value) == 'string' then return 's' .. value end
    local list = {}
    for i, item in ipairs(value) do list[i] = show(item) end
    return list
  end
  return show(cmsgpack.unpack(ARGV[1]))`;

const { value: values } = letrec<{ value: Packable }>((tie) => ({
  value: oneof(
    { maxDepth: 3 },
    integer(),
    maxSafeInteger(),
    double({ noNaN: true, noDefaultInfinity: true }),
    boolean(),
    string({ unit: 'binary', maxLength: 80 }),
    tie('value').chain((one) => tie('value').map((other) => [one, other])),
  ),
}));

let client: RedisClient;
beforeAll(async () => {
  const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'message-pack' };
  client = await connectRedis(sharedServer('redis'), options);
});
afterAll(() => client.close());

it('packs what Redis unpacks to the same', async () => {
  await assert(
    asyncProperty(values, async (value) => {
      expect(valueOf(await client.run((redis) => redis.eval(UNPACK, 0, packMessage(value))))).toEqual(
        withoutSign(value),
      );
    }),
    { numRuns: 500, examples: [[2 ** 32 - 1], [2 ** 32], [-1], [0.1], [127], [128], ['x'.repeat(70_000)], [[]]] },
  );
});

function valueOf(shown: unknown): unknown {
  if (Array.isArray(shown)) return shown.map(valueOf);
  const [kind, text] = [String(shown).slice(0, 1), String(shown).slice(1)];
  if (kind === 's') return text;
  return kind === 'n' ? Number(text) : text === 'true';
}

/** Zero has no sign in a message. */
function withoutSign(value: Packable): unknown {
  if (typeof value === 'object') return value.map(withoutSign);
  return value === 0 ? 0 : value;
}
