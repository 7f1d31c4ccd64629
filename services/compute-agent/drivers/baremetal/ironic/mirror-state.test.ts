import type { NodeRecord } from '#libs/domain/nodes/node';
import { aNodeRecord } from '#libs/testing/node-record';
import type { IronicNode } from './ironic-node';
import { mirrorState } from './mirror-state';

const OWN = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';

const aNode = (fields: Partial<IronicNode>): IronicNode => ({
  uuid: '33333333-3333-4333-8333-333333333333',
  resourceClass: 'CUSTOM_BAREMETAL_GOLD',
  traits: [],
  resources: {},
  isInMaintenance: false,
  maintenanceReason: '',
  provisionState: 'available',
  isOn: false,
  isSwitching: false,
  instanceUuid: '',
  isProtected: false,
  lastError: '',
  ...fields,
});

it.each<[string, Partial<IronicNode>, NodeRecord['state']]>([
  ['enrolled', { provisionState: 'enroll' }, 'enroll'],
  ['inspected', { provisionState: 'inspect wait' }, 'manageable'],
  ['available', {}, 'available'],
  ['available with unknown power', { isOn: undefined }, 'error'],
  ['cleaned', { provisionState: 'clean wait' }, 'cleaning'],
  ['not to be cleaned', { provisionState: 'clean failed', lastError: 'no disk' }, 'error'],
  ["another's", { instanceUuid: OTHER }, 'manageable'],
  ["another's, without an instance's uuid", { provisionState: 'active' }, 'manageable'],
  ['in a state of later versions', { provisionState: 'servicing' }, 'manageable'],
  ['in maintenance', { isInMaintenance: true }, 'maintenance'],
])('takes a node without an instance, that is %s at Ironic, for %j: %s', (_, fields, state) => {
  expect(mirrorState(aNodeRecord({ state: 'available' }), aNode(fields)).fields.state).toBe(state);
});

it.each<[Partial<IronicNode>, NodeRecord['state'], string]>([
  [{ provisionState: 'active', instanceUuid: OWN }, 'active', ''],
  [{ provisionState: 'rescue', instanceUuid: OWN }, 'rescue', ''],
  [{ provisionState: 'deploy failed', instanceUuid: OWN }, 'active', 'deploy failed'],
  [{ provisionState: 'available' }, 'active', 'no instance'],
  [{ provisionState: 'active', instanceUuid: OTHER }, 'active', OTHER],
  [{ provisionState: 'active', instanceUuid: OWN, isInMaintenance: true }, 'maintenance', ''],
])('keeps the instance of a node that is %j at Ironic: %s', (fields, state, doubt) => {
  const { fields: next, doubt: shown } = mirrorState(
    aNodeRecord({ state: 'active', instanceUuid: OWN }),
    aNode(fields),
  );
  expect(next.state).toBe(state);
  expect(shown).toContain(doubt);
  expect(next).not.toHaveProperty('instanceUuid');
});

it('returns from maintenance to the state by Ironic, with its reason gone', () => {
  const record = aNodeRecord({ state: 'maintenance', stateBefore: 'available', reason: 'a disk' });
  const { fields } = mirrorState(record, aNode({ provisionState: 'manageable' }));
  expect(fields).toMatchObject({ state: 'manageable', stateBefore: undefined, reason: '' });
});

it('shows power that is switched as it was, and knows no other class than the last', () => {
  const { fields } = mirrorState(aNodeRecord(), aNode({ isSwitching: true, isOn: true, resourceClass: '' }));
  expect(fields).not.toHaveProperty('isOn');
  expect(fields.resourceClass).toBe('CUSTOM_BAREMETAL_GOLD');
});
