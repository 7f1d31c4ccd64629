import { booleanOption, type ConfigOf, enumOption } from '#libs/runtime/config';

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
