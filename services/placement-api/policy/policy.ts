import type { Principal } from '../auth/principal';
import { HttpError } from '../http/http-error';
import type { PolicyConfig } from './options';
import { type Allowed, RULES, type RuleName } from './rules';

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
