import * as z from 'zod'
import { compileTemplate, isForbiddenHost, type Template } from '../../../src/sink/index.ts'

/** Where requests go. With a template path and query differ from message to message; scheme, host and port never. */
export interface Endpoint {
  base: URL
  template: Template | undefined
}

/** Everything up to the path or query. */
const ORIGIN = /^https?:\/\/[^/?#\\]+(?=[/?])/i

export const HttpUrl = z
  .string()
  .refine(isHttpUrl, { error: ({ input }) => urlRule(String(input)) })
  .transform((url) => new URL(url))

export const EndpointUrl = z.string().transform((text, context): Endpoint => {
  const issue = (message: string, params: object = {}) => {
    context.addIssue({ code: 'custom', message, params })
    return z.NEVER
  }
  const at = text.search(/\{[{%]/)
  if (at < 0) return isHttpUrl(text) ? { base: new URL(text), template: undefined } : issue(urlRule(text))
  const origin = ORIGIN.exec(text)?.[0]
  if (origin === undefined || origin.length > at || !isHttpUrl(origin))
    return issue('may have templates in its path and query only: scheme, host and port are fixed')
  if (text.includes('#')) return issue('must have no "#" beside templates: it is not sent')
  const compiled = compileTemplate(text.slice(origin.length), { escape: percentEncoded })
  if (compiled.ok) return { base: new URL(origin), template: compiled.template }
  for (const { message, offset, length, hint } of compiled.problems)
    issue(message, { offset: offset + origin.length, length, hint })
  return z.NEVER
})

/** The same for the user and password in a URL, and for what stands in its place. */
export function isGuarded(url: URL | undefined): boolean {
  return url !== undefined && isForbiddenHost(url.hostname)
}

function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/** With what is missing, where that is sure to be no password. */
function urlRule(text: string): string {
  const isHost = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?(\/[A-Za-z0-9._~/-]*)?$/.test(text)
  return `must be an http:// or https:// URL${isHost ? `, such as https://${text}` : ''}`
}
