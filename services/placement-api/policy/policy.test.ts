import type { Principal } from '../auth/auth';
import { HttpError } from '../http/http-error';

import { makePolicy, type PolicyConfig } from './policy';
import { RULES, type RuleName } from './rules';

const legacy: PolicyConfig = { policy: 'default', enforceNewDefaults: false, enforceScope: true };
const secure: PolicyConfig = { ...legacy, enforceNewDefaults: true };
const open: PolicyConfig = { ...legacy, policy: 'open' };
const allRules = Object.keys(RULES) as RuleName[];

/** What each role may do, in its own project. */
const table: readonly [profile: string, PolicyConfig, role: string, may: readonly RuleName[]][] = [
  ['legacy', legacy, 'admin', allRules],
  ['legacy', legacy, 'service', allRules],
  ['legacy', legacy, 'reader', ['placement:usages']],
  ['legacy', legacy, 'member', []],
  ['legacy', legacy, 'no', []],
  ['secure', secure, 'admin', allRules.filter((rule) => rule !== 'placement:reshaper:reshape')],
  ['secure', secure, 'service', allRules],
  ['secure', secure, 'reader', ['placement:usages']],
  ['secure', secure, 'member', []],
  ['secure', secure, 'no', []],
  ['open', open, 'member', allRules],
  ['open', open, 'no', allRules],
];

it.each(table.map(([profile, config, role, may]) => ({ profile, config, role, may })))(
  'holds the $profile profile to its table for $role role',
  ({ config, role, may }) => {
    expect(allRules.filter((rule) => allows(config, rule, principal(role), { projectId: 'own' }))).toEqual(may);
  },
);

it.each([legacy, secure])('lets a reader see no usages but those of the own project (%j)', (config) => {
  expect(allows(config, 'placement:usages', principal('reader'), { projectId: 'other' })).toBe(false);
  expect(allows(config, 'placement:usages', principal('reader'), {})).toBe(false);
  expect(allows(config, 'placement:usages', { ...principal('reader'), projectId: undefined }, {})).toBe(false);
  expect(allows(config, 'placement:usages', principal('admin'), { projectId: 'other' })).toBe(true);
});

it.each([legacy, secure, open])(
  'refuses system scope whatever its roles, unless scopes are not enforced (%j)',
  (config) => {
    const system = { ...principal('admin', 'service'), projectId: undefined, isSystemScoped: true };
    const lax = { ...config, enforceScope: false };
    expect(allRules.filter((rule) => allows(config, rule, system))).toEqual([]);
    expect(allRules.filter((rule) => allows(lax, rule, system))).toEqual(allRules);
  },
);

it('says which rule refuses', () => {
  expect(() => makePolicy(legacy)('placement:traits:list', principal('reader'))).toThrow(
    expect.objectContaining({ status: 403, message: 'Policy does not allow placement:traits:list to be performed.' }),
  );
});

it('has each operation in one rule', () => {
  const operations = Object.values(RULES).flatMap((rule) => rule.operations);
  expect(new Set(operations).size).toBe(operations.length);
  expect(operations).toHaveLength(35);
});

function principal(...roles: string[]): Principal {
  const named = roles.filter((role) => role !== 'no');
  return { userId: 'someone', projectId: 'own', roles: new Set(named), isSystemScoped: false };
}

function allows(config: PolicyConfig, rule: RuleName, who: Principal, target?: { projectId?: string }): boolean {
  try {
    makePolicy(config)(rule, who, target);
    return true;
  } catch (error) {
    if (error instanceof HttpError && error.status === 403) return false;
    throw error;
  }
}
