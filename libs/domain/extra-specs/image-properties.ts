/** Image properties that ask something of processors and devices, as the extra specs `hw:...` do. */
export const IMAGE_WISHES = [
  'hw_cpu_policy',
  'hw_cpu_thread_policy',
  'hw_cpu_realtime_mask',
  'hw_pci_numa_affinity_policy',
] as const;
export type ImageWish = (typeof IMAGE_WISHES)[number];

/** True for the key of such a property. */
export function isImageWish(key: string): boolean {
  return IMAGE_WISHES.some((wish) => wish === key);
}
