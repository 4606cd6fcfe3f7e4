import type { Markup } from '../../../src/sink/index.ts'

/** In the wide forms of East Asian text, which no Markdown knows: these services document no escapes. */
const WIDE: Readonly<Record<string, string>> = {
  '*': '＊',
  '`': '｀',
  '[': '［',
  ']': '］',
  '<': '＜',
  '>': '＞',
  '~': '～',
  '@': '＠',
  '\\': '＼',
  '#': '＃',
  '!': '！',
  _: '＿',
  '|': '｜',
  $: '＄',
  '-': '－',
  '+': '＋',
}

/** Plain text in the Markdown of Lark, DingTalk and WeCom: no markup, mention, or link. */
export function fullWidthText(text: string): string {
  return text
    .replace(/[*`[\]<>~@\\|$]|!(?=\[)|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, (it) => WIDE[it] ?? it)
    .replace(/^([ \t]*)([#+-])/gm, (_, lead: string, mark: string) => `${lead}${WIDE[mark]}`)
    .replace(/\b(https?|ftp|mailto):/gi, '$1\u200b:')
}

/** Returns the readable text of our Markdown, for fields without markup. */
export function plainOfFullWidth(markdown: string): string {
  return markdown.replace(/\*\*/g, '')
}

export const fullWidthMarkup: Markup = {
  escape: fullWidthText,
  plain: (text) =>
    plainOfFullWidth(text)
      .replace(/\[([^[\]\n]*)\]\([^()\s]*\)/g, '$1')
      .replace(/\b(https?|ftp|mailto)\u200b:/gi, '$1:'),
}
