/* Erlang expressions for `RabbitmqServer.eval`, which takes milliseconds where `rabbitmqctl` takes seconds of a processor. */

export const CLOSE_CONNECTIONS =
  'rabbit_networking:close_connections(rabbit_networking:connections(), "a test wants it")';

/** Lets a user in by this password only; its connections stay. */
export function changePassword(user: string, password: string): string {
  return `rabbit_auth_backend_internal:change_password(<<"${user}">>, <<"${password}">>, <<"a test">>)`;
}

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

/** Takes all rights of a user away, at once: a busy channel would go by those that it has looked up before. */
export function revokeRights(user: string, virtualHost: string): string {
  const forget = 'fun(S) -> erase(permission_cache), erase(topic_permission_cache), S end';
  const isIts = `rabbit_channel:info(P, [user]) =:= [{user, <<"${user}">>}]`;
  return `ok = rabbit_auth_backend_internal:clear_permissions(<<"${user}">>, <<"${virtualHost}">>, <<"a test">>),
    length([sys:replace_state(P, ${forget}) || P <- rabbit_channel:list(), ${isIts}])`;
}

function withQueue(name: string, expression: string, virtualHost: string): string {
  return `rabbit_amqqueue:with(rabbit_misc:r(<<"${virtualHost}">>, queue, <<"${name}">>), fun(Q) -> ${expression} end)`;
}
