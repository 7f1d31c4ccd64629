import type { Glyphs } from '../glyphs';
import type { ProviderDocument } from './documents';

/** A provider's place in the drawing of its tree. */
export interface Drawn<P> {
  readonly provider: P;
  /** In front of its name. */
  readonly lead: string;
  /** In front of further lines of its own. */
  readonly below: string;
}

/**
 * Providers in the order of a drawing: every tree from its root down, siblings by name. Whose parent is not among them is
 * drawn as a root.
 */
export function drawForest<P extends ProviderDocument>(
  providers: readonly P[],
  glyphs: Pick<Glyphs, 'branch' | 'lastBranch' | 'through'>,
): Drawn<P>[] {
  const children = new Map<string, P[]>(providers.map(({ uuid }) => [uuid, []]));
  const roots: P[] = [];
  for (const provider of providers.toSorted(compareNames)) {
    (children.get(provider.parent_provider_uuid ?? '') ?? roots).push(provider);
  }
  const drawn: Drawn<P>[] = [];
  const draw = (provider: P, lead: string, indent: string) => {
    const own = children.get(provider.uuid) ?? [];
    drawn.push({ provider, lead, below: `${indent}${own.length > 0 ? glyphs.through : NOTHING}` });
    own.forEach((child, i) => {
      const isLast = i === own.length - 1;
      const [branch, beyond] = isLast ? [glyphs.lastBranch, NOTHING] : [glyphs.branch, glyphs.through];
      draw(child, `${indent}${branch}`, `${indent}${beyond}`);
    });
  };
  for (const root of roots) draw(root, '', '');
  return drawn;
}

/** By name, `host-2` before `host-10`. */
export function compareNames(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name.localeCompare(b.name, 'en', { numeric: true });
}

/** As wide as a branch. */
const NOTHING = '   ';
