import type { Resources } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/view';
import type { PendingClaims } from './pending-claims';

/** The view with claims on their way counted as used: what the candidate search must look at. */
export function viewWithPending(view: PlacementView, pending: PendingClaims): PlacementView {
  return new Proxy(view, {
    get(target, name) {
      if (name === 'usage') return (uuid: string) => withPending(target.usage(uuid), pending.usedOn(uuid));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Amounts in use, claims on their way included. */
function withPending(used: Resources, pending: Resources | undefined): Resources {
  if (!pending) return used;
  const sum: Record<string, number> = { ...used };
  for (const name in pending) sum[name] = (sum[name] ?? 0) + (pending[name] as number);
  return sum;
}
