import type { Principal } from '#libs/auth/auth';
import { booleanOption, type ConfigOf, enumOption } from '#libs/runtime/config';
import { HttpError } from '../http/http-error';
import type { RuleName } from './rules';

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

/**
 * Lets a principal pass or not.
 *
 * @param askedProject  the project whose usages are asked for
 * @throws HttpError 403 that names the rule.
 */
export type Policy = (rule: RuleName, principal: Principal, askedProject?: string) => void;

/** The policy that the configuration asks for. What it decides depends on nothing but its arguments. */
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
