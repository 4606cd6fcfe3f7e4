import { printable } from '../printable.ts'
import type { Content } from '../sink/index.ts'
import { shownValue } from './shown-value.ts'

const SIGNS: Readonly<Record<Content['severity'], string>> = {
  error: '🔴',
  warning: '🟠',
  info: '🔵',
  resolved: '✅',
}
const MOST_CHANGES = 8

/** What people would read of a message, line by line, safe on a terminal. */
export function contentLines(content: Content): string[] {
  const fields = content.fields.map(({ title, value }) => `${title}: ${value}`).join(' · ')
  return [
    `${SIGNS[content.severity]} ${content.title}`,
    ...linesOf(content.text),
    ...linesOf(fields),
    ...linesOf(content.quote).map((line) => `> ${line}`),
    ...content.changes
      .slice(0, MOST_CHANGES)
      .map(({ path, old, new: next }) => `${path}  ${shownValue(old)} → ${shownValue(next)}`),
    ...(content.command === '' ? [] : [`$ ${content.command}`]),
    ...content.links.map(({ title, url }) => `${title}: ${url}`),
  ].map(printable)
}

function linesOf(text: string): string[] {
  const trimmed = text.trim()
  return trimmed === '' ? [] : trimmed.split(/\r\n?|\n/)
}
