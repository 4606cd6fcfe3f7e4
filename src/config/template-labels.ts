import type { ConfigDocument, Path } from './document.ts'
import type { Located } from './located.ts'
import { targetsOf } from './targets.ts'

/** A label of a rule that holds a template: where, and how a message says it. */
export interface TemplateLabel {
  /** To all of `labels` when nothing of it remains. */
  path: Path
  message: string
  hint: string
}

/** What to write for a template at a path; undefined where there is none. */
export function templateLabel(document: ConfigDocument, path: Path): TemplateLabel | undefined {
  const [root, index, key, label] = path
  if (root !== 'rules' || key !== 'labels' || path.length !== 4 || typeof index !== 'number') return undefined
  const labels = document.at(path.slice(0, 3))?.entries
  if (!labels || !isTemplate(labels.get(String(label))?.value)) return undefined
  const templates = [...labels].filter(([, { value }]) => isTemplate(value))
  const fields = templates.map(([name, { value }]) => `${inFlow(name)}: ${quoted(String(value.value))}`)
  const text = `fields: { ${fields.join(', ')} }`
  const hasMessage = document.at(['rules', index, 'message'])?.entries !== undefined
  const isAll = templates.length === labels.size
  const goes = isAll ? '"labels"' : templates.map(([name]) => `"${name}"`).join(' and ')
  const written = hasMessage ? `write into "message" ${text}` : `write message: { ${text} }`
  return {
    path: isAll ? path.slice(0, 3) : path,
    message: `"labels" are fixed texts: the template in "${String(label)}" would be sent as it stands`,
    hint: `in place of ${goes} ${written}${sinkWords(document, index)}`,
  }
}

function isTemplate(found: Located | undefined): boolean {
  return typeof found?.value === 'string' && found.written === undefined && /\{[{%]/.test(found.value)
}

/** stdout sends events, and no messages, when nothing else is said. */
function sinkWords(document: ConfigDocument, index: number): string {
  const names = [...new Set(targetsOf(document, index).map(({ sink }) => sink))].filter((name) => {
    const entries = document.at(['sinks', name])?.entries
    return entries?.get('type')?.value.value === 'stdout' && entries.get('format')?.value.value !== 'message'
  })
  const [name] = names
  if (name === undefined) return ''
  const isPlain = names.length === 1 && document.at(['sinks', name])?.entries?.size === 1
  return isPlain
    ? `, and under "sinks" ${name}: { type: stdout, format: message }`
    : `, and under "sinks" format: message in ${names.map((it) => `"${it}"`).join(' and ')}`
}

function inFlow(text: string): string {
  return /^[A-Za-z][\w.-]*$/.test(text) ? text : `"${text}"`
}

function quoted(text: string): string {
  return text.includes('"') || text.includes('\\') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`
}
