import { printable } from '../../../printable.ts'
import { textOf } from '../text-of.ts'

type Data = Readonly<Record<string, unknown>>

/** The command that describes an object, or what `about` names; '' when it has no name. Quoted for a shell. */
export function kubectlOf(value: unknown): string {
  const data = mapOf(value)
  const metadata = Object.hasOwn(data, 'metadata') ? mapOf(data['metadata']) : data
  const name = textOf(metadata['name'])
  const kind = textOf(data['kind'])
  if (name === '' || kind === '') return ''
  const namespace = textOf(metadata['namespace'])
  const scope = namespace === '' ? '' : ` -n ${quoted(namespace)}`
  return `kubectl${scope} describe ${quoted(resourceOf(kind, textOf(data['apiVersion'])))} ${named(name)}`
}

/** The group is needed for what others may have given the same name. */
function resourceOf(kind: string, apiVersion: string): string {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const isOwn = group.includes('.') && !group.endsWith('.k8s.io')
  return kind.toLowerCase() + (isOwn ? `.${group}` : '')
}

/** A name that begins with a dash is no option. */
function named(name: string): string {
  return name.startsWith('-') ? `-- ${quoted(name)}` : quoted(name)
}

function quoted(text: string): string {
  const shown = printable(text)
  return /^[\w.:/@%+=,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`
}

function mapOf(value: unknown): Data {
  return typeof value === 'object' && value !== null ? (value as Data) : {}
}
