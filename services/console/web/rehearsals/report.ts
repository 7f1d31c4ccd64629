/** A report of `berth rehearse --json`: an operation, or the loss of each domain in turn. */
export type Report =
  | ({ readonly kind: 'operation' } & OperationReport)
  | { readonly kind: 'losses'; readonly losses: readonly Loss[] };

/** The loss of one domain, as one rack. */
export interface Loss {
  readonly domain: string;
  readonly hosts: number;
  readonly summary: Summary;
  readonly cameAbout: readonly string[];
}

/** The part of an operation's report that the page shows. */
export interface OperationReport extends Summary {
  readonly title: string;
  readonly hosts: number;
  readonly instances: number;
  readonly ageMs: number;
  /** Conditions of `--fail-if` that came about. */
  readonly cameAbout: readonly string[];
  /** One for each rehearsal. */
  readonly timelines: readonly Timeline[];
}

/** The outcomes of all rehearsals of one operation. */
export interface Summary {
  readonly rehearsals: number;
  readonly metrics: Readonly<Record<string, Distribution>>;
  readonly refused: readonly Refused[];
  readonly broken: readonly { readonly what: string; readonly seeds: readonly number[] }[];
  readonly before: FleetUse;
  readonly after: FleetUse;
  /** In the rehearsal of the median time. */
  readonly timeline: readonly (readonly [seconds: number, arrived: number])[];
}

/** Arrivals of instances in one rehearsal, by seconds from its beginning. */
export interface Timeline {
  readonly seed: number;
  readonly refused: number;
  readonly broken: number;
  readonly arrivals: readonly number[];
}

export interface Distribution {
  readonly least: number;
  readonly median: number;
  readonly p95: number;
  readonly most: number;
}

export interface Refused {
  readonly uuid: string;
  readonly name: string;
  readonly resources: Readonly<Record<string, number>>;
  readonly why: string;
  readonly times: number;
}

export interface FleetUse {
  readonly hosts: number;
  readonly capacity: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly largestFree: Readonly<Record<string, number>>;
}

/** Bytes of a report that are read. */
export const MAX_REPORT_BYTES = 32 * 1024 * 1024;

/** The report in a file; undefined when there is none in it. */
export function readReport(text: string): Report | undefined {
  const value = parsed(text);
  if (Array.isArray(value)) {
    const isLosses = value.length > 0 && value.every(isLoss);
    return isLosses ? { kind: 'losses', losses: value as readonly Loss[] } : undefined;
  }
  const areLists = isSummary(value) && [value['cameAbout'], value['timelines']].every((list) => Array.isArray(list));
  const isReport = areLists && typeof value['title'] === 'string';
  return isReport ? { kind: 'operation', ...(value as unknown as OperationReport) } : undefined;
}

function isLoss(value: unknown): boolean {
  return isObject(value) && typeof value['domain'] === 'string' && isSummary(value['summary']);
}

function isSummary(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const { metrics, before, after, refused, broken, timeline } = value;
  const areUses = [before, after].every((use) => isObject(use) && isObject(use['capacity']) && isObject(use['used']));
  const areLists = [refused, broken, timeline].every((list) => Array.isArray(list));
  return areUses && areLists && isObject(metrics) && Object.values(metrics).every(isObject);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
