import { DISABLED_TRAIT } from '#libs/domain/provider';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { NovaFacts } from './nova-facts';

/**
 * Notes hosts as enabled as soon as nova-compute takes the trait of disabled ones from its provider. A stock scheduler reads the service's row
 * with each decision; the next poll of services would find it seconds later.
 *
 * @returns how to stop
 */
export function followStatus(mirror: Mirror, facts: NovaFacts): () => void {
  const isDisabled = (root: string) => mirror.provider(root)?.traits.includes(DISABLED_TRAIT) ?? false;
  const providers = () => [...mirror.providers()].map(({ uuid }) => uuid);
  const disabled = new Set(providers().filter(isDisabled));
  return mirror.onChange((changed) => {
    for (const root of changed === 'all' ? providers() : changed.roots) {
      if (isDisabled(root)) disabled.add(root);
      else if (disabled.delete(root)) facts.noteEnabled(facts.node(root)?.host ?? '');
    }
  });
}
