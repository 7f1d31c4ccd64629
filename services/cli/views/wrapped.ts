import { Help } from 'commander';
import type { Terminal } from './terminal';

const help = new Help();

/** Sentences in lines that fit the terminal, broken between words, each line indented; as they are where nothing is wrapped. */
export function wrapped({ columns }: Terminal, text: string, indent = ''): string {
  if (columns === undefined) return indent + text;
  return help.boxWrap(text, columns - indent.length).replaceAll(/^/gm, indent);
}
