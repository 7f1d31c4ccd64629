import type { Principal } from '#libs/auth/auth';
import type { PolicyConfig } from '../policy/policy';
import { callerOf, projectOf, projectToBuildFor, type Right } from './caller';

const legacy: PolicyConfig = { policy: 'default', enforceNewDefaults: false, enforceScope: true };
const principal = (...roles: string[]): Principal => {
  return { userId: 'ann', projectId: 'own', roles: new Set(roles), isSystemScoped: false };
};
const RIGHTS: readonly Right[] = ['read', 'write', 'operate'];

it.each([
  [[], []],
  [['reader'], ['read']],
  [['member'], ['read', 'write']],
  [['admin'], RIGHTS],
  [['service'], RIGHTS],
])('lets the roles %j do %j', (roles, may) => {
  const allows = (right: Right) => {
    try {
      return callerOf(principal(...roles), right, legacy).userId === 'ann';
    } catch {
      return false;
    }
  };
  expect(RIGHTS.filter(allows)).toEqual(may);
});

it('refuses tokens for the whole system, and tenants without a project', () => {
  const system = { ...principal('admin'), projectId: undefined, isSystemScoped: true };
  expect(() => callerOf(system, 'read', legacy)).toThrow(expect.objectContaining({ reason: 'system_scope' }));
  const nowhere = { ...principal('member'), projectId: undefined };
  expect(() => callerOf(nowhere, 'read', legacy)).toThrow(expect.objectContaining({ reason: 'role_missing' }));
});

it('keeps a tenant to its own project, and lets an operator name any', () => {
  const tenant = callerOf(principal('member'), 'write', legacy);
  expect([projectOf(tenant, undefined), projectToBuildFor(tenant, 'own')]).toEqual(['own', 'own']);
  expect(() => projectOf(tenant, 'other')).toThrow(expect.objectContaining({ reason: 'wrong_project' }));
  const operator = callerOf(principal('admin'), 'write', legacy);
  expect([projectOf(operator, undefined), projectOf(operator, 'other')]).toEqual([undefined, 'other']);
  expect(projectToBuildFor(operator, undefined)).toBe('own');
});
