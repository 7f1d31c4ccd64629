import type { ProviderDocument } from '../client/placement-documents';
import type { StockedProvider } from '../client/providers';
import { fillsOf } from './fill';
import { bar, table } from './table';
import type { Glyphs, Terminal } from './terminal';

interface Marks {
  /** Providers that share their inventories through aggregates: marked beside their names. */
  readonly sharing: readonly ProviderDocument[];
  /** The requested provider: shown in bold. */
  readonly asked?: ProviderDocument;
}

/**
 * Trees of providers, with a line per resource class; the forests one below the other:
 *
 * ```
 * PROVIDER       CLASS         FILL             USED  CAPACITY
 * host-1         DISK_GB       ██░░░░░░░░  20%   100       500
 * ├─ numa-0      VCPU          ████░░░░░░  40%     8        20
 * │  │           MEMORY_MB     █░░░░░░░░░  10%   100     1,000
 * │  └─ nic-0    SRIOV_NET_VF  ░░░░░░░░░░   0%     0         8
 * └─ numa-1      VCPU          ░░░░░░░░░░   0%     0        20
 * ```
 */
export function treeTable(terminal: Terminal, forests: readonly (readonly StockedProvider[])[], marks: Marks): string {
  const drawn = forests.flatMap((providers) => drawForest(providers, terminal.glyphs));
  const rows = drawn.flatMap((one) => linesOf(terminal, one, marks));
  return table(terminal, ['PROVIDER', 'CLASS', 'FILL', 'USED', 'CAPACITY'], rows);
}

/** The name is on the line of the first class. */
function linesOf(terminal: Terminal, drawn: Drawn<StockedProvider>, marks: Marks): (string | number)[][] {
  const { dim } = terminal.colours;
  const { provider, lead, below } = drawn;
  const first = `${dim(lead)}${showName(terminal, provider, marks)}`;
  const fills = fillsOf(provider);
  if (fills.length === 0) return [[first, dim('-'), '', '', '']];
  return fills.map(({ resourceClass, used, capacity }, i) => {
    const name = i === 0 ? first : dim(below);
    return [name, resourceClass, bar(terminal, used, capacity), used, capacity];
  });
}

function showName({ colours }: Terminal, provider: StockedProvider, { sharing, asked }: Marks): string {
  const isStrong = asked === undefined ? provider.parent_provider_uuid === null : asked.uuid === provider.uuid;
  const name = isStrong ? colours.bold(provider.name) : provider.name;
  return sharing.some(({ uuid }) => uuid === provider.uuid) ? `${name} ${colours.dim('(shares)')}` : name;
}

/** A provider with the branches drawn before it. */
export interface Drawn<P> {
  readonly provider: P;
  /** Prefix of its name. */
  readonly lead: string;
  /** Prefix of its further lines. */
  readonly below: string;
}

/** Providers in drawing order: from the root down, siblings by name. One whose parent is missing is drawn as a root. */
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

/** Blanks, as wide as a branch. */
const NOTHING = '   ';
