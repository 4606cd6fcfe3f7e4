import type { Content, Field, Link, Markup, Message } from '../sink/index.ts'
import { fieldsBeside, joinedFields } from '../sink/notice.ts'
import { textSheet } from '../sink/template/engine.ts'
import { TemplateFault } from '../sink/template/fault.ts'
import { compileProgram, type Program } from '../sink/template/program.ts'
import { urlOf } from './link.ts'
import { isSeverity, type MessageParts, type MessageTemplates } from './message-schema.ts'

/** Where a part of a message stands in the configuration: `kubeherald.yaml:12:15`. */
export type PlaceOf = (path: readonly PropertyKey[], offset: number) => string

export interface MessageOptions {
  placeOf?: { rule?: PlaceOf | undefined; sink?: PlaceOf | undefined }
  /** For the filter `age`. */
  clock?: { now(): number }
}

/** Joins a rule's `message` and a sink's `messages` into what makes messages; it throws a TemplateFault. */
export function compileMessage(
  ofRule: MessageTemplates | undefined,
  ofSink: MessageTemplates | undefined,
  markup: Markup = {},
  { placeOf = {}, clock = Date }: MessageOptions = {},
): (message: Message) => Content {
  const parts = { ...partsOf(ofSink, placeOf.sink), ...partsOf(ofRule, placeOf.rule) }
  const inMarkup = (text: string) => (markup.escape && text !== '' ? markup.escape(text) : text)
  const setting = { markup, strict: false, now: () => clock.now() }

  return (message) => {
    const { words } = message
    const fieldInMarkup = (it: Field) => ({ title: inMarkup(it.title), value: inMarkup(it.value) })
    const beside = parts.fields === false ? [] : fieldsBeside(message)
    const rendered = (part: Part) => atPlace(part, () => part.program.run(message, textSheet, setting).buffer)
    const title = parts.title && oneLine(rendered(parts.title))
    const severity = parts.severity && rendered(parts.severity).trim().toLowerCase()
    return {
      severity: severity !== undefined && isSeverity(severity) ? severity : words.severity,
      title: title || inMarkup(words.title),
      text: parts.text ? rendered(parts.text).trim() : inMarkup(words.text),
      fields: parts.fields
        ? [
            ...parts.fields
              .map(([name, part]) => ({ title: inMarkup(name), value: rendered(part).trim() }))
              .filter(({ value }) => value !== ''),
            ...beside.map(fieldInMarkup),
          ]
        : parts.fields === false
          ? []
          : joinedFields(words.fields, beside).map(fieldInMarkup),
      links: (parts.links ?? []).flatMap(([name, part]): Link[] => {
        const url = atPlace(part, () => urlOf(part.program, message, setting.now))
        return url === undefined ? [] : [{ title: inMarkup(name), url }]
      }),
      quote: parts.quote === false ? '' : words.quote,
      changes: parts.changes === false ? [] : words.changes,
      command: parts.command === false ? '' : words.command,
    }
  }
}

interface Part {
  program: Program
  place: ((offset: number) => string) | undefined
}

interface PlacedParts {
  title?: Part
  text?: Part
  severity?: Part
  fields?: readonly (readonly [string, Part])[] | false
  links?: readonly (readonly [string, Part])[]
  quote?: boolean
  changes?: boolean
  command?: boolean
}

/** A plain text is all that is said. */
function partsOf(templates: MessageTemplates | undefined, placeOf: PlaceOf | undefined): PlacedParts {
  if (templates === undefined) return {}
  const part = (program: Program, ...path: PropertyKey[]): Part => ({
    program,
    place: placeOf && ((offset) => placeOf(path, offset)),
  })
  if (isProgram(templates))
    return { title: part(templates), text: part(NOTHING), fields: false, links: [], ...SILENT }
  const { title, text, severity, fields, links, ...flags } = templates
  const named = (key: string, programs: Readonly<Record<string, Program>>) =>
    Object.entries(programs).map(([name, program]) => [name, part(program, key, name)] as const)
  return {
    ...(title && { title: part(title, 'title') }),
    ...(text && { text: part(text, 'text') }),
    ...(severity && { severity: part(severity, 'severity') }),
    ...(fields !== undefined && { fields: fields === false ? fields : named('fields', fields) }),
    ...(links && { links: named('links', links) }),
    ...(flags as Pick<PlacedParts, 'quote' | 'changes' | 'command'>),
  }
}

const SILENT = { quote: false, changes: false, command: false }
const NOTHING = constant('')

function constant(text: string): Program {
  const compiled = compileProgram(text)
  if (!compiled.ok) throw new Error(text)
  return compiled.program
}

function isProgram(templates: Program | MessageParts): templates is Program {
  return 'run' in templates
}

/** A fault tells where in the configuration its template stands. */
function atPlace<T>({ place }: Part, render: () => T): T {
  try {
    return render()
  } catch (error) {
    if (!(error instanceof TemplateFault) || !error.problem || !place) throw error
    const { message, offset } = error.problem
    throw new TemplateFault(`${place(offset)}: ${message}`, { cause: error, problem: error.problem })
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
