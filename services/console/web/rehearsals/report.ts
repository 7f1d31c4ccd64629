/** The part of a report of `berth rehearse --json` that the page shows. */
export interface Report {
  readonly title: string;
  readonly rehearsals: number;
  readonly hosts: number;
  readonly instances: number;
  readonly ageMs: number;
  readonly metrics: Readonly<Record<string, Distribution>>;
  readonly refused: readonly Refused[];
  readonly broken: readonly { readonly what: string; readonly seeds: readonly number[] }[];
  readonly before: FleetUse;
  readonly after: FleetUse;
  readonly timeline: readonly (readonly [seconds: number, arrived: number])[];
  /** Conditions of `--fail-if` that came about. */
  readonly cameAbout: readonly string[];
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
  if (!isObject(value)) return undefined;
  const { title, metrics, before, after, refused, broken, timeline, cameAbout } = value;
  const areUses = [before, after].every((use) => isObject(use) && isObject(use['capacity']) && isObject(use['used']));
  const areLists = [refused, broken, timeline, cameAbout].every((list) => Array.isArray(list));
  const areDistributions = isObject(metrics) && Object.values(metrics).every((one) => isObject(one));
  const isReport = typeof title === 'string' && areUses && areLists && areDistributions;
  return isReport ? (value as unknown as Report) : undefined;
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
