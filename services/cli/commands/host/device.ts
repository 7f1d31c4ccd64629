import type { Command } from '@commander-js/extra-typings';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { DeviceTaint } from '#libs/client/client';
import { isQualifiedName } from '#libs/domain/devices/device';
import { parseEffect } from '#libs/domain/devices/taints';
import { changes, noun } from '../../answers/declared';

/** `berth device taint` */
export const deviceCommand = noun('device', [
  changes({
    name: 'taint',
    does: 'Taint a device of a host for new claims, or take the taint off. Who has it keeps it, or with :NoExecute is moved away.',
    takes: (command: Command) =>
      command
        .argument('<host>', 'host')
        .argument('<device>', 'the name that its agent gives it, gpu0')
        .argument('<taint>', 'KEY=VALUE, KEY=VALUE:NoExecute, or KEY- to take it off', parseTaint),
    async call(client, _flags, ...named) {
      const [host, device, taint] = named;
      return { host, device, taints: await client.setDeviceTaint(host, device, taint) };
    },
    print({ terminal }, { host, device, taints }) {
      const all = Object.entries(taints).map(([key, value]) => `${key}=${value}`);
      terminal.print(`${device} of ${host}: ${all.length === 0 ? 'no taints' : all.join(', ')}`);
    },
    examples: [
      ['berth device taint host-7 gpu0 worn=fan', 'only requests that tolerate worn get it (--device tolerate=worn:*)'],
      [
        'berth device taint host-7 gpu0 broken=ecc:NoExecute',
        'who has it and does not tolerate that is moved away, too',
      ],
      ['berth device taint host-7 gpu0 worn-', 'off again'],
    ],
  }),
]);

/** The parser of `KEY=VALUE`, `KEY=VALUE:NoExecute` and `KEY-`, whose value is ''. */
function parseTaint(text: string): DeviceTaint {
  const [, key = '', said = ''] = /^([^=]+?)(?:-|=(.+))$/.exec(text) ?? [];
  if (isQualifiedName(key)) return { key, ...parseEffect(said) };
  throw new InvalidArgumentError('It must be KEY=VALUE, KEY=VALUE:NoExecute, or KEY- to take the taint off.');
}
