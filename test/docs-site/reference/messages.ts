import { Enum, type Field, type ReflectionObject, Type } from 'protobufjs';
import { INSTANCE_STATES } from '#libs/domain/instance';
import { readSchemas } from '../../schema/files';
import type { Call } from './calls';
import { code, plain, table } from './markdown';

/** Every message and enumeration of the `.proto` files, by package, except those between Berth's own processes. */
export function messagesPage(root: string): string {
  const parts = readSchemas(root)
    .filter((file) => !file.package.startsWith('berth.internal.'))
    .map((file) => `## ${file.package}\n\n${file.objects.flatMap((one) => shown(one, '')).join('\n\n')}`);
  return `# Messages

What stands in the ${code('.proto')} files. The [wire contract](../../../../proto/README.md) says on which queue each goes and what
a peer may rely on.

${parts.join('\n\n')}
`;
}

/** Events on the exchange `berth.events`. */
export function eventsPage(calls: readonly Call[]): string {
  return `# Events

The topic exchange ${code('berth.events')} tells what happens to instances, flavors and by operators. ${code('berth events')} follows
it; ${code('berth.conductor.v1.InstanceEvent')} and the others are in [messages](messages.md).

${table(
  ['key', 'message', 'when'],
  [
    [code('instance.<state>.<project>.<uuid>'), code('InstanceEvent'), 'an instance came to this state'],
    [code('request.refused.<project>'), code('BuildRefused'), 'a request was refused for good'],
    [code('flavor.<created, updated or deleted>.<flavor>'), code('FlavorEvent'), 'for operators: a flavor changed'],
    [code('operator.<action>.<user>'), code('OperatorAction'), 'for operators: what somebody did by the console'],
  ],
)}

How the words of a key are written, and who may listen: [the wire contract](../../../../proto/README.md#queues-and-exchanges).

## States

${INSTANCE_STATES.map(code).join(', ')}

## In logs

The ${code('event')} of a log line never changes, whatever its words do:

${table(['event', 'level', 'says'], logEvents(calls))}
`;
}

const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'];

function logEvents(calls: readonly Call[]): string[][] {
  const rows = calls.flatMap(({ of, event, texts: [, message] }) =>
    event !== undefined && LEVELS.includes(of) ? [[code(event), of, message ?? '']] : [],
  );
  return [...new Map(rows.map((row) => [row.join(), row])).values()].sort((a, b) => (a.join() < b.join() ? -1 : 1));
}

function shown(object: ReflectionObject, prefix: string): string[] {
  const name = `${prefix}${object.name}`;
  const head = `### ${name}\n\n${plain(object.comment ?? '')}`.trimEnd();
  if (object instanceof Enum) {
    const rows = Object.entries(object.values).map(([value, number]) => [
      code(value),
      String(number),
      plain(object.comments[value] ?? ''),
    ]);
    return [`${head}\n\n${table(['value', 'number', 'what it means'], rows)}`];
  }
  if (!(object instanceof Type)) return [];
  const rows = object.fieldsArray.map((field) => {
    const type = `${field.repeated ? 'repeated ' : ''}${typeOf(field)}`;
    return [code(field.name), code(type), String(field.id), limitsOf(field), plain(field.comment ?? '')];
  });
  const fields = rows.length === 0 ? 'No fields.' : table(['field', 'type', 'number', 'limits', 'what it means'], rows);
  return [`${head}\n\n${fields}`, ...object.nestedArray.flatMap((one) => shown(one, `${name}.`))];
}

/** The limits of a field, as its option states them. */
function limitsOf(field: Field): string {
  const options = (field.parsedOptions ?? []) as Record<string, Limits | undefined>[];
  return words(options.map((option) => option['(berth.options.v1.field)']).find((one) => one !== undefined) ?? {});
}

type Limits = { readonly [name: string]: string | number | boolean | readonly string[] | Limits };

function words(limits: Limits): string {
  const said = Object.entries(limits).map(([name, value]) => {
    if (value === true) return name.replaceAll('_', ' ');
    if (name === 'in') return [value].flat().map(String).map(code).join(' or ');
    if (name === 'format' && typeof value === 'string')
      return value.slice('FORMAT_'.length).toLowerCase().replaceAll('_', ' ');
    const shownValue = typeof value === 'object' ? `(${words(value as Limits)})` : value;
    return `${name.replaceAll('_', ' ')} ${shownValue}`;
  });
  return said.join(', ');
}

function typeOf(field: { readonly type: string; readonly keyType?: string }): string {
  return field.keyType === undefined ? field.type : `map<${field.keyType}, ${field.type}>`;
}
