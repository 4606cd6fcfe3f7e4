import type { Message } from '../../src/sink/index.ts'
import { createMask, TemplateFault } from '../../src/sink/index.ts'
import type { Endpoint } from './options/url.ts'

const MAX_URL = 8_000

/** Where a message goes. Throws a TemplateFault when what is filled in makes no good URL. */
export function urlOf({ base, template }: Endpoint): (message: Message) => URL {
  if (!template) return () => base
  return (message) => {
    const filled = template.render(message)
    if (filled.length > MAX_URL)
      throw new TemplateFault(`url: what is filled in makes more than ${MAX_URL} characters`)
    if (hasDotSegment(filled))
      throw new TemplateFault(
        'url: what is filled in makes a "." or ".." between slashes, which leads elsewhere',
      )
    const url = URL.parse(`${base.origin}${filled}`)
    if (url?.origin !== base.origin) throw new TemplateFault('url: what is filled in makes no URL')
    url.username = base.username
    url.password = base.password
    return url
  }
}

/** As URLs are parsed: without line breaks and blanks at the end, with `\` for `/` and `%2e` for a dot. */
function hasDotSegment(filled: string): boolean {
  const [path = ''] = filled.replace(/[\t\r\n]|[\0- ]+$/g, '').split(/[?#]/, 1)
  return path.split(/[/\\]/).some((segment) => /^(\.|%2e){1,2}$/i.test(segment))
}

/**
 * Returns the URL of a message as it may be shown. A fixed path may be a secret, as those of chats are, and is left out. Of a
 * template the path is shown, but for parts that are written in it and look like tokens. Throws as `urlOf`.
 */
export function shownUrl(endpoint: Endpoint, message: Message): string {
  const { origin, pathname, search } = urlOf(endpoint)(message)
  if (!endpoint.template) return origin
  const literals = endpoint.template.source.split(/\{\{[^{}]*\}\}|\{%[^{}]*%\}/)
  const secrets = literals.flatMap((it) => [
    ...it.split(/[/?&=]/).filter(looksLikeToken),
    ...[...it.matchAll(/=([^&=]{3,})/g)].map(([, value = '']) => value),
  ])
  return origin + createMask(secrets)(pathname + search)
}

function looksLikeToken(text: string): boolean {
  return text.length >= 16 || (text.length >= 8 && /\d/.test(text) && /[a-z]/i.test(text))
}
