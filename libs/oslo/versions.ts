/**
 * True when a server of one version can answer a caller of another, `4.5` and `4.3`: the major is the same, and the
 * server's minor is not older.
 */
export function isCompatible(server: string, asked: string): boolean {
  const [serverMajor, serverMinor] = partsOf(server);
  const [major, minor] = partsOf(asked);
  return major === serverMajor && minor <= serverMinor;
}

/** `1.14` as numbers; a text of another form is older than every version. */
export function partsOf(version: string): readonly [number, number] {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})$/.exec(version) ?? [];
  return major === undefined ? [-1, -1] : [Number(major), Number(minor)];
}
