/** Requests of devices in one request spec, and constraints on them. */
export const MAX_DEVICE_REQUESTS = 16;
/** Alternatives of one request of devices, and expressions of one alternative. */
export const MAX_DEVICE_ALTERNATIVES = 8;
/** Devices that one request spec takes at most, whichever alternatives are chosen. */
export const MAX_DEVICES_ASKED = 32;
/** Bytes of one expression over a device. */
export const MAX_SELECTOR_BYTES = 2_048;
/** Attributes of one device; half as many capacities and taints. */
export const MAX_DEVICE_ATTRIBUTES = 32;
export const MAX_DEVICE_TAINTS = MAX_DEVICE_ATTRIBUTES / 2;
/** Bytes of a text value of an attribute. */
export const MAX_ATTRIBUTE_BYTES = 128;
