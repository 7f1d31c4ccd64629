import { storeError } from './store-error';

it.each([
  [
    "Stream isn't writeable and enableOfflineQueue options is false",
    'store_away',
    "the store can't be reached: the connection to it is down",
  ],
  [
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
    'outcome_unknown',
    'the store did not answer: the connection to it broke',
  ],
])("says in plain words what Redis' client says: %s", (said, reason, message) => {
  expect(storeError(new Error(said))).toMatchObject({ code: 'unavailable', reason, message });
});

it.each([
  ['a text that is too long', () => 'x'.repeat(2 ** 29).repeat(4)],
  ['too many arguments', () => Math.max(...Array.from({ length: 2_000_000 }, () => 1))],
  ['a value of another type', () => (undefined as unknown as string).length],
  ['bytes that become no text', () => Buffer.alloc(1).readUInt32LE(9)],
  ["Node's limit of a text", () => failWith(Object.assign(new Error('too long'), { code: 'ERR_STRING_TOO_LONG' }))],
  ['no error at all', () => failWith('what')],
])('never takes %s for a store that is away', (_, make) => {
  expect(storeError(thrownBy(make))).toMatchObject({ code: 'internal', reason: 'store_request' });
});

it.each([
  "OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:7.",
  "ERR Error running script (call to f_1f): @user_script:7: -OOM command not allowed when used memory > 'maxmemory'.",
])('tells a store that is full from one that is away: %s', (message) => {
  const said = Object.assign(new Error(message), { name: 'ReplyError' });
  expect(storeError(said)).toMatchObject({ code: 'unavailable', reason: 'store_full' });
});

it.each(['Connection is closed.', 'Command timed out', 'Socket timeout. Expecting data', 'read ECONNRESET'])(
  'takes "%s" for a store that is away',
  (message) => {
    expect(storeError(new Error(message))).toMatchObject({ code: 'unavailable', reason: 'outcome_unknown' });
  },
);

function thrownBy(make: () => unknown): unknown {
  try {
    return make();
  } catch (thrown) {
    return thrown;
  }
}

function failWith(thrown: unknown): never {
  throw thrown;
}
