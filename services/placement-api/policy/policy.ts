import type { Principal } from '#libs/auth/auth';
import { booleanOption, type ConfigOf, enumOption } from '#libs/runtime/config';
import { HttpError } from '../http/http-error';
import type { RuleName } from './rules';

/**
 * Access rules. The default settings are those that Placement's clients have always met: its new rules, or the role
 * admin, and no system scope. `BERTH_PLACEMENT_ENFORCE_NEW_DEFAULTS=true` is the secure choice for new sites.
 */
export const policyOptions = {
  policy: enumOption({
    env: 'BERTH_PLACEMENT_POLICY',
    default: 'default',
    values: ['default', 'open'],
    help: 'Checks the rules of placement, or lets everyone with a token do everything (open).',
  }),
  enforceNewDefaults: booleanOption({
    env: 'BERTH_PLACEMENT_ENFORCE_NEW_DEFAULTS',
    default: false,
    help: 'Accepts only the new rules (reshaper for the role service alone), instead of these or the role admin.',
  }),
  enforceScope: booleanOption({
    env: 'BERTH_PLACEMENT_ENFORCE_SCOPE',
    default: true,
    help: 'Refuses tokens for the whole system: placement requires tokens of a project.',
  }),
} as const;

export type PolicyConfig = ConfigOf<typeof policyOptions>;

/**
 * Lets a principal pass or not.
 *
 * @param askedProject  the project of the requested usages
 * @throws HttpError 403 with the rule's name.
 */
export type Policy = (rule: RuleName, principal: Principal, askedProject?: string) => void;

/** The configured policy: a pure function of its arguments. */
export function makePolicy({ policy, enforceNewDefaults, enforceScope }: PolicyConfig): Policy {
  return (rule, principal, askedProject) => {
    const isInScope = !(enforceScope && principal.isSystemScoped);
    const isMetByAdmin = !enforceNewDefaults && principal.roles.has('admin');
    const isMet = policy === 'open' || isMetByAdmin || meetsNewDefault(rule, principal, askedProject);
    if (!isInScope || !isMet) throw new HttpError(403, `Policy does not allow placement:${rule} to be performed.`);
  };
}

/** The defaults since Placement's role `service` replaced system scope. */
function meetsNewDefault(rule: RuleName, { roles, projectId }: Principal, askedProject: string | undefined): boolean {
  if (rule === 'reshaper:reshape') return roles.has('service');
  if (roles.has('admin') || roles.has('service')) return true;
  return rule === 'usages' && roles.has('reader') && projectId !== undefined && projectId === askedProject;
}
