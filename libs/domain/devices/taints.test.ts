import { evictedBy, untolerated } from './taints';

const DEVICE = { taints: { worn: '3', broken: 'ecc' }, evicts: { broken: 1_000 } };

it('names the taints that a new claim does not tolerate', () => {
  expect(untolerated(DEVICE, { tolerations: {} })).toEqual(['worn=3', 'broken=ecc:NoExecute']);
  expect(untolerated(DEVICE, { tolerations: { worn: '<= 3', broken: '*' } })).toEqual([]);
  const brief = { tolerations: { worn: '*', broken: '*' }, tolerationSeconds: { worn: 1, broken: 1 } };
  expect(untolerated(DEVICE, brief)).toEqual(['broken=ecc:NoExecute']);
});

it('names the taints by which who has it is to leave by now', () => {
  expect(evictedBy(DEVICE, { tolerations: {} }, 1_000)).toEqual(['broken=ecc:NoExecute']);
  expect(evictedBy(DEVICE, { tolerations: { broken: 'ecc' } }, 1e9)).toEqual([]);
  const brief = { tolerations: { broken: '*' }, tolerationSeconds: { broken: 2 } };
  expect([evictedBy(DEVICE, brief, 2_999), evictedBy(DEVICE, brief, 3_000)]).toEqual([[], ['broken=ecc:NoExecute']]);
});
