/** Options of a nova.conf by section and name; each with all its values, of which the last counts unless it is a list of several. */
export type NovaConf = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

const SECTION = /^\[([^\]]+)\]\s*$/;
const ASSIGNMENT = /^([^\s=:][^=:]*?)\s*[=:]\s*(.*)$/;

/**
 * Reads an INI file as oslo.config does: an option may stand several times, and a line that begins with a blank goes on with the value
 * before. Libraries for INI files know neither.
 */
export function parseNovaConf(text: string): NovaConf {
  const sections = new Map<string, Map<string, string[]>>();
  let section = new Map<string, string[]>();
  sections.set('DEFAULT', section);
  let values: string[] | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) {
      if (line.trim() === '') values = undefined;
      continue;
    }
    if (/^\s/.test(line)) {
      if (values !== undefined) values.push(`${values.pop() ?? ''} ${line.trim()}`.trim());
      continue;
    }
    const name = SECTION.exec(line)?.[1]?.trim();
    if (name !== undefined) {
      section = sections.get(name) ?? new Map<string, string[]>();
      sections.set(name, section);
      values = undefined;
      continue;
    }
    const [, option, value] = ASSIGNMENT.exec(line) ?? [];
    if (option === undefined || value === undefined) continue;
    values = section.get(option) ?? [];
    section.set(option, values);
    values.push(unquoted(value.trim()));
  }
  return sections;
}

/** The value that counts; undefined for an option that is not set. */
export function valueOf(conf: NovaConf, section: string, option: string): string | undefined {
  return conf.get(section)?.get(option)?.at(-1);
}

/** Items of a list. */
export function itemsOf(value: string): string[] {
  return value
    .split(',')
    .map((item) => unquoted(item.trim()))
    .filter((item) => item !== '');
}

/** oslo.config's words for true. */
export function isTrueWord(value: string): boolean {
  return /^(true|1|on|yes)$/i.test(value);
}

function unquoted(value: string): string {
  return /^(["']).*\1$/.test(value) && value.length > 1 ? value.slice(1, -1) : value;
}
