/**
 * True when a topic matches an AMQP topic pattern: words joined by dots, `*` is one word, `#` is any number of them.
 */
export function topicMatches(pattern: string, topic: string): boolean {
  return wordsMatch(words(pattern), words(topic));
}

function words(text: string): readonly string[] {
  return text === '' ? [] : text.split('.');
}

function wordsMatch(pattern: readonly string[], topic: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return topic.length === 0;
  if (first === '#')
    return topic.length === 0
      ? wordsMatch(rest, topic)
      : wordsMatch(rest, topic) || wordsMatch(pattern, topic.slice(1));
  return topic.length > 0 && (first === '*' || first === topic[0]) && wordsMatch(rest, topic.slice(1));
}
