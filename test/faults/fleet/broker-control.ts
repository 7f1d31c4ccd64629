/* Erlang expressions for `RabbitmqServer.eval`, which takes milliseconds where `rabbitmqctl` takes seconds of a processor. */

export const CLOSE_CONNECTIONS =
  'rabbit_networking:close_connections(rabbit_networking:connections(), "a test wants it")';

/** Makes the broker refuse all messages, and take them again. */
export const ALARMS = {
  memory: {
    raise: 'vm_memory_monitor:set_vm_memory_high_watermark({absolute, "1MB"})',
    clear: 'vm_memory_monitor:set_vm_memory_high_watermark(0.6)',
  },
  disk: {
    raise: 'rabbit_disk_monitor:set_disk_free_limit("1000000GB")',
    clear: 'rabbit_disk_monitor:set_disk_free_limit("50MB")',
  },
} as const;

/** Its value is what the broker says of a queue, such as its `messages`. */
export function queueInfo(name: string, item: string, virtualHost = '/'): string {
  return withQueue(name, `proplists:get_value(${item}, rabbit_amqqueue:info(Q, [${item}]))`, virtualHost);
}

export function deleteQueue(name: string, virtualHost = '/'): string {
  return withQueue(name, 'rabbit_amqqueue:delete(Q, false, false, <<"a test">>)', virtualHost);
}

function withQueue(name: string, expression: string, virtualHost: string): string {
  return `rabbit_amqqueue:with(rabbit_misc:r(<<"${virtualHost}">>, queue, <<"${name}">>), fun(Q) -> ${expression} end)`;
}
