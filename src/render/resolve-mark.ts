import type { Message } from '../sink/index.ts'
import { RESOLVED } from '../sink/message.ts'

/** `message["title"]` is the same as `message.title`. */
const IN_BRACKETS = /\[\s*(["'])(\w+)\1\s*\]/g
const TEXTS = /"[^"]*"|'[^']*'/g
const COMPARED = /\bmessage\.severity\s*(?:==|!=|contains)\s*["']resolved["']/
const WHEN = /^\{%-?\s*when\b/

/**
 * Returns the title that a template gave, with a mark in a resolve notification: unless the template distinguishes it, or the title has
 * `own`, that of the message without a template, which is marked.
 */
export function markedTitle({ notice }: Message, source: string, title: string, own: string): string {
  if (title === '' || notice?.kind !== 'resolved') return title
  const isMarked = title.includes(own) || reads(source, /(?<!\.\s*)\b(?:notice|resolved|message\.title)\b/)
  return isMarked ? title : `${RESOLVED}${title}`
}

/** Whether a template decides the severity: that of a resolve notification only if the template distinguishes it. */
export function decidesSeverity({ notice }: Message, source: string): boolean {
  return notice?.kind !== 'resolved' || reads(source, /(?<!\.\s*)\b(?:notice|resolved)\b/)
}

/** Whether a template distinguishes by a name, or by the severity; its own text does not count. */
function reads(source: string, name: RegExp): boolean {
  const codes = codesOf(source)
  const hasName = (code: string) => name.test(code.replaceAll(IN_BRACKETS, '.$2').replaceAll(TEXTS, '""'))
  return codes.some(hasName) || testsSeverity(codes)
}

/** `{% if message.severity == "resolved" %}`, or a `case` of it. */
function testsSeverity(codes: readonly string[]): boolean {
  const isCase = codes.some((it) => /\bcase\s+message\.severity\b/.test(it))
  return codes.some((it) => COMPARED.test(it) || (isCase && WHEN.test(it) && it.includes('resolved')))
}

/** The outputs and tags of a template. */
function codesOf(source: string): string[] {
  return source
    .split(/\}\}|%\}/)
    .slice(0, -1)
    .map((part) => part.slice(Math.max(part.search(/\{[{%]/), 0)))
}
