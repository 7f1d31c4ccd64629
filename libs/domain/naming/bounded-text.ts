/** Longest text of an error, whoever's words it repeats: it goes over the bus, into logs and records. */
export const MAX_ERROR_TEXT = 4_096;
const MAX_QUOTED = 64;
/** Half of a surrogate pair, as a cut leaves it. */
const HALF_PAIR = /\p{Surrogate}/gu;

/** A text cut in its middle where it is longer: both ends say what it is about. */
export function boundedText(text: string, most = MAX_ERROR_TEXT): string {
  if (text.length <= most) return text;
  const left = ` … (${text.length} characters) … `;
  const kept = most - left.length;
  const head = Math.ceil((kept * 2) / 3);
  return `${text.slice(0, head)}${left}${text.slice(text.length - (kept - head))}`.replaceAll(HALF_PAIR, '');
}

/** The beginning of what a client sent, for an error about it. */
export function quoted(text: string): string {
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…`.replaceAll(HALF_PAIR, '') : text;
}
