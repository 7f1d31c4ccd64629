import { runInNewContext } from 'node:vm';
import { BerthError, isOwnFault } from './errors';

it('tells programs its message, and not where in the code it came from', () => {
  const error = new BerthError('not_found', 'no_such_host', 'there is no host h1', {
    details: { host: 'h1' },
    cause: 1,
  });
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({
    error: { code: 'not_found', reason: 'no_such_host', message: 'there is no host h1', details: { host: 'h1' } },
  });
});

it.each([
  [
    'an error of a connection, though another realm made it',
    "Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })",
    false,
  ],
  ["the engine's errors, though another realm made them", "new RangeError('Invalid string length')", true],
  ["Node's errors for its arguments", "Object.assign(new Error('chunk'), { code: 'ERR_INVALID_ARG_TYPE' })", true],
  ['a value that is no error', "'connect'", true],
  ['nothing at all', 'undefined', true],
])('tells its own faults from those of peers: %s', (_, thrown, own) => {
  expect(isOwnFault(runInNewContext(thrown))).toBe(own);
});
