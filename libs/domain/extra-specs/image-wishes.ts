import { IMAGE_WISHES, type ImageWish } from './image-properties';
import type { ExtraSpecError } from './parse';

/** Wishes of a flavor about hardware, and of the image where the flavor leaves them open. */
export interface HardwareWishes {
  /** By name without `hw:` and `hw_`. */
  readonly hardware: ReadonlyMap<string, string>;
  /** The extra spec, or the image property, that says it. */
  readonly keyOf: (name: string) => string;
}

/**
 * Adds an image's properties to the wishes of a flavor, by Nova's rules: a flavor's CPU policy and thread policy stand, and an image that
 * wants more is refused; the image's mask of real-time processors stands; PCI policies must be equal.
 *
 * @throws BerthError `invalid_argument / conflicting_extra_specs` with the image property.
 */
export function withImageWishes(
  flavor: ReadonlyMap<string, string>,
  imageProperties: Readonly<Record<string, string>>,
  error: ExtraSpecError,
): HardwareWishes {
  const hardware = new Map(flavor);
  const ofImage = new Set<string>();
  for (const key of IMAGE_WISHES) {
    const wish = imageProperties[key] ?? '';
    if (wish === '') continue;
    const name = key.slice('hw_'.length);
    const own = flavor.get(name);
    if (own !== undefined && RULES[key](own, wish)) {
      throw error('conflicting_extra_specs', key, `is '${wish}', and the flavor's hw:${name} is '${own}'`);
    }
    if (own !== undefined && key !== IMAGE_FIRST) continue;
    hardware.set(name, wish);
    ofImage.add(name);
  }
  return { hardware, keyOf: (name) => (ofImage.has(name) ? `hw_${name}` : `hw:${name}`) };
}

/** The image knows best which of its processors need real time. */
const IMAGE_FIRST: ImageWish = 'hw_cpu_realtime_mask';

/** By image property: true if an image must not say it beside what its flavor says. */
const RULES: Readonly<Record<ImageWish, (flavor: string, image: string) => boolean>> = {
  hw_cpu_policy: (flavor, image) =>
    (flavor === 'shared' && image !== 'shared') || (flavor === 'mixed' && image === 'dedicated'),
  hw_cpu_thread_policy: (flavor, image) => flavor !== 'prefer' && flavor !== image,
  hw_cpu_realtime_mask: () => false,
  hw_pci_numa_affinity_policy: (flavor, image) => flavor !== image,
};
