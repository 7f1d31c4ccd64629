/** A control character, or one that turns the direction of what follows, with the rest of a colour if that begins there. */
const CONTROLS = /(?:\p{Cc}|[\u202a-\u202e\u2066-\u2069])(\[\d{1,2}m)?/gu;
const ESCAPE = '\u001b';
const CONCEALED = '[8m';

/**
 * A text that a terminal shows and does not obey: names, reasons and faults are other people's words, and an escape sequence among
 * them could rewrite what stands above, or the clipboard. Line breaks and colours stay.
 */
export function harmless(text: string): string {
  return text.replaceAll(CONTROLS, (found, colour: string | undefined, at: number) => {
    const [first = ''] = found;
    if (first === '\n' || first === '\t' || (first === '\r' && text[at + 1] === '\n')) return found;
    return first === ESCAPE && colour !== undefined && colour !== CONCEALED ? found : shown(first) + (colour ?? '');
  });
}

/** JSON, in which engines escape fewer of them. */
export function harmlessJson(json: string): string {
  return json.replaceAll(
    CONTROLS,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}${found.slice(1)}`,
  );
}

/** Unicode's picture of a control character. */
function shown(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}
