import type { EncodedRequestSpec } from '../contracts/codec';
import { internedSpecs } from '../contracts/interned-specs';
import { requestSpecCodec } from '../contracts/request-spec';
import { leastDevices } from '../domain/devices/device-request';
import { invalidArgument } from '../domain/errors';
import { resolveSpec } from '../domain/extra-specs/resolve';
import { addResources, type Resources } from '../domain/inventory';
import type { RequestSpec } from '../domain/request-spec';
import { type FlavorDeps, requireFlavor } from './serve-flavors';

/** The parts of a spec that a conductor reads. It is understood; a named flavor is yet to be filled in. */
export interface ReadSpec {
  readonly projectId: string;
  readonly userId: string;
  /** For one instance, its devices among them; without the flavor's part. */
  readonly resources: Resources;
  /** The name of the flavor to be filled in. */
  readonly flavor: string | undefined;
}

/**
 * Reads a spec as it came from a client.
 *
 * @throws BerthError `invalid_argument` for a spec that is malformed or has extra specs that are not understood, and one
 *   that says which version of a flavor it is made from: that is the conductor's to say.
 */
export const readSpec: (encoded: EncodedRequestSpec) => ReadSpec = internedSpecs((spec) => {
  const { projectId, userId, flavor } = spec;
  const { deviceRequests } = flavor === undefined ? resolveSpec(spec, 'request_spec') : spec;
  const resources = addResources(spec.resources, leastDevices({ deviceRequests }));
  if (flavor !== undefined && flavor.version !== 0) {
    const message = 'request_spec.flavor.version is for the conductor to say: name the flavor, or spell it out';
    throw invalidArgument('flavor_version_given', message, 'request_spec.flavor.version');
  }
  return { projectId, userId, resources, flavor: flavor?.name };
});

/** A client's spec, with its flavor filled in if it names one. @throws BerthError as `readSpec` and `fillInFlavor` */
export async function withFlavor(
  c: Pick<FlavorDeps, 'flavors'>,
  requestSpec: EncodedRequestSpec,
): Promise<EncodedRequestSpec> {
  const { flavor } = readSpec(requestSpec);
  return flavor === undefined ? requestSpec : fillInFlavor(c, requestSpec, flavor);
}

/**
 * A spec that names a flavor, with what the flavor says now. The record keeps it: what is built from it later is built as
 * the flavor was when it was asked for.
 *
 * @throws BerthError `not_found / no_such_flavor`; `invalid_argument` when flavor and request do not go together.
 */
export async function fillInFlavor(
  c: Pick<FlavorDeps, 'flavors'>,
  encoded: EncodedRequestSpec,
  name: string,
): Promise<EncodedRequestSpec> {
  const { version, resources, extraSpecs } = await requireFlavor(c, name);
  const filled: RequestSpec = { ...requestSpecCodec.decode(encoded), flavor: { name, version }, resources, extraSpecs };
  resolveSpec(filled, 'request_spec');
  return requestSpecCodec.encode(filled);
}
