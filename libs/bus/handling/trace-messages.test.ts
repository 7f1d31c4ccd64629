import { keptTrace } from './trace-messages';

it('sends a trace on, but nothing that is too long to be one', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  expect(keptTrace({ headers: { traceparent, other: 'x' } })).toEqual({ traceparent });
  expect(keptTrace({ headers: { traceparent: 'h'.repeat(60_000) } })).toEqual({});
  expect(keptTrace({ headers: {} })).toEqual({});
});
