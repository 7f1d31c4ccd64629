import { runInNewContext } from 'node:vm';
import { BerthError, invalidArgument, isOwnFault } from './errors';

it('tells programs its message, and not where in the code it came from', () => {
  const error = new BerthError('not_found', 'no_such_host', 'there is no host h1', {
    details: { host: 'h1' },
    cause: 1,
  });
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({
    error: { code: 'not_found', reason: 'no_such_host', message: 'there is no host h1', details: { host: 'h1' } },
  });
});

it('repeats a bounded part of what it is about, and of its end', () => {
  const error = invalidArgument(
    'bad',
    `f must be a number, not '${'😀'.repeat(9_000)}': see the manual`,
    'f'.repeat(9_000),
  );
  expect(error.message.length).toBeLessThanOrEqual(4_096);
  expect(error.message).toMatch(/^f must be a number, not '(😀)+ … \(\d+ characters\) … (😀)+': see the manual$/u);
  expect(error.details['field']?.length).toBeLessThanOrEqual(4_096);
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
