import type { Check, ClassFilter } from './filter';

/**
 * image_properties: only hosts that can run the image: its `hw_architecture`, `img_hv_type` and `hw_vm_mode`.
 *
 * Each property that the request gives must be among the values that the host's agent reports as the capability of that
 * name; case does not matter. A host that reports nothing under the name is refused. Other properties are not looked at.
 * Reasons: `image_<property>`.
 */
export const imagePropertiesFilter: ClassFilter = {
  kind: 'class',
  name: 'image_properties',
  saysWhere: true,
  prepare: ({ imageProperties }) =>
    LOOKED_AT.flatMap((property) => {
      const value = imageProperties[property];
      return value === undefined || value === '' ? [] : [supports(property, value)];
    }),
};

const LOOKED_AT = ['hw_architecture', 'img_hv_type', 'hw_vm_mode'] as const;

function supports(property: string, value: string): Check {
  const wanted = value.toLowerCase();
  const reason = { symbol: `image_${property}`, phrase: `do not support ${property} ${value}` };
  return {
    refuse: ({ host }) =>
      host.capabilities[property]?.some((supported) => supported.toLowerCase() === wanted) ? undefined : reason,
    describe: ({ host }) =>
      `the image wants ${property} ${value}, the host supports ${host.capabilities[property]?.join(', ') || 'none'}`,
  };
}
