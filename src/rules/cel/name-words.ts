import { nearest } from '../../nearest.ts'
import type { CelFault, FaultWords } from './engine.ts'
import { fieldsOf } from './event-fields.ts'
import { SYNONYMS } from './function-words.ts'
import { hasOf, pathBefore } from './operands.ts'
import { VARIABLES } from './variables.ts'

const OF_OBJECT = ['metadata', 'spec', 'status', 'data']
const OF_METADATA = ['labels', 'annotations', 'ownerReferences', 'finalizers']
/** What other places that speak CEL have. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  self: 'object',
  old: 'oldObject',
  oldSelf: 'oldObject',
  obj: 'object',
  resource: 'object',
  oldObj: 'oldObject',
  evt: 'event',
  None: 'null',
  nil: 'null',
  undefined: '!has(object.field), or has(object.field)',
  True: 'true',
  False: 'false',
  namespaceObject: 'event.namespaceLabels',
}

/** A name that is no variable: what it is called elsewhere, or a key or text that is not written as one. */
export function unknownVariable(fault: CelFault, text: string): FaultWords {
  const loop = /\.\s*(\w+)\s*\(\s*$/.exec(text.slice(0, fault.start))
  const synonym = loop && Object.hasOwn(SYNONYMS, loop[1] as string) ? SYNONYMS[loop[1] as string] : undefined
  if (loop && synonym) {
    const start = loop.index + loop[0].indexOf(loop[1] as string)
    return {
      message: `there is no method "${loop[1]}"`,
      hint: `write ${synonym}`,
      start,
      end: start + (loop[1] as string).length,
    }
  }
  const name = /: (.*)$/.exec(fault.message)?.[1] ?? ''
  const message = `there is no variable "${name}"`
  const end = fault.start + name.length
  const key = keyBefore(text, fault.start)
  if (key)
    return {
      message: 'a path with a key that has "-", "." or "/" needs brackets and quotes',
      hint: `write ${keyHint(key.map, key.name)}`,
      ...key.range,
    }
  const dashed = /^[\w.]+(?:-[\w.]+)+/.exec(text.slice(fault.start))?.[0]
  if (dashed !== undefined && /[=!]=\s*$/.test(text.slice(0, fault.start)))
    return { message, hint: `a text stands in quotes: "${dashed}"`, end: fault.start + dashed.length }
  const asked = ABSENT.includes(name) ? absentWords(text.slice(0, fault.start)) : undefined
  if (asked) return { message: `there is no "${name}" to compare with`, ...asked, end }
  const field = fieldsOf(VARIABLES.event).find((it) => it === name)
  if (Object.hasOwn(ELSEWHERE, name))
    return {
      message,
      hint: /^(obj|resource|oldObj|evt)$/.test(name)
        ? `did you mean "${ELSEWHERE[name]}"?`
        : `write ${ELSEWHERE[name]}`,
      end,
    }
  if (OF_OBJECT.includes(name)) return { message, hint: `write object.${name}`, end }
  if (OF_METADATA.includes(name)) return { message, hint: `write object.metadata.${name}`, end }
  if (field) return { message, hint: `write event.${field}`, end }
  if (/^[A-Z]/.test(name)) return { message, hint: `a text stands in quotes: "${name}"`, end }
  const near = nearest(name, Object.keys(VARIABLES))
  if (near) return { message, hint: `did you mean "${near}"?`, end }
  const known = `there are ${Object.keys(VARIABLES).join(', ')}`
  const isPath = /^\s*[.[]/.test(text.slice(end))
  return { message, hint: isPath ? known : `a text stands in quotes: "${name}"; ${known}`, end }
}

const ABSENT = ['undefined', 'None', 'nil', 'NULL', 'Null']

/** `object.spec.x != undefined` */
function absentWords(before: string): { hint: string; start: number } | undefined {
  const [compared = '', operator] = /([=!])==?\s*$/.exec(before) ?? []
  const path = operator ? pathBefore(before.slice(0, before.length - compared.length)) : undefined
  if (!path?.written.includes('.')) return undefined
  return { hint: `write ${operator === '=' ? '!' : ''}${hasOf(path.written)}`, start: path.start }
}

/** Not every object has it. */
function keyHint(map: string, name: string): string {
  const isOfMetadata = /\.metadata\.(labels|annotations)$/.test(map)
  return isOfMetadata ? `${map.replace(/\.(\w+)$/, '.?$1')}[?"${name}"].orValue("")` : `${map}["${name}"]`
}

const MAX_KEY = 400

/** `labels.app.kubernetes.io/name`, `labels.my-app`: what stands behind the "/" or "-" was taken for a variable. */
function keyBefore(text: string, start: number) {
  const before = /([\w.?]*(?:[lL]abels|annotations|data|matchLabels))\.([A-Za-z_][\w./-]*[/-])$/.exec(
    text.slice(Math.max(0, start - MAX_KEY), start),
  )
  const after = /^[\w./-]*/.exec(text.slice(start))?.[0] ?? ''
  if (!before) return undefined
  const [whole, map, name] = before as unknown as [string, string, string]
  return { map, name: name + after, range: { start: start - whole.length, end: start + after.length } }
}

/** A field that `event`, an owner or what an Event is about does not have. */
export function unknownField(fault: CelFault, text: string): FaultWords {
  const name = /: (.*)$/.exec(fault.message)?.[1] ?? ''
  const before = text.slice(Math.max(0, fault.start - MAX_KEY), fault.start).replace(/\.\s*$/, '')
  const owner = /(?:[A-Za-z_]\w*\s*\.\s*)*[A-Za-z_]\w*$/.exec(before)?.[0]?.replaceAll(/\s/g, '') ?? 'event'
  const last = owner.split('.').at(-1)
  const type =
    last === 'regarding' ? 'kubeherald.Regarding' : last === 'owner' ? 'kubeherald.Owner' : VARIABLES.event
  const fields = fieldsOf(type)
  const near = nearest(name, fields)
  const isOfObject = type === VARIABLES.event && [...OF_OBJECT, ...OF_METADATA].includes(name)
  const path = OF_OBJECT.includes(name) ? `object.${name}` : `object.metadata.${name}`
  const hint = isOfObject ? `write ${path}` : near ? `did you mean "${near}"?` : `it has ${fields.join(', ')}`
  return { message: `${owner} has no field "${name}"`, hint }
}
