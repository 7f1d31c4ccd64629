import { DISABLED_TRAIT } from '#libs/domain/provider';
import { aWorld, uuidOf } from '../testing/world';
import { followStatus } from './follow-status';

it('takes a host as enabled as soon as its nova-compute told placement', async () => {
  const world = await aWorld([{ traits: [DISABLED_TRAIT], isDisabled: true }, { isDisabled: true }]);
  const stop = followStatus(world.mirror, world.facts);
  const disabled = () => ['h1', 'h2'].filter((host) => world.facts.service(host)?.isDisabled);
  const setTraits = (traits: readonly string[]) =>
    world.commit({ kind: 'write_traits', providerUuid: uuidOf(1), generation: undefined, traits });
  expect(disabled()).toEqual(['h1', 'h2']);
  await setTraits(['HW_CPU_X86_AVX']);
  expect(disabled()).toEqual(['h2']);
  stop();
  await world.close();
});
