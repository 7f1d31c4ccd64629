import { anEncodedSpec, type aRequestSpec } from '#libs/testing/instances/request-spec';
import { classified } from '../testing/world';
import { forBatch, specClassifier } from './equivalence-class';

it('requests that list the same in another order are of one class, whoever asks', () => {
  const key = (spec: Parameters<typeof aRequestSpec>[0]) => classified(spec).equivalenceClass.key;
  expect(key({ resources: { VCPU: 1, DISK_GB: 2 }, requiredTraits: ['CUSTOM_A', 'CUSTOM_B'] })).toBe(
    key({ resources: { DISK_GB: 2, VCPU: 1 }, requiredTraits: ['CUSTOM_B', 'CUSTOM_A'] }),
  );
  expect(key({ projectId: 'other', ignoreHosts: ['a'] })).toBe(key({}));
  expect(key({ resources: { VCPU: 2 } })).not.toBe(key({ resources: { VCPU: 1 } }));
});

it('a batch that must fit together is of another class than one instance', () => {
  const single = classified().equivalenceClass;
  expect(forBatch(single, 1)).toBe(single);
  expect(forBatch(single, 2)).toMatchObject({ batchSize: 2, resources: single.resources });
  expect(new Set([single, forBatch(single, 2), forBatch(single, 3)].map(({ key }) => key)).size).toBe(3);
});

it('gives specs of one class the same class, and nobody can change it', () => {
  const classify = specClassifier();
  const [mine, yours] = ['mine', 'yours'].map((projectId) => classify(anEncodedSpec({ projectId })));
  expect(mine?.spec.projectId).toBe('mine');
  expect(mine?.equivalenceClass).toBe(yours?.equivalenceClass);
  expect(Object.isFrozen(mine?.equivalenceClass.resources)).toBe(true);
  expect(classify(anEncodedSpec({ resources: { VCPU: 9 } })).equivalenceClass).not.toBe(mine?.equivalenceClass);
});
