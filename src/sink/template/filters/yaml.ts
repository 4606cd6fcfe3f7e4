/** Much more than people read. */
const MAX_LENGTH = 100_000
const MAX_DEPTH = 100

/** Data as block YAML, cut where it gets too long. */
export function yamlOf(value: unknown): string {
  const lines: string[] = []
  let length = 0

  function line(text: string): void {
    length += text.length + 1
    if (length <= MAX_LENGTH) lines.push(text)
    else if (lines.at(-1) !== '# …') lines.push('# …')
  }

  function write(it: unknown, lead: string, indent: string, depth: number): void {
    if (length > MAX_LENGTH) return
    const entries = entriesOf(it)
    if (!entries) return line(`${lead}${scalarOf(it, indent)}`)
    if (entries.length === 0 || depth > MAX_DEPTH) return line(`${lead}${Array.isArray(it) ? '[]' : '{}'}`)
    const isItem = lead.endsWith('- ')
    if (lead !== '' && !isItem) line(lead.trimEnd())
    for (const [i, [key, inner]] of entries.entries()) {
      const begin = isItem && i === 0 ? lead : indent
      const deeper = `${indent}  `
      if (key === undefined) write(inner, `${begin}- `, deeper, depth + 1)
      else write(inner, `${begin}${wordOf(key)}: `, deeper, depth + 1)
    }
  }

  write(value ?? null, '', '', 0)
  return lines.join('\n')
}

function entriesOf(value: unknown): readonly (readonly [string | undefined, unknown])[] | undefined {
  if (Array.isArray(value)) return value.map((it) => [undefined, it] as const)
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined
}

function scalarOf(value: unknown, indent: string): string {
  if (typeof value !== 'string') return JSON.stringify(value ?? null)
  const isBlock =
    value.includes('\n') && !/[^\S\n]\n|^\s|[^\S\n]$|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(value)
  if (!isBlock) return wordOf(value)
  const keep = value.endsWith('\n\n') ? '+' : value.endsWith('\n') ? '' : '-'
  const body = value.replace(/\n$/, '').split('\n')
  const inner = indent === '' ? '  ' : indent
  return `|${keep}\n${body.map((it) => (it === '' ? '' : inner + it)).join('\n')}`
}

/** Quoted unless nobody could take it for anything else than text. */
function wordOf(text: string): string {
  const isPlain =
    /^[A-Za-z/_][\w ./@%+=-]*(:[\w./@%+=-]+)*$/.test(text) &&
    !/\s$/.test(text) &&
    !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
  return isPlain ? text : JSON.stringify(text)
}
