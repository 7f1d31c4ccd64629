/** An address as the router takes it: one that can't be decoded stands for itself, slashes before it don't count. */
export function routableUrl(url: string): string {
  const [path = '', ...query] = url.replace(/^\/+/, '/').split('?');
  return [isDecodable(path) ? path : path.replaceAll('%', '%25'), ...query].join('?');
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** What stands behind the `?` of an address. */
export function queryStringOf(url: string): string {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start + 1);
}
