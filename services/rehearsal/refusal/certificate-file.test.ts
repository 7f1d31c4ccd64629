import { requestSpec } from '#libs/domain/request-spec';
import { decodeCertificate, encodeCertificate } from './certificate-file';
import { CERTIFICATE_FORMAT, type RefusalCertificate } from './verify-refusal';

const CERTIFICATE: RefusalCertificate = {
  format: CERTIFICATE_FORMAT,
  madeAtMs: 1,
  request: requestSpec({ VCPU: 64 }, { projectId: 'p', userId: 'u', requiredTraits: ['CUSTOM_FAST'] }),
  refusals: [{ reason: 'capacity_vcpu', hosts: ['h1', 'h2'], refusedAlone: 'h1' }],
};

it('reads what it wrote', () => {
  expect(decodeCertificate(encodeCertificate(CERTIFICATE))).toEqual(CERTIFICATE);
});

const changed = (fields: object) => JSON.stringify({ ...CERTIFICATE, ...fields });

it.each([
  ['no JSON', '{'],
  ['null', 'null'],
  ['another format', changed({ format: 'berth-refusal-2' })],
  ['no request', changed({ request: undefined })],
  ['a request of other types', changed({ request: { ...CERTIFICATE.request, requiredTraits: [{}] } })],
  ['no refusals', changed({ refusals: {} })],
  ['a refusal without hosts', changed({ refusals: [{ reason: 'capacity_vcpu', refusedAlone: 'h1' }] })],
  ['null for a refusal', changed({ refusals: [null] })],
])('refuses %s', (_, text) => {
  expect(() => decodeCertificate(text)).toThrow(expect.objectContaining({ reason: 'bad_certificate' }));
});
