import { openForest } from '../../testing/placement/forest';
import { KeptByTree } from './kept-by-tree';

it('makes what is kept of a tree again when the tree has changed, and of no other', async () => {
  const forest = await openForest([
    { name: 'a', has: { VCPU: 8 } },
    { name: 'b', has: { VCPU: 8 } },
  ]);
  const [a, b] = [forest.uuidOf('a'), forest.uuidOf('b')];
  const made: string[] = [];
  const kept = new KeptByTree(forest.view, (root) => {
    made.push(forest.nameOf(root));
    return forest.view.provider(root)?.traits.join() ?? 'gone';
  });
  expect([kept.of(a), kept.of(b), kept.of(a)]).toEqual(['', '', '']);
  expect(made).toEqual(['a', 'b']);
  const generation = forest.view.provider(a)?.generation ?? 0;
  await forest.commit({ kind: 'write_traits', providerUuid: a, traits: ['HW_CPU_X86_AVX2'], generation });
  expect([kept.of(a), kept.of(b)]).toEqual(['HW_CPU_X86_AVX2', '']);
  expect(made).toEqual(['a', 'b', 'a']);
  kept.close();
  await forest.close();
});
