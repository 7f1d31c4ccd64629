/** Firmware's placeholders for a number that was never set. */
const PLACEHOLDER =
  /^(0+|f+|none|null|n\/?a|unknown|not (specified|available|applicable|present)|default string|system serial number|to be filled by o\.?e\.?m\.?|x+|\.+|-+|1234567890|0123456789)$/i;
const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const MAX_SERIAL = 100;

/**
 * Identifies a ComputerSystem's machine by its firmware: its `UUID`, else `serial <SerialNumber>`, else ''. Never by
 * `HostName` or `AssetTag`, which its tenant can set.
 */
export function systemIdOf(system: Readonly<Record<string, unknown>>): string {
  return uuidOf(system) || serialOf(system);
}

/** '' without one. */
export function serialOf({ SerialNumber }: Readonly<Record<string, unknown>>): string {
  const serial = typeof SerialNumber === 'string' ? SerialNumber.trim() : '';
  return serial === '' || PLACEHOLDER.test(serial) ? '' : `serial ${serial.slice(0, MAX_SERIAL)}`;
}

function uuidOf({ UUID: uuid }: Readonly<Record<string, unknown>>): string {
  if (typeof uuid !== 'string' || !UUID.test(uuid.trim())) return '';
  const digits = uuid.replaceAll('-', '').trim().toLowerCase();
  return PLACEHOLDER.test(digits) ? '' : digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
