import { inventory } from '#libs/domain/inventory';
import { parseAmounts, parseCapabilities, parseInventories, parseTraits, parseWords, roundRobin } from './host-shape';

it('reads inventories of several kinds of hosts', () => {
  expect(parseInventories('X', 'VCPU=64*4, MEMORY_MB=262144-4096 | CUSTOM_GOLD=1,DISK_GB=100-10*1.5')).toEqual([
    { VCPU: inventory(64, { allocationRatio: 4 }), MEMORY_MB: inventory(262_144, { reserved: 4_096 }) },
    { CUSTOM_GOLD: inventory(1), DISK_GB: inventory(100, { reserved: 10, allocationRatio: 1.5 }) },
  ]);
});

it.each(['VCPU', 'vcpu=1', 'VCPU=-1', 'VCPU=1*0', 'VCPU=1-2', 'VCPU=2147483648', 'VCPU=1*x'])('refuses %s', (text) => {
  expect(() => parseInventories('BERTH_X', text)).toThrow(/BERTH_X: .* must be/);
});

it('reads amounts, traits, words and capabilities', () => {
  expect(parseAmounts('X', 'VCPU=4,MEMORY_MB=1|VCPU=0')).toEqual([{ VCPU: 4, MEMORY_MB: 1 }, { VCPU: 0 }]);
  expect(parseTraits('X', 'CUSTOM_A,CUSTOM_B|')).toEqual([['CUSTOM_A', 'CUSTOM_B'], []]);
  expect(parseWords('')).toEqual([]);
  expect(parseCapabilities('X', 'hw_architecture=x86_64/i686,img_hv_type=kvm')).toEqual({
    hw_architecture: ['x86_64', 'i686'],
    img_hv_type: ['kvm'],
  });
  expect(() => parseAmounts('X', 'VCPU=1.5')).toThrow('X');
  expect(() => parseTraits('X', 'custom_a')).toThrow('X');
  expect(() => parseCapabilities('X', 'hw_architecture')).toThrow('X');
});

it('gives entries to hosts round-robin', () => {
  expect([0, 1, 2, 3].map((n) => roundRobin(['a', 'b', 'c'], n, 'none'))).toEqual(['a', 'b', 'c', 'a']);
  expect(roundRobin([], 5, 'none')).toBe('none');
});
