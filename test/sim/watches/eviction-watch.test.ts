import { EvictionWatch } from './eviction-watch';

it('tells of two that evict each other round and round, and not of one who comes back', () => {
  const watch = new EvictionWatch();
  const evicted = (victim: string, evictor: string) => {
    const wrong = [watch.take(victim, evictor), watch.take(victim, evictor)];
    watch.take(victim, undefined);
    return wrong.find((one) => one !== undefined);
  };
  expect(evicted('b', 'a')).toBeUndefined();
  expect(evicted('b', 'a')).toBeUndefined();
  expect(evicted('a', 'b')).toBeUndefined();
  expect(evicted('a', 'b')).toBe('b and a have evicted each other 2 times');
});
