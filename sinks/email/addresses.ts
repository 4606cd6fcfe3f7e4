import { domainToASCII } from 'node:url'

/** Somebody who writes or reads: `Platform team <platform@example.com>`. */
export interface Mailbox {
  /** The display name; '' if there is none. */
  readonly name: string
  /** `platform@example.com`: the domain in ASCII and lower case. */
  readonly address: string
}

/** RFC 5321 §4.5.3.1 */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254
const LOCAL = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const DOMAIN =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * Returns an address with its domain in ASCII and lower case; undefined if the text is none. Without display name, comments and quotes. The
 * part before `@` is ASCII, too: few servers take others (SMTPUTF8, RFC 6531).
 */
export function addressIn(text: string): string | undefined {
  const trimmed = text.trim()
  const at = trimmed.lastIndexOf('@')
  if (at < 1 || at > MAX_LOCAL || trimmed.length > MAX_ADDRESS) return undefined
  const [local, domain] = [trimmed.slice(0, at), asciiDomain(trimmed.slice(at + 1))]
  return LOCAL.test(local) && DOMAIN.test(domain) ? `${local}@${domain}` : undefined
}

/** Reads `a@example.com`, `Name <a@example.com>` or `"Name, etc." <a@example.com>`; undefined if the text is neither. */
export function mailboxIn(text: string): Mailbox | undefined {
  const [, quoted, plain = '', inner] = /^(?:"([^"\\<>]*)" *|([^"<>]*))<([^<>]*)>$/.exec(text.trim()) ?? []
  const name = (quoted ?? plain).trim()
  const address = addressIn(inner ?? text)
  if (address === undefined || /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(name)) return undefined
  return { name: inner === undefined ? '' : name, address }
}

/** An entry of `allowTo`: an address, or `*@` and a domain, or `*@*.` and a domain with all that are under it. */
export function isAllowedPattern(text: string): boolean {
  const domain = /^\*@(?:\*\.)?(.+)$/.exec(text)?.[1]
  return domain === undefined ? addressIn(text) !== undefined : DOMAIN.test(asciiDomain(domain))
}

/** Returns whether an address is in the list. Letters' case does not count. */
export function isAllowed(address: string, list: readonly string[]): boolean {
  const wanted = address.toLowerCase()
  const domain = wanted.slice(wanted.lastIndexOf('@') + 1)
  return list.some((entry) => {
    const at = entry.lastIndexOf('@') + 1
    const wild = entry.startsWith('*@*.') ? '*.' : ''
    const pattern = `${entry.slice(0, at).toLowerCase()}${wild}${asciiDomain(entry.slice(at + wild.length))}`
    if (pattern.startsWith('*@*.')) return domain.endsWith(pattern.slice(3))
    return pattern.startsWith('*@') ? domain === pattern.slice(2) : wanted === pattern
  })
}

/** `bücher.example` as `xn--bcher-kva.example`; '' if it is not a domain. */
function asciiDomain(domain: string): string {
  return /^[\p{L}\p{N}.-]+$/u.test(domain) ? domainToASCII(domain).toLowerCase() : ''
}
