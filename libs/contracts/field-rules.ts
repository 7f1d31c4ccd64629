import { CELL_NAME_PATTERN } from '../domain/cells/cell';
import { QUALIFIED_NAME_PATTERN } from '../domain/devices/device';
import { DEVICE_REQUEST_NAME_PATTERN } from '../domain/devices/device-request';
import {
  CLASS_OR_TRAIT_PATTERN,
  CLIENT_UUID_PATTERN,
  FLAVOR_NAME_PATTERN,
  HOST_NAME_PATTERN,
  NESTED_PROVIDER_NAME_PATTERN,
  UUID_PATTERN,
  VISIBLE_NAME_PATTERN,
} from '../domain/names';
import { NODE_CLASS_PATTERN } from '../domain/nodes/node';
import { OTHER_LIMITS } from '../domain/queueing/admission';

/** Patterns that texts match, by the names of `Format` in the schema. */
export const FORMATS = {
  uuid: UUID_PATTERN,
  client_uuid: CLIENT_UUID_PATTERN,
  host_name: HOST_NAME_PATTERN,
  visible_name: VISIBLE_NAME_PATTERN,
  class_or_trait: CLASS_OR_TRAIT_PATTERN,
  flavor_name: FLAVOR_NAME_PATTERN,
  nested_provider_name: NESTED_PROVIDER_NAME_PATTERN,
  cell_name: CELL_NAME_PATTERN,
  node_class: NODE_CLASS_PATTERN,
  limit_name: `^(${[...OTHER_LIMITS, CLASS_OR_TRAIT_PATTERN.slice(1, -1)].join('|')})$`,
  qualified_name: QUALIFIED_NAME_PATTERN,
  device_request_name: DEVICE_REQUEST_NAME_PATTERN,
} as const;
export type Format = keyof typeof FORMATS;

/**
 * Limits of a field that a sender can keep without asking: `berth.options.v1.FieldRules` in the schema, which says what each means.
 * Rules over several fields stand in comments.
 */
export interface FieldRules {
  readonly required?: true;
  readonly maxBytes?: number;
  readonly inRoutingKey?: true;
  readonly format?: Format;
  readonly in?: readonly string[];
  readonly gt?: number;
  readonly gte?: number;
  readonly lte?: number;
  readonly maxItems?: number;
  readonly items?: FieldRules;
  readonly maxPairs?: number;
  readonly keys?: FieldRules;
  readonly values?: FieldRules;
}

/** Rules of a field that its type in the schema alone bounds. */
export const NO_RULES: FieldRules = {};

/** Rules of an embedded message: it is set. */
export const SET: FieldRules = { required: true };

/** Carried by checks and conversions that refuse something. */
interface Ruled {
  readonly rules: FieldRules;
}

/** A check or conversion with the rules that it enforces; `npm run proto:rules` writes them into the schema. */
export function ruled<F extends object>(rules: FieldRules, field: F): F {
  return Object.assign(field, { rules });
}

/** The rules of a check or conversion; undefined for one that states none. */
export function rulesOf(field: object): FieldRules | undefined {
  return (field as Partial<Ruled>).rules;
}

/** The rules of an item of a list or a map; an embedded message is always set there. */
export function itemRules(of: object): FieldRules {
  const rules = rulesOf(of) ?? NO_RULES;
  return rules === SET ? NO_RULES : rules;
}

/** The same rules for a field that may be left out. */
export function unrequired(field: object): FieldRules {
  const { required: _, ...rules } = rulesOf(field) ?? {};
  return rules;
}
