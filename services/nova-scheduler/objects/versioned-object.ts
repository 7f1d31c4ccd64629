import { RemoteError } from '#libs/oslo/remote-error';
import { partsOf } from '#libs/oslo/versions';

/** Reads a value that stands at a path. @throws RemoteError when it has another form */
export type Read<T> = (value: unknown, path: string) => T;

/** A field of an object: how it is read, and the version of the object that brought it. */
export interface Field<T> {
  readonly read: Read<T>;
  readonly since?: string;
}

/**
 * A versioned object of Nova's, as a table: its fields, and the versions that are understood. The fields that are not set, and those
 * that are null, read as undefined.
 */
export interface ObjectTable<F extends Fields> {
  readonly name: string;
  /** Versions of one major; the last is the newest that is understood. */
  readonly newest: string;
  readonly fields: F;
  /** True where few of its fields matter: those that the table does not have are left out instead of refused. */
  readonly isPartial?: boolean;
}

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The type that a table reads. */
export type ObjectOf<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T | undefined : never;
};

export const NOVA_NAMESPACE = 'nova';

/** Reads an object by its table. */
export function object<F extends Fields>(table: ObjectTable<F>): Read<ObjectOf<F>> {
  return (value, path) => {
    const { name, version, data } = envelopeOf(value, path);
    if (name !== table.name) throw malformed(path, `is a ${name}, not a ${table.name}`);
    const [major, minor] = partsOf(table.newest);
    const [itsMajor, itsMinor] = partsOf(version);
    if (itsMajor !== major || (itsMinor > minor && !table.isPartial)) throw unknownVersion(table, version);
    const read: Record<string, unknown> = {};
    for (const [key, content] of Object.entries(data)) {
      const field = Object.hasOwn(table.fields, key) ? table.fields[key] : undefined;
      if (field === undefined) {
        if (table.isPartial) continue;
        throw malformed(`${path}.${key}`, `is no field of ${name} ${version}`);
      }
      const [, since] = partsOf(field.since ?? `${major}.0`);
      if (since > itsMinor)
        throw malformed(`${path}.${key}`, `is no field of ${name} ${version}: ${field.since} has it`);
      if (content !== null) read[key] = field.read(content, `${path}.${key}`);
    }
    return read as ObjectOf<F>;
  };
}

/** An object as Nova's services send it. */
export function writeObject(name: string, version: string, data: Readonly<Record<string, unknown>>): object {
  return {
    'nova_object.name': name,
    'nova_object.namespace': NOVA_NAMESPACE,
    'nova_object.version': version,
    'nova_object.data': data,
    'nova_object.changes': Object.keys(data),
  };
}

function envelopeOf(value: unknown, path: string) {
  const outer = record(value, path);
  const name = text(outer['nova_object.name'], `${path}.nova_object.name`);
  const namespace = text(outer['nova_object.namespace'], `${path}.nova_object.namespace`);
  if (namespace !== NOVA_NAMESPACE) throw malformed(path, `is of namespace ${namespace}, not ${NOVA_NAMESPACE}`);
  const version = text(outer['nova_object.version'], `${path}.nova_object.version`);
  return { name, version, data: record(outer['nova_object.data'], `${path}.nova_object.data`) };
}

function unknownVersion({ name, newest }: ObjectTable<Fields>, version: string): RemoteError {
  const message = `Version ${version} of ${name} is not supported, supported version is ${newest}`;
  return new RemoteError('IncompatibleObjectVersion', 'oslo_versionedobjects.exception', message);
}

/** Something that Nova does not send. */
export function malformed(path: string, what: string): RemoteError {
  return new RemoteError('NovaException', 'nova.exception', `${path} ${what}`);
}

// Readers of plain values.

export const text: Read<string> = (value, path) => {
  if (typeof value === 'string') return value;
  throw malformed(path, 'is not a text');
};

/** A text that the store keeps: as long as Placement lets a project or a user be. */
export const identifier: Read<string> = (value, path) => {
  const read = text(value, path);
  if (read.length <= 255) return read;
  throw malformed(path, 'is longer than 255 characters');
};

export const amount: Read<number> = (value, path) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(path, 'is not a whole number from 0');
};

export const integer: Read<number> = (value, path) => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw malformed(path, 'is not a whole number');
};

export const number: Read<number> = (value, path) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw malformed(path, 'is not a number');
};

export const flag: Read<boolean> = (value, path) => {
  if (typeof value === 'boolean') return value;
  throw malformed(path, 'is not true or false');
};

/** A field that is carried and not used. */
export const unused: Read<undefined> = () => undefined;

/** A value of an image property: texts, numbers and booleans as text. */
export const scalar: Read<string> = (value, path) => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw malformed(path, 'is not a text, a number or a boolean');
};

export const record: Read<Readonly<Record<string, unknown>>> = (value, path) => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw malformed(path, 'is not an object');
};

export function list<T>(read: Read<T>): Read<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw malformed(path, 'is not a list');
    return value.map((one, i) => read(one, `${path}[${i}]`));
  };
}

/** A value that may be null, which reads as undefined. */
export function nullable<T>(read: Read<T>): Read<T | undefined> {
  return (value, path) => (value === null ? undefined : read(value, path));
}

export function mapOf<T>(read: Read<T>): Read<ReadonlyMap<string, T>> {
  return (value, path) =>
    new Map(Object.entries(record(value, path)).map(([key, one]) => [key, read(one, `${path}.${key}`)]));
}
