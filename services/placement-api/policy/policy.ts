import { booleanOption, type ConfigOf, enumOption } from '#libs/runtime/config';
import type { Principal } from '../auth/auth';
import { HttpError } from '../http/http-error';
import { type Allowed, RULES, type RuleName } from './rules';

/**
 * Who may do what. Without any of these the defaults are those that Placement's clients have always met: its new rules, or
 * the role admin, and no system scope. `BERTH_PLACEMENT_ENFORCE_NEW_DEFAULTS=true` is the secure choice for new sites.
 */
export const policyOptions = {
  policy: enumOption({
    env: 'BERTH_PLACEMENT_POLICY',
    default: 'default',
    values: ['default', 'open'],
    help: 'Whether the rules of placement are checked, or everyone with a token may do everything (open).',
  }),
  enforceNewDefaults: booleanOption({
    env: 'BERTH_PLACEMENT_ENFORCE_NEW_DEFAULTS',
    default: false,
    help: 'Whether only the new rules count (reshaper for the role service alone), instead of these or the role admin.',
  }),
  enforceScope: booleanOption({
    env: 'BERTH_PLACEMENT_ENFORCE_SCOPE',
    default: true,
    help: 'Whether tokens for the whole system are refused: placement is for tokens of a project.',
  }),
} as const;

export type PolicyConfig = ConfigOf<typeof policyOptions>;

/** What a request is about, where a rule depends on it. */
export interface PolicyTarget {
  /** The project whose usages are asked for. */
  readonly projectId?: string | undefined;
}

/**
 * Lets a principal pass or not.
 *
 * @throws HttpError 403 that names the rule.
 */
export type Policy = (rule: RuleName, principal: Principal, target?: PolicyTarget) => void;

/** The policy that the configuration asks for. What it decides depends on nothing but its arguments. */
export function makePolicy(config: PolicyConfig): Policy {
  const isMet = checkOf(config);
  return (rule, principal, target = {}) => {
    const isOutOfScope = config.enforceScope && principal.isSystemScoped;
    if (isOutOfScope || !isMet(RULES[rule].allowed, principal, target)) {
      throw new HttpError(403, `Policy does not allow ${rule} to be performed.`);
    }
  };
}

type Check = (allowed: Allowed, principal: Principal, target: PolicyTarget) => boolean;

function checkOf({ policy, enforceNewDefaults }: PolicyConfig): Check {
  if (policy === 'open') return () => true;
  if (enforceNewDefaults) return meetsNewDefault;
  return (allowed, principal, target) => principal.roles.has('admin') || meetsNewDefault(allowed, principal, target);
}

function meetsNewDefault(allowed: Allowed, { roles, projectId }: Principal, target: PolicyTarget): boolean {
  switch (allowed) {
    case 'service':
      return roles.has('service');
    case 'admin_or_service':
      return roles.has('admin') || roles.has('service');
    case 'admin_or_service_or_project_reader': {
      const isOwnProject = projectId !== undefined && projectId === target.projectId;
      return roles.has('admin') || roles.has('service') || (roles.has('reader') && isOwnProject);
    }
  }
}
