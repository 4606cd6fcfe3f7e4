/** Something that is wrong with a configuration, and where. Lines and columns count from 1. */
export interface Problem {
  file: string
  line: number
  column: number
  message: string
  severity: 'error' | 'warning'
}

/** `file:line:column: message`, the offending line, and a caret under the place. */
export function formatProblems(problems: readonly Problem[], text: string, { colour = false } = {}): string {
  const lines = text.split(/\r?\n/)
  const paint = (code: number, it: string) => (colour ? `\u001b[${code}m${it}\u001b[0m` : it)
  return [...problems]
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .map(({ file, line, column, message, severity }) => {
      const source = lines[line - 1] ?? ''
      const margin = String(line).padStart(5)
      const word = severity === 'warning' ? paint(33, 'warning: ') : ''
      const caret = `${' '.repeat(5)} | ${source.slice(0, column - 1).replace(/[^\t]/g, ' ')}${paint(31, '^')}`
      return `${paint(1, `${file}:${line}:${column}:`)} ${word}${message}\n${margin} | ${source}\n${caret}\n`
    })
    .join('')
}
