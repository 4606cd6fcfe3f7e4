/**
 * The pattern that matches what a regular expression matched that was searched for anywhere in a text: words where it can mean
 * nothing else (`^web$`, `^(a|b)$`), a glob for a beginning (`^web-`), else the expression between slashes.
 */
export function patternsOf(expression: string): string[] {
  const [, words] = /^\^(?:\((?:\?:)?([\w|-]+)\)|[\w-]+)\$$/.exec(expression) ?? []
  if (words !== undefined && !words.split('|').includes('')) return words.split('|')
  if (/^\^[\w-]+\$$/.test(expression)) return [expression.slice(1, -1)]
  const [, prefix] = /^\^([\w-]+)(?:\.\*\$?)?$/.exec(expression) ?? []
  return [prefix === undefined ? `/${expression.replaceAll(/(?<!\\)\//g, '\\/')}/` : `${prefix}*`]
}
