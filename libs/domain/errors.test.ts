import { BerthError } from './errors';

it('tells programs its message, and not where in the code it came from', () => {
  const error = new BerthError('not_found', 'no_such_host', 'there is no host h1', {
    details: { host: 'h1' },
    cause: 1,
  });
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({
    error: { code: 'not_found', reason: 'no_such_host', message: 'there is no host h1', details: { host: 'h1' } },
  });
});
