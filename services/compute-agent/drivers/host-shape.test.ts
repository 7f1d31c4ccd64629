import { inventory } from '#libs/domain/inventory';
import { parseAmounts, parseCapabilities, parseInventories, parseTraits, roundRobin } from './host-shape';
import { parseNested } from './nested-shape';

it('reads inventories of several kinds of hosts', () => {
  expect(parseInventories('X', 'VCPU=64*4, MEMORY_MB=262144-4096 | CUSTOM_GOLD=1,DISK_GB=100-10*1.5')).toEqual([
    { VCPU: inventory(64, { allocationRatio: 4 }), MEMORY_MB: inventory(262_144, { reserved: 4_096 }) },
    { CUSTOM_GOLD: inventory(1), DISK_GB: inventory(100, { reserved: 10, allocationRatio: 1.5 }) },
  ]);
});

it.each(['VCPU', 'vcpu=1', 'VCPU=-1', 'VCPU=1*0', 'VCPU=1-2', 'VCPU=2147483648', 'VCPU=1*x'])('refuses %s', (text) => {
  expect(() => parseInventories('BERTH_X', text)).toThrow(/BERTH_X: .* must be/);
});

it('reads amounts, traits and capabilities', () => {
  expect(parseAmounts('X', 'VCPU=4,MEMORY_MB=1|VCPU=0')).toEqual([{ VCPU: 4, MEMORY_MB: 1 }, { VCPU: 0 }]);
  expect(parseTraits('X', 'CUSTOM_A,CUSTOM_B|')).toEqual([['CUSTOM_A', 'CUSTOM_B'], []]);
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

describe('nested providers', () => {
  const parse = (text: string) => parseNested('BERTH_AGENT_PROVIDERS', text);

  it('are read with parents, inventories and traits, host by host', () => {
    expect(parse('numa0 VCPU=16*4,MEMORY_MB=65536-1024,HW_NUMA_ROOT; numa0/0000:81:00.0 PGPU=1 | nic0; ')).toEqual([
      [
        {
          name: 'numa0',
          parent: '',
          inventories: {
            VCPU: inventory(16, { allocationRatio: 4 }),
            MEMORY_MB: inventory(65_536, { reserved: 1_024 }),
          },
          traits: ['HW_NUMA_ROOT'],
        },
        { name: '0000:81:00.0', parent: 'numa0', inventories: { PGPU: inventory(1) }, traits: [] },
      ],
      [{ name: 'nic0', parent: '', inventories: {}, traits: [] }],
    ]);
    expect(parse('')).toEqual([]);
  });

  it.each([
    ['a; a', "'a' must be a name that no other"],
    ['a/b; b/a', "'b' must be below the root"],
    ['x/b VCPU=1', "'b' must be below the root"],
    ['a/b/c VCPU=1', "'a/b/c' must be name or parent/name"],
    ['/b VCPU=1', "'/b' must be name or parent/name"],
    ['n VCPU=x', "'VCPU=x' must be CLASS=total"],
    ['n shiny', "'shiny' must be CLASS=total or a trait"],
  ])('are refused: %s', (text, message) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ reason: 'bad_config', message: expect.stringContaining(message) }),
    );
  });
});
