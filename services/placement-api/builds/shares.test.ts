import { Shares } from './shares';

const refusal = expect.objectContaining({ code: 'resource_exhausted', reason: 'too_many_at_once' });

it('bounds what one project has open, and leaves the rest to others', () => {
  const shares = new Shares('requests', 3, 2);
  shares.take('a');
  const free = shares.take('a');
  expect(() => shares.take('a')).toThrow(refusal);
  shares.take('b');
  expect(() => shares.take('c')).toThrow(refusal);
  free();
  free();
  shares.take('c');
  expect(() => shares.take('a')).toThrow(refusal);
});
