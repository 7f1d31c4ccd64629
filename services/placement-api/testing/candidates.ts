import type { Answered } from './answered';

/** GET /allocation_candidates as answered since 1.12. */
export interface CandidatesBody {
  readonly allocation_requests: readonly {
    readonly allocations: Readonly<Record<string, { readonly resources: Readonly<Record<string, number>> }>>;
    readonly mappings?: Readonly<Record<string, readonly string[]>>;
  }[];
  readonly provider_summaries: Readonly<Record<string, object>>;
}

export function candidatesBody({ status, body, text }: Answered): CandidatesBody {
  if (status !== 200) throw new Error(`no candidates, but ${status} ${text}`);
  return body as CandidatesBody;
}

/** Candidates in a readable notation, sorted: `root VCPU:1 + child CUSTOM_GPU:2`. `names` are the providers' names. */
export function written(answered: Answered, names: Readonly<Record<string, string>>): string[] {
  const nameOf = Object.fromEntries(Object.entries(names).map(([name, uuid]) => [uuid, name]));
  const lines = candidatesBody(answered).allocation_requests.map(({ allocations }) =>
    Object.entries(allocations)
      .map(([uuid, { resources }]) => {
        const amounts = Object.entries(resources).map(([resourceClass, amount]) => `${resourceClass}:${amount}`);
        return `${nameOf[uuid] ?? uuid} ${amounts.toSorted().join(' ')}`;
      })
      .toSorted()
      .join(' + '),
  );
  return lines.toSorted();
}
