import type { FieldChange } from '../../event.ts'
import type { Field, Words } from '../../sink/index.ts'
import type { Target } from './command.ts'
import type { Draft } from './told.ts'
import { oneLine, shorten } from './wording.ts'

const MAX = {
  title: 200,
  subject: 110,
  text: 500,
  line: 200,
  name: 60,
  fields: 8,
  value: 200,
  quote: 4_000,
  changes: 40,
}

/** Puts names in front of what is said, and bounds everything. */
export function finish(about: Target, draft: Draft, changes: readonly FieldChange[], command: string): Words {
  const { kind, namespace = '', name } = about
  const subject = oneLine(`${kind} ${namespace && `${namespace}/`}${name}`, MAX.subject)
  return {
    severity: draft.severity,
    title: oneLine(draft.title ?? `${subject}${draft.says}`, MAX.title),
    text: [oneLine(draft.text ?? '', MAX.text), ...(draft.lines ?? []).map((it) => oneLine(it, MAX.line))]
      .filter((it) => it !== '')
      .join('\n'),
    about: {
      kind: oneLine(kind, MAX.value),
      ...(namespace !== '' && { namespace: oneLine(namespace, MAX.value) }),
      name: oneLine(name, 253),
    },
    fields: bounded(draft.fields ?? []),
    quote: quoteOf(draft.quote ?? ''),
    changes: changes.slice(0, MAX.changes),
    command,
  }
}

/** The first of each title; none without a value. */
function bounded(fields: readonly Field[]): Field[] {
  const titles = new Set<string>()
  const kept: Field[] = []
  for (const field of fields) {
    const value = oneLine(field.value, MAX.value)
    if (value === '' || titles.has(field.title) || kept.length === MAX.fields) continue
    titles.add(field.title)
    kept.push({ title: field.title, value })
  }
  return kept
}

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Word for word with its lines; what would move a cursor becomes a space. */
function quoteOf(message: string): string {
  return shorten(
    message
      .slice(0, MAX.quote * 2)
      .replace(/\r\n/g, '\n')
      .replace(CONTROLS, ' ')
      .trim(),
    MAX.quote,
  )
}
