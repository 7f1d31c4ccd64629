import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';

/** The extra spec with a request's image. */
export const IMAGE_SPEC = 'berth:image';

/**
 * The image of an instance. Requests may come from anybody, so they can only name images that the operator listed.
 *
 * @throws BerthError `permission_denied / image_not_allowed`.
 */
export function imageFor(
  { extraSpecs }: RequestSpec,
  policy: { readonly dockerImage: string; readonly dockerAllowed: readonly string[] },
): string {
  const wanted = extraSpecs[IMAGE_SPEC];
  if (wanted === undefined) return policy.dockerImage;
  if (policy.dockerAllowed.includes(wanted)) return wanted;
  const message = `'${wanted}' is not among the images that requests may run on this host (BERTH_AGENT_DOCKER_ALLOWED)`;
  throw new BerthError('permission_denied', 'image_not_allowed', message);
}
