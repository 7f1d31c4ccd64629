import type { Principal } from '#libs/auth/auth';
import { HttpError } from '../http/http-error';
import { ROUTES } from '../routes';

import { makePolicy, type PolicyConfig } from './policy';
import { RULES, type RuleName } from './rules';

const legacy: PolicyConfig = { policy: 'default', enforceNewDefaults: false, enforceScope: true };
const secure: PolicyConfig = { ...legacy, enforceNewDefaults: true };
const open: PolicyConfig = { ...legacy, policy: 'open' };
const allRules = Object.keys(RULES) as RuleName[];

/** The rights of each role in its own project. */
const table: readonly [profile: string, PolicyConfig, role: string, may: readonly RuleName[]][] = [
  ['legacy', legacy, 'admin', allRules],
  ['legacy', legacy, 'service', allRules],
  ['legacy', legacy, 'reader', ['usages']],
  ['legacy', legacy, 'member', []],
  ['legacy', legacy, 'no', []],
  ['secure', secure, 'admin', allRules.filter((rule) => rule !== 'reshaper:reshape')],
  ['secure', secure, 'service', allRules],
  ['secure', secure, 'reader', ['usages']],
  ['secure', secure, 'member', []],
  ['secure', secure, 'no', []],
  ['open', open, 'member', allRules],
  ['open', open, 'no', allRules],
];

it.each(table.map(([profile, config, role, may]) => ({ profile, config, role, may })))(
  'holds the $profile profile to its table for $role role',
  ({ config, role, may }) => {
    expect(allRules.filter((rule) => allows(config, rule, principal(role), 'own'))).toEqual(may);
  },
);

it.each([legacy, secure])('lets a reader see no usages but those of the own project (%j)', (config) => {
  expect(allows(config, 'usages', principal('reader'), 'other')).toBe(false);
  expect(allows(config, 'usages', principal('reader'))).toBe(false);
  expect(allows(config, 'usages', { ...principal('reader'), projectId: undefined })).toBe(false);
  expect(allows(config, 'usages', principal('admin'), 'other')).toBe(true);
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
  expect(() => makePolicy(legacy)('traits:list', principal('reader'))).toThrow(
    expect.objectContaining({ status: 403, message: 'Policy does not allow placement:traits:list to be performed.' }),
  );
});

it('is asked about every operation but the version document, and has no rule that nobody asks', () => {
  expect(ROUTES.filter(({ rule }) => rule === undefined).map(({ path }) => path)).toEqual(['/']);
  expect(new Set(ROUTES.flatMap(({ rule }) => rule ?? []))).toEqual(new Set(allRules));
});

function principal(...roles: string[]): Principal {
  const named = roles.filter((role) => role !== 'no');
  return { userId: 'someone', projectId: 'own', roles: new Set(named), isSystemScoped: false };
}

function allows(config: PolicyConfig, rule: RuleName, who: Principal, askedProject?: string): boolean {
  try {
    makePolicy(config)(rule, who, askedProject);
    return true;
  } catch (error) {
    if (error instanceof HttpError && error.status === 403) return false;
    throw error;
  }
}
