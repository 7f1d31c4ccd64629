import { setQuotaMethod, unsetQuotaMethod } from '../contracts/quotas';
import { requestSpecCodec } from '../contracts/request-spec';
import { aRequestSpec } from '../testing/instances/request-spec';
import { readSpec } from './fill-in-flavor';

const refused = (reason: string, field: string) => expect.objectContaining({ reason, details: { field } }) as Error;

it.each([
  [{ resources: { VPCU: 1 } }, 'unknown_resource_class', 'request_spec.resources'],
  [{ preferredResources: { GPU: 1 } }, 'unknown_resource_class', 'request_spec.preferred_resources'],
  [{ requiredTraits: ['FAST'] }, 'unknown_trait', 'request_spec.required_traits'],
  [{ forbiddenTraits: ['SLOW'] }, 'unknown_trait', 'request_spec.forbidden_traits'],
  [{ projectId: 'demo ' }, 'malformed_name', 'request_spec.project_id'],
  [{ projectId: 'de\u0000mo' }, 'malformed_name', 'request_spec.project_id'],
  [{ userId: '\tme' }, 'malformed_name', 'request_spec.user_id'],
])('a client’s request with %j is refused by the name of its field', (fields, reason, field) => {
  const encoded = requestSpecCodec.encode(aRequestSpec({ resources: { VCPU: 1 }, ...fields }));
  expect(() => readSpec(encoded)).toThrow(refused(reason, field));
});

it.each([
  [{ limits: { VPCU: 3 } }, 'unknown_resource_class', 'limits'],
  [{ borrowLimits: { GPU: 3 } }, 'unknown_resource_class', 'borrow_limits'],
  [{ projectId: ' demo' }, 'malformed_name', 'project_id'],
  [{ cohort: 'c\n' }, 'malformed_name', 'cohort'],
])('a quota with %j is refused by the name of its field', (fields, reason, field) => {
  const nothing = { isDefault: false, version: 0, limits: {}, borrowLimits: {}, lendLimits: {}, cohort: undefined };
  const { request } = setQuotaMethod;
  expect(() => request.decode(request.encode({ projectId: 'demo', ...nothing, ...fields }))).toThrow(
    refused(reason, field),
  );
});

it('a quota that was set on a name that is none can be taken away', () => {
  const { request } = unsetQuotaMethod;
  const asked = { projectId: 'demo ', isDefault: false, version: 0, classes: ['VPCU', 'instances'] };
  expect(request.decode(request.encode(asked))).toEqual(asked);
});
