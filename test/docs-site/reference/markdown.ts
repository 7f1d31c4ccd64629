import { hostname } from 'node:os';

/** A table; its cells are Markdown. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replace(/\s*\n\s*/g, ' ')).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Text as code, within a table too; nothing for no text. */
export function code(text: string): string {
  return text === '' ? '' : `\`${text.replaceAll('|', '\\|')}\``;
}

/** Text that is not Markdown, as it is. */
export function plain(text: string): string {
  return text.replace(/[\\`*_[\]<>|]/g, '\\$&');
}

/** Defaults without the name of the machine that builds the site. */
export function ofNoMachine(text: string): string {
  const name = hostname();
  if (text === name) return '<host name>';
  return text
    .replaceAll(`${name}-${process.pid}`, '<host name>-<pid>')
    .replaceAll(`default ${name}]`, 'default <host name>]');
}
