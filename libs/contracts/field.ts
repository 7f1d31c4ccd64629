/** Checks the value of a field, which travels as it is; `message` is what the field stands in. */
export type Check<T, W> = (value: W, path: string, message: unknown) => T;

/** A field that is something else as plain data than on the wire. Without `toWire` it travels as it is. */
export interface Conversion<T, W> {
  readonly fromWire: (value: W, path: string, message: unknown) => T;
  readonly toWire?: ((value: T, message: unknown) => unknown) | undefined;
}

/** The check and conversion of a field: its plain form, and the form of the generated code. */
export type Field<T, W> = Check<T, W> | Conversion<T, W>;

/** Marks a field that its sender may leave out. */
export interface MayBeLeftOut {
  readonly mayBeLeftOut: true;
}

/** Marks a field that has another name as plain data. */
export interface Renamed<N extends string> {
  readonly plainName: N;
}

/** Marks an embedded message that stays encoded, with its number. */
export interface StaysEncoded {
  readonly fieldNumber: number;
}

/** The value of a field is taken as the generated code has read it. */
export const asItIs = <T>(value: T): T => value;

/** Both directions of a field. */
export function conversionOf<T, W>(field: Field<T, W>): Conversion<T, W> {
  if (typeof field === 'function') return { fromWire: field };
  return field.toWire === asItIs ? { fromWire: field.fromWire } : field;
}
