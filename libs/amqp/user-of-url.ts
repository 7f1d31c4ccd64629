/** The user that a bus URL names; RabbitMQ's default where it names none. Of `memory:`, ''. */
export function userOfUrl(url: string): string {
  const user = decodeURIComponent(/^\w+:\/\/([^:@/]*)[^@/]*@/.exec(url)?.[1] ?? '');
  return user === '' && !url.startsWith('memory:') ? 'guest' : user;
}
