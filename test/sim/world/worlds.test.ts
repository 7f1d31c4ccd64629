import { runSeed } from './worlds';

it.each(['ring', 'cells', 'racks'] as const)(
  'does the same in the world of %s, bit for bit, from the same seed',
  async (world) => {
    const options = { world, seed: 7, actionCount: 40 };
    const [first, again, other] = [
      await runSeed(options),
      await runSeed(options),
      await runSeed({ ...options, seed: 8 }),
    ];
    expect(first.history.entries.length).toBeGreaterThan(1_000);
    expect(again.history.entries).toEqual(first.history.entries);
    expect(other.history.digest()).not.toBe(first.history.digest());
    expect([first.violation, other.violation]).toEqual([undefined, undefined]);
  },
);
