import * as fc from 'fast-check';
import type { HostsRefused } from '#libs/contracts/diagnosis';
import { inventory } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { StoreImage } from '#libs/placement/port/placement-store';
import { histories, specs } from '../../scheduler/testing/arbitrary-fleet';
import { aWorld, classified } from '../../scheduler/testing/world';
import { CERTIFICATE_FORMAT, type RefusalCertificate, verifyRefusal } from './verify-refusal';

/* Certificates of a scheduler agree with the rows; altered ones do not. */

const HOSTS = ['h0', 'h1', 'h2', 'h3'] as const;
const UNEVEN = { VCPU: inventory(8, { maxUnit: 4 }), MEMORY_MB: inventory(8, { stepSize: 2 }) };
/** Requests that are sometimes refused, with everything that a certificate may name. */
const asked = fc.record({
  spec: specs,
  VCPU: fc.integer({ min: 1, max: 12 }),
  MEMORY_MB: fc.integer({ min: 1, max: 12 }),
  forceHosts: fc.constantFrom<readonly string[]>([], [], ['h1'], ['h0', 'h9']),
  ignoreHosts: fc.subarray([...HOSTS], { maxLength: 2 }),
});
/** Reasons that depend on more than the rows. */
const NOT_IN_ROWS = /^(host_quarantined|no_candidate|nominated|group_|other_lease)/;

interface Certified {
  readonly certificate: RefusalCertificate;
  readonly image: StoreImage;
}

async function certify(
  history: readonly { run(world: ReturnType<typeof aWorld>): Promise<unknown> }[],
  { spec, VCPU, MEMORY_MB, ...named }: typeof asked extends fc.Arbitrary<infer T> ? T : never,
): Promise<Certified | undefined> {
  const world = aWorld();
  const scheduler = await world.scheduler();
  for (const host of HOSTS) await world.report(host, { inventories: UNEVEN });
  await world.aggregate('others', { filter_tenant_id: 'somebody else' }, 'h3');
  for (const happening of history) await happening.run(world);
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const wanted: Partial<RequestSpec> = { ...spec, resources: { VCPU, MEMORY_MB }, ...named };
  const { certificate: refusals } = scheduler.explain(wanted, '', 1, { certificate: true });
  const image = await world.placement.image();
  await world.close();
  if (refusals === undefined || refusals.some(({ reason }) => NOT_IN_ROWS.test(reason))) return undefined;
  const { spec: request } = classified(wanted);
  return { certificate: { format: CERTIFICATE_FORMAT, madeAtMs: 1, request, refusals }, image };
}

/** Alterations that make a certificate false; undefined where that is not possible. */
const ALTERATIONS: Readonly<
  Record<string, (refusals: readonly HostsRefused[]) => readonly HostsRefused[] | undefined>
> = {
  'a host less': ([first, ...rest]) => first && [{ ...first, hosts: first.hosts.slice(1) }, ...rest],
  'a host that there is not': ([first, ...rest]) => first && [{ ...first, hosts: [...first.hosts, 'h9'] }, ...rest],
  'a host twice': ([first, ...rest]) => first && [{ ...first, hosts: [...first.hosts, ...first.hosts] }, ...rest],
  'a reason less': ([, ...rest]) => rest,
  'a reason more, of no host': (refusals) => [...refusals, { reason: 'host_disabled_', hosts: [], refusedAlone: 'h0' }],
  'a reason that does not hold': ([first, ...rest]) =>
    first && [{ ...first, reason: 'missing_trait_hw_none' }, ...rest],
  'another witness': ([first, second, ...rest]) =>
    first && second && [{ ...first, refusedAlone: second.refusedAlone }, second, ...rest],
};

it('a certificate of a scheduler holds, and an altered one does not', async () => {
  let [certified, several] = [0, 0];
  await fc.assert(
    fc.asyncProperty(histories(20), asked, async (history, request) => {
      const made = await certify(history, request);
      if (made === undefined) return;
      const { certificate, image } = made;
      certified++;
      if (certificate.refusals.length > 1) several++;
      expect(verifyRefusal(certificate, image).problems).toEqual([]);
      for (const [what, alter] of Object.entries(ALTERATIONS)) {
        const refusals = alter(certificate.refusals);
        if (refusals === undefined) continue;
        const { problems } = verifyRefusal({ ...certificate, refusals }, image);
        expect([what, problems.length > 0]).toEqual([what, true]);
      }
    }),
    { numRuns: 500 },
  );
  expect(certified).toBeGreaterThan(50);
  expect(several).toBeGreaterThan(20);
}, 120_000);

it('does not hold any more when a host could take it', async () => {
  const request = { spec: {}, VCPU: 12, MEMORY_MB: 2, forceHosts: [], ignoreHosts: [] };
  const made = await certify([], request);
  if (made === undefined) throw new Error('it was not refused');
  const { certificate, image } = made;
  const providers = (image.tables['provider'] ?? []).map(([key, revision, row]) => {
    return [
      key,
      revision,
      { ...(row as object), inventories: { VCPU: inventory(64), MEMORY_MB: inventory(64) } },
    ] as const;
  });
  const larger = { ...image, tables: { ...image.tables, provider: providers } };
  expect(verifyRefusal(certificate, image).problems).toEqual([]);
  expect(verifyRefusal(certificate, larger).problems.join()).toContain('does not refuse h0');
});

it('confirms nothing of what it does not know', async () => {
  const made = await certify([], { spec: {}, VCPU: 12, MEMORY_MB: 2, forceHosts: [], ignoreHosts: [] });
  if (made === undefined) throw new Error('it was not refused');
  const { certificate, image } = made;
  const { request, refusals } = certificate;
  const problemsOf = (changed: Partial<RefusalCertificate>) =>
    verifyRefusal({ ...certificate, ...changed }, image).problems.join('; ');
  expect(problemsOf({ request: { ...request, extraSpecs: { 'hw:numa_nodes': '1' } } })).toContain('extra specs');
  const unknown = refusals.map((one) => ({ ...one, reason: 'bad_weather' }));
  expect(problemsOf({ refusals: unknown })).toContain('bad_weather does not refuse h0');
  expect(problemsOf({ refusals: [] })).toContain('nothing refuses h0');
});
