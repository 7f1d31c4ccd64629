import type { EncodedRequestSpec } from '../../contracts/codec';
import { requestSpecCodec } from '../../contracts/request-spec';
import { type RequestSpec, requestSpec } from '../../domain/request-spec';

/** A request for one VCPU and 1 GiB; `fields` override the defaults. */
export function aRequestSpec(fields: Partial<RequestSpec> = {}): RequestSpec {
  return requestSpec({ VCPU: 1, MEMORY_MB: 1_024 }, { projectId: 'project-1', userId: 'user-1', ...fields });
}

/** The same, in the form of messages. */
export function anEncodedSpec(fields: Partial<RequestSpec> = {}): EncodedRequestSpec {
  return requestSpecCodec.encode(aRequestSpec(fields));
}
