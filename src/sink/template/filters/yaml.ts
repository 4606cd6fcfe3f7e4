/** Much more than people read. */
const MAX_LENGTH = 100_000
const MAX_DEPTH = 100

/** What a value costs beside its text, in characters. */
const VALUE = 200

/** Returns data as block YAML, cut where it gets too long. What it reads and writes is charged as it goes. */
export function yamlOf(value: unknown, charge: (characters: number) => void = () => {}): string {
  const lines: string[] = []
  let length = 0

  function line(text: string): void {
    length += text.length + 1
    if (length <= MAX_LENGTH) lines.push(text)
    else if (lines.at(-1) !== '# …') lines.push('# …')
  }

  function write(it: unknown, lead: string, indent: string, depth: number): void {
    charge(VALUE + lead.length + (typeof it === 'string' ? it.length : 0))
    if (typeof it !== 'object' || it === null) return line(`${lead}${scalarOf(it, indent)}`)
    const keys = Array.isArray(it) ? undefined : Object.keys(it)
    const count = keys?.length ?? (it as readonly unknown[]).length
    if (count === 0 || depth > MAX_DEPTH) return line(`${lead}${keys ? '{}' : '[]'}`)
    const isItem = lead.endsWith('- ')
    if (lead !== '' && !isItem) line(lead.trimEnd())
    for (let i = 0; i < count && length <= MAX_LENGTH; i++) {
      const begin = isItem && i === 0 ? lead : indent
      const deeper = `${indent}  `
      const key = keys?.[i]
      if (key === undefined) write((it as readonly unknown[])[i], `${begin}- `, deeper, depth + 1)
      else {
        charge(key.length)
        write((it as Record<string, unknown>)[key], `${begin}${wordOf(key)}: `, deeper, depth + 1)
      }
    }
  }

  write(value ?? null, '', '', 0)
  return lines.join('\n')
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
