import type { Pattern } from './pattern.ts'

/** Is this several patterns in one text? Expressions may have commas of their own. */
export function isJoined({ form, text }: Pattern): boolean {
  return form !== 'regex' && text.includes(',')
}

/** How to write a text with commas as a list: `[shop, "!pay-*"]`. */
export function listHint(text: string): string {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  return `write a list: [${parts.map((part) => (/^[\w.-]+$/.test(part) ? part : `"${part}"`)).join(', ')}]`
}
