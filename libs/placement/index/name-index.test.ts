import { NameIndex } from './name-index';

it('finds keys by their name, also while two have the same', () => {
  const index = new NameIndex();
  index.move('a', undefined, 'cn1');
  index.move('b', undefined, 'cn1');
  expect(index.get('cn1')).toEqual(['a', 'b']);
  index.move('a', 'cn1', 'cn2');
  index.move('b', 'cn1', 'cn1');
  expect([index.get('cn1'), index.get('cn2'), index.get('cn3')]).toEqual([['b'], ['a'], []]);
  index.move('b', 'cn1', undefined);
  expect(index.get('cn1')).toEqual([]);
});
