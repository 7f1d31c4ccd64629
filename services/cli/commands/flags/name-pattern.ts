/** The parser of names in which `*` stands for anything: `web-*`. */
export function pattern(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[^A-Za-z0-9_]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
