/** Colours a text for a terminal, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string

export type Style = keyof typeof CODES

const CODES = {
  bold: '1',
  dim: '90',
  good: '32',
  bad: '31',
  warn: '33',
  info: '36',
  deciding: '1;31',
} as const

export function createPaint(colour: boolean): Paint {
  return (style, text) => (colour && text !== '' ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text)
}

/** Whether the output shows colours. `--no-color` sets NO_COLOR (no-color.org), FORCE_COLOR is for logs of CI. */
export function wantsColour(output: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const forced = env['FORCE_COLOR']
  if (env['NO_COLOR']) return false
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false'
  return output.isTTY === true && env['TERM'] !== 'dumb'
}

/** Returns the colours of what is printed to standard output. */
export function outputPaint(): Paint {
  return createPaint(wantsColour(process.stdout, process.env))
}
