import { findReasons } from './find-reasons';

/** `proto/reasons.md`, as `npm run reasons` writes it; a test fails while it is not current. */
export const REASONS_PAGE = 'proto/reasons.md';

export function reasonsPage(): string {
  const rows = findReasons().map(({ reason, kinds, message }) => {
    // A message of one word is a field's name.
    const says = /[a-z] /.test(message) ? message.replaceAll('|', '\\|').replaceAll('<', '&lt;') : '';
    return `| \`${reason}\` | ${[...kinds].sort().join(', ')} | ${says} |`;
  });
  return `${HEAD}\n\n| reason | of | says, for instance |\n|---|---|---|\n${rows.join('\n')}\n`;
}

const HEAD = `# Reasons

All reasons that Berth gives, from its code (\`npm run reasons\`). Programs may compare a reason; a message is for people and may change.
*Of* is the code of an error, which says what to do ([the wire contract](README.md#errors)); \`fault\`: an event or a record of an instance has
it; \`refusal\`: a filter says it of hosts, in "no valid host" and by \`berth explain\`. … stands for what differs.`;
