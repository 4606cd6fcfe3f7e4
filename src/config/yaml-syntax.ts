import type { YAMLError } from 'yaml'
import type { TreeFault } from './yaml-tree.ts'

/** What the YAML parser found, in words that say what to do; not what only follows from an error before it. */
export function syntaxFaults(errors: readonly YAMLError[], text: string): TreeFault[] {
  const lines = new Set<number>()
  return errors
    .filter(({ message }, index) => index === 0 || !message.includes(' in YAML stream'))
    .map((error) => faultOf(error, text))
    .filter(({ start }) => {
      const lineStart = text.lastIndexOf('\n', start - 1)
      const isFirst = !lines.has(lineStart)
      lines.add(lineStart)
      return isFirst
    })
}

function faultOf({ code, message, pos: [start, end] }: YAMLError, text: string): TreeFault {
  const line = text.slice(text.lastIndexOf('\n', start - 1) + 1, text.indexOf('\n', start) + 1 || undefined)
  const hint = hintOf(code, line, text.slice(start, end))
  return { start, end, message: sentenceOf(code, message), ...(hint !== undefined && { hint }) }
}

function sentenceOf(code: YAMLError['code'], message: string): string {
  if (code === 'TAG_RESOLVE_FAILED') return message.replace('Unresolved tag: ', 'YAML takes this for a tag: ')
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here: a configuration is one document'
  return `this is no valid YAML: ${message[0]?.toLowerCase()}${message.slice(1)}`
}

function hintOf(code: YAMLError['code'], line: string, place: string): string | undefined {
  if (code === 'TAG_RESOLVE_FAILED') return `text that begins with "!" needs quotes: "${place}"`
  if (code === 'TAB_AS_INDENT') return 'indent with spaces'
  if (code === 'BAD_SCALAR_START') return `text that begins with "${place}" needs quotes`
  if (code === 'BAD_DQ_ESCAPE') return 'write \\\\ for a backslash, or use single quotes'
  if (line.includes('${') && /[[{]/.test(line)) return `inside { } and [ ], text with \${…} needs quotes`
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && /:.*: /.test(line)) return 'text with ": " in it needs quotes'
  if (code === 'BAD_INDENT') return 'is a bracket, quote or indentation missing in a line above?'
  return undefined
}
