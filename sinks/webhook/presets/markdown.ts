import type { Markup } from '../../../src/sink/index.ts'

/** Invisible: between two characters that would mean something side by side. */
const APART = '\u200b'

/** A block of code that its text cannot end. */
export function fence(text: string): string {
  return `\`\`\`\n${text.replace(/`(?=`)/g, `\`${APART}`)}\n\`\`\``
}

/** Plain text in the Markdown of Discord: nothing in it is markup, mentions anybody, or becomes an emoji. */
export function discordText(text: string): string {
  return text.replace(/[\\*_~`|<>[\]()#:@-]/g, (it, at: number) =>
    it === '@' ? `@${APART}` : needsEscape(it, text, at) ? `\\${it}` : it,
  )
}

/** Plain text in the Markdown of Mattermost: no mention of people, groups or channels, no hashtag, no emoji. */
export function mattermostText(text: string): string {
  return text
    .replace(/[\\*_`|<>[\]()#!~@-]/g, (it, at: number) => {
      if (it === '@' || it === '~') return `${it}${APART}`
      return needsEscape(it, text, at) ? `\\${it}` : it
    })
    .replace(/:(?=[\w+-]+:)/g, `:${APART}`)
    .replace(/\b(https?|ftp|mailto):/gi, `$1${APART}:`)
}

/** Plain text in the Markdown of Adaptive Cards: no link, no list, no date function. */
export function cardText(text: string): string {
  return text
    .replace(/[\\*_`~[\]<>#+-]/g, (it, at: number) => (needsEscape(it, text, at) ? `\\${it}` : it))
    .replace(/\{(?=\{)/g, `{${APART}`)
    .replace(/^([^\S\n\r\u2028\u2029]*\d+)([.)])/gm, '$1\\$2')
}

/** Some mean something only where a line begins; elsewhere an escape would only be in the way of reading. */
function needsEscape(character: string, text: string, at: number): boolean {
  if (character === '(' || character === ')') return false
  if (character === ':') return /^:[\w~]+:/.test(text.slice(at, at + 80))
  if (character === '-' || character === '+' || character === '#')
    return character === '#'
      ? !/\w/.test(text[at - 1] ?? ' ')
      : /(^|\n)[ \t]*$/.test(text.slice(Math.max(0, at - 8), at))
  return true
}

/** Plain text in the HTML of cards. */
export function htmlText(text: string): string {
  return text.replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`)
}

/** Code in a line, which its text cannot end. */
function inlineCode(text: string): string {
  return `\`${text.replace(/\s+/g, ' ').replaceAll('`', "'")}\``
}

export const discordMarkup: Markup = { escape: discordText, code: inlineCode }
export const mattermostMarkup: Markup = { escape: mattermostText, code: inlineCode }
/** Adaptive Cards know no code. */
export const cardMarkup: Markup = { escape: cardText }
export const htmlMarkup: Markup = { escape: htmlText }

/** What is read of Markdown, for places that know none. */
export function plainOf(markdown: string): string {
  return markdown.replace(/\\([\\*_`~[\]<>#+().-])/g, '$1')
}

/** What is read of HTML, for places that know none. */
export function plainOfHtml(html: string): string {
  return html
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/&(lt|gt|amp|quot);/g, (_, name: string) => ({ lt: '<', gt: '>', quot: '"' })[name] ?? '&')
}
