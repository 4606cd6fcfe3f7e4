import { readFileSync } from 'node:fs'

const ROOT = new URL('../../', import.meta.url)

/** One command of a page, as its readers type it. */
export interface Command {
  /** `README.md:17` */
  place: string
  text: string
}

/** The commands of a page's `sh` blocks; comments are cut, lines that end in a backslash are joined. */
export function commandsIn(page: string): Command[] {
  const text = readFileSync(new URL(page, ROOT), 'utf8')
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(({ 1: block = '', index }) => {
    const first = text.slice(0, index).split('\n').length + 1
    return commandsOf(block).map(({ line, text: command }) => ({
      place: `${page}:${first + line}`,
      text: command,
    }))
  })
}

function commandsOf(block: string): { line: number; text: string }[] {
  const commands: { line: number; text: string }[] = []
  let begun: { line: number; text: string } | undefined
  for (const [line, raw] of block.split('\n').entries()) {
    const text = withoutComment(raw).trim()
    const whole = begun ? `${begun.text} ${text}` : text
    const at = begun?.line ?? line
    begun = whole.endsWith('\\') ? { line: at, text: whole.slice(0, -1).trim() } : undefined
    if (!begun && whole) commands.push({ line: at, text: whole })
  }
  return commands
}

function withoutComment(line: string): string {
  return line.replace(/(^|\s)#(?=\s).*$/, '')
}
