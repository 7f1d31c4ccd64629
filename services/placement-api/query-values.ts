import { badRequest } from './http/http-error';
import { type Microversion, SINCE } from './http/microversion';
import { invalidQuery, type Query } from './http/query';
import { isUuidLike } from './http/uuid';

/** Required: each inner list is any-of, the outer one all-of. */
export interface Wanted {
  readonly required: readonly (readonly string[])[];
  readonly forbidden: readonly string[];
}

/** `VCPU:2,MEMORY_MB:1024` as amounts; empty without the parameter. @throws HttpError 400 */
export function resourcesOf(value: string | undefined): Record<string, number> {
  if (value === undefined) return {};
  const malformed = (got: string) =>
    badRequest(
      'Badly formed resources parameter. Expected resources query string parameter in form: ' +
        `?resources=VCPU:2,MEMORY_MB:1024. Got: ${got}.`,
    );
  if (value.trim() === '') throw malformed('empty string');
  const amounts = value.split(',').map((pair): [string, number] => {
    const [name, amount, ...rest] = pair.split(':');
    if (name === undefined || amount === undefined || rest.length > 0) throw malformed(pair);
    return [name, amountOf(name, amount)];
  });
  return Object.fromEntries(amounts);
}

function amountOf(name: string, text: string): number {
  if (!/^\s*[+-]?\d+\s*$/.test(text)) {
    throw badRequest(`Requested resource ${name} expected positive integer amount. Got: ${text}.`);
  }
  const amount = Number(text);
  if (amount < 1) throw badRequest(`Requested resource ${name} requires amount >= 1. Got: ${amount}.`);
  return amount;
}

/** The traits of all `required<suffix>` parameters; before 1.39 of the last one. @throws HttpError 400 */
export function traitsOf(query: Query, suffix: string, version: Microversion): Wanted {
  const values = query.all(`required${suffix}`);
  const parsed = (version >= SINCE.anyOfTraits ? values : values.slice(-1)).map((value) => traitsIn(value, version));
  return {
    required: parsed.flatMap(({ required }) => required),
    forbidden: [...new Set(parsed.flatMap(({ forbidden }) => forbidden))],
  };
}

/** The traits of one value, in the form of a microversion. @throws HttpError 400 */
export function traitsIn(value: string, version: Microversion): Wanted {
  const anyForm = `The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC'`;
  if (value.startsWith('in:')) {
    if (version < SINCE.anyOfTraits)
      throw invalidQuery(`${anyForm} only supported since microversion 1.39. Got: ${value}`);
    const anyOf = commaList(value.slice(3));
    if (anyOf.includes('')) {
      throw invalidQuery(
        `Expected 'required' parameter value of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: ${value}`,
      );
    }
    if (anyOf.some((trait) => trait.startsWith('!'))) {
      throw invalidQuery(`${anyForm} does not support forbidden traits. Got: ${value}`);
    }
    return { required: [[...new Set(anyOf)]], forbidden: [] };
  }
  return forbiddableTraits(value, version >= SINCE.forbiddenTraits);
}

/** `A,!B`: required and forbidden ones. */
function forbiddableTraits(value: string, mayForbid: boolean): Wanted {
  const form = mayForbid ? 'HW_CPU_X86_VMX,!CUSTOM_MAGIC' : 'HW_CPU_X86_VMX,CUSTOM_MAGIC';
  const expected = `Expected 'required' parameter value of the form: ${form}.`;
  const all = commaList(value);
  const forbidden = all.filter((trait) => trait.startsWith('!')).map((trait) => trait.replace(/^!+/, ''));
  if ([...all, ...forbidden].includes('')) throw invalidQuery(`${expected} Got an empty trait in: ${value}`);
  if (forbidden.length > 0 && !mayForbid) throw invalidQuery(`${expected} Got: ${value}`);
  return { required: all.filter((trait) => !trait.startsWith('!')).map((trait) => [trait]), forbidden };
}

/** The aggregates of all `member_of<suffix>` parameters. @throws HttpError 400 */
export function aggregatesOf(query: Query, suffix: string, version: Microversion): Wanted {
  const values = query.all(`member_of${suffix}`);
  if (version < SINCE.repeatedMemberOf && values.length > 1) {
    throw badRequest(`Multiple member_of${suffix} parameters are not supported`);
  }
  const parsed = values.map(aggregatesIn);
  const forbidden = parsed.flatMap((wanted) => wanted.forbidden);
  if (forbidden.length > 0 && version < SINCE.forbiddenAggregates) {
    throw badRequest(`Forbidden member_of${suffix} parameters are not supported in the specified microversion`);
  }
  return { required: parsed.flatMap(({ required }) => required), forbidden: [...new Set(forbidden)] };
}

/** `uuid`, `in:uuid,uuid`, `!uuid` or `!in:uuid,uuid`. */
function aggregatesIn(value: string): Wanted {
  const [, not, isList, rest = ''] = /^(!?)(in:)?(.*)$/s.exec(value) ?? [];
  if (isList === undefined && value.includes(',')) {
    throw badRequest(
      `Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid microversion. Got: ${value}`,
    );
  }
  const uuids = [...new Set(isList === undefined ? [rest] : rest.split(','))];
  const bad = uuids.find((uuid) => !isUuidLike(uuid));
  if (bad !== undefined) throw invalidQuery(`Expected 'member_of' parameter to contain valid UUID(s). Got: ${bad}`);
  return not === '!' ? { required: [], forbidden: uuids } : { required: [uuids], forbidden: [] };
}

/** The uuid of `in_tree<suffix>`. @throws HttpError 400 */
export function treeOf(value: string): string {
  const uuid = value.trim();
  if (isUuidLike(uuid)) return uuid;
  throw invalidQuery(`Expected 'in_tree' parameter to be a format of uuid. Got: ${value}`);
}

export function commaList(value: string): string[] {
  return value.split(',').map((part) => part.trim());
}
