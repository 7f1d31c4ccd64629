import { FILTER_NAMES } from '../filters/registry';
import { WEIGHERS } from '../weighers/registry';
import type * as expressions from './expression';

/** A filter or weigher that an operator declares by an expression. */
export interface DeclaredRule {
  readonly name: string;
  readonly expression: string;
}

export interface DeclaredWeigher extends DeclaredRule {
  readonly weight: number;
}

/** Rules end with a semicolon or a line, which no expression needs. */
export const BETWEEN_RULES = /[;\n]/;

/** Reads `NAME: EXPRESSION`; undefined for other text. */
export function readFilter(text: string): DeclaredRule | undefined {
  const [, name, expression] = /^([a-z][a-z0-9_]{0,39})\s*:\s*(.+)$/.exec(text) ?? [];
  return name && expression ? { name, expression } : undefined;
}

/** Reads `NAME * WEIGHT: EXPRESSION`; undefined for other text. */
export function readWeigher(text: string): DeclaredWeigher | undefined {
  const [, name, weight, expression] =
    /^([a-z][a-z0-9_]{0,39})\s*\*\s*(-?\d{1,3}(?:\.\d+)?)\s*:\s*(.+)$/.exec(text) ?? [];
  return name && expression ? { name, weight: Number(weight), expression } : undefined;
}

/** The problem of a declared filter, as the end of a sentence; undefined for none. */
export function problemOfFilter(text: string): string | undefined {
  return problemOf(text, readFilter(text), 'bool', 'NAME: EXPRESSION');
}

/** The problem of a declared weigher, as `problemOfFilter`. */
export function problemOfWeigher(text: string): string | undefined {
  return problemOf(text, readWeigher(text), 'number', 'NAME * WEIGHT: EXPRESSION');
}

function problemOf(text: string, rule: DeclaredRule | undefined, type: 'bool' | 'number', form: string) {
  if (rule === undefined) return `must be ${form}, not '${text}'`;
  if (TAKEN.has(rule.name))
    return `declares '${rule.name}', which is a filter or weigher of Berth; give it another name`;
  // Loads the expression language: commands that read no rule do without.
  const { parseExpression } = require('./expression') as typeof expressions;
  try {
    parseExpression(rule.expression, type);
    return undefined;
  } catch (thrown) {
    return `declares '${rule.name}', which can't be read: ${(thrown as Error).message}`;
  }
}

const TAKEN: ReadonlySet<string> = new Set([...FILTER_NAMES, ...WEIGHERS.map(([{ name }]) => name)]);
