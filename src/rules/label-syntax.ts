const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/**
 * What is wrong with a label or annotation key, or undefined. A key is a name of up to 63 characters, with a DNS
 * name and "/" in front if wanted (apimachinery `IsQualifiedName`).
 */
export function keyFault(key: string): string | undefined {
  const parts = key.split('/')
  const name = parts.at(-1) ?? ''
  const prefix = parts.length > 1 ? parts[0] : undefined
  if (parts.length > 2) return 'a key has one "/" at most'
  if (name === '') return 'a key needs a name'
  if (name.length > 63) return "a key's name has 63 characters at most"
  if (!NAME.test(name))
    return 'a key is letters, digits, "-", "_" and ".", and begins and ends with a letter or digit'
  if (prefix === undefined) return undefined
  const isPrefix = prefix.length <= 253 && PREFIX.test(prefix)
  return isPrefix ? undefined : 'what stands before "/" in a key is a DNS name, such as example.com'
}

/** What is wrong with a label's value, or undefined: up to 63 letters, digits, "-", "_" and ".", or nothing. */
export function labelValueFault(value: string): string | undefined {
  if (value === '') return undefined
  if (value.length > 63) return "a label's value has 63 characters at most"
  if (NAME.test(value)) return undefined
  return 'a label\'s value is letters, digits, "-", "_" and ".", and begins and ends with a letter or digit'
}
