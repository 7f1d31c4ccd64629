/** The texts of a form, by field name. */
export function textsOf(form: HTMLFormElement): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') texts[name] = value;
  return texts;
}
