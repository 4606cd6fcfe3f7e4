import type { Subject } from '../sink/index.ts'
import type { Sheet } from '../sink/template/engine.ts'
import type { TemplateProblem } from '../sink/template/fault.ts'
import type { Program } from '../sink/template/program.ts'
import { textOf } from '../sink/template/text-of.ts'

/** What people would not click at, and chats do not take. */
const MAX_LENGTH = 2_000

/** The address up to where its host has ended. */
const ORIGIN = /^\s*https?:\/\/[^/?#\\\s@]+(?=[/?#])/i

/**
 * What is wrong with the beginning of a link's template: scheme and host must stand there, so that no object can lead
 * elsewhere. `{{ cluster }}` and `{{ rule }}` may be part of a host, for they come from the configuration.
 */
export function linkProblems(source: string): TemplateProblem[] {
  const known = source.replace(/\{\{-?\s*(cluster|rule)\s*-?\}\}/g, (it) => 'x'.repeat(it.length))
  const head = known.split(/\{[{%]/, 1)[0] as string
  if (known.startsWith('{%')) return []
  const length = Math.max(head.length, 1)
  if (!/^\s*https?:\/\//i.test(head)) {
    const hint = 'a link begins with https:// and its host: https://grafana.example.com/d/{{ name }}'
    return [{ message: 'is no http or https address', offset: 0, length, hint }]
  }
  const isWhole = head.length === known.length
  if (isWhole ? URL.canParse(head) : ORIGIN.test(head)) return []
  if (isWhole) return [{ message: 'is no address that can be read', offset: 0, length }]
  const hint = 'write the host out, and values behind a "/" or "?": https://grafana.example.com/d/{{ name }}'
  return [{ message: 'may not take its host from an object', offset: 0, length, hint }]
}

interface UrlSheet extends Sheet {
  /** Where the first value begins. */
  filledAt?: number
}

/**
 * Renders a link's template, each value percent-encoded. Undefined when it is no http or https address that could be
 * opened, or when a value would change its host or leave its folder. Throws a TemplateFault.
 */
export function urlOf(program: Program, subject: Subject, now: () => number): string | undefined {
  const markup = { escape: encoded, code: encoded }
  const { buffer, filledAt } = program.run(subject, urlSheet, { markup, strict: false, now })
  const text = buffer.trim()
  if (filledAt !== undefined && !ORIGIN.test(`${buffer.slice(0, filledAt)}`)) return undefined
  if (text.length > MAX_LENGTH || !URL.canParse(text)) return undefined
  const { protocol, username, password, href } = new URL(text)
  const isWeb = /^https?:$/.test(protocol) && username === '' && password === ''
  return isWeb && !climbs(text) ? href.replace(/[|<>"'`{}^\\]/g, encoded) : undefined
}

function urlSheet(charge: (cost: number) => void): UrlSheet {
  return {
    buffer: '',
    literal: true,
    write(value: unknown) {
      const text = textOf(value)
      charge(text.length)
      if (!this.literal && text !== '') this.filledAt ??= this.buffer.length
      this.buffer += text
    },
  }
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** `..` as a name would lead to another page. */
function climbs(url: string): boolean {
  const path = url.split(/[?#]/, 1)[0] as string
  return path.split(/[/\\]/).some((it) => /^(\.|%2e){1,2}$/i.test(it))
}
