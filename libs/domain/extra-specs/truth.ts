/** Reads Nova's words for true and false, in extra specs and image properties; undefined for any other text. */
export function truthOf(text: string): boolean | undefined {
  if (/^\s*(1|t|true|on|y|yes)\s*$/i.test(text)) return true;
  return /^\s*(0|f|false|off|n|no)\s*$/i.test(text) ? false : undefined;
}
