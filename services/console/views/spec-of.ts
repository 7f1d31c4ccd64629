import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';
import { type RequestSpec, requestSpec } from '#libs/domain/request-spec';

const NOTHING = requestSpec({}, { projectId: '', userId: '' });

/** The request of a record; an empty one for a record without a readable one, such as that of an adopted instance. */
export function specOf({ requestSpec: bytes }: Pick<Instance, 'requestSpec'>): RequestSpec {
  try {
    return bytes.length === 0 ? NOTHING : requestSpecCodec.decode(bytes);
  } catch {
    return NOTHING;
  }
}
