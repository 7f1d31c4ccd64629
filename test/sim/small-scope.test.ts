import { FAULTS, OneInstance } from './small-scope/one-instance';

it.each(FAULTS)('copies a small world that goes on as the first would, with the fault "%s"', async (fault) => {
  const world = await OneInstance.begin(fault, { failures: 1, terminates: 1 });
  for (let n = 0; n < 25; n++) {
    const copy = await world.copy();
    expect(copy.choices()).toEqual(world.choices());
    expect(copy.fingerprint()).toBe(world.fingerprint());
    const choices = world.choices();
    const choice = choices[(n * 7) % choices.length];
    if (choice === undefined) break;
    await world.choose(choice);
    await copy.choose(choice);
    expect(copy.fingerprint()).toBe(world.fingerprint());
  }
});
