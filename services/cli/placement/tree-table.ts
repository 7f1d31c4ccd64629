import { bar, type Terminal, table } from '../terminal';
import type { ProviderDocument } from './documents';
import { type Drawn, drawForest } from './forest';
import { fillsOf, type StockedProvider } from './stock';

interface Marks {
  /** Providers that share what they have through aggregates: told beside their names. */
  readonly sharing: readonly ProviderDocument[];
  /** The provider that the reader looks for. */
  readonly asked?: ProviderDocument;
}

/**
 * Trees of providers with a line for each class that a provider has; the forests one below the other:
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

/** The name stands on the line of the first class. */
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
